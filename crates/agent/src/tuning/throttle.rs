//! `throttle`: what takes time from real-time tasks that run without a pause.

use crate::machine;
use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, refusal},
};
use anyhow::{Result, anyhow, bail};
use latido_model::{
    machine::{GroupBudget, at_least},
    registry::{self, Def},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "throttle",
    about: "no real-time throttle and no fair server",
    help: "\
A real-time task that never sleeps is stopped for 50 ms of each second: by the throttle (kernel.sched_rt_runtime_us) and,
since Linux 6.12, by the deadline server that lets time-sharing tasks run (debugfs). `off` removes both: a real-time
task that loops for ever then owns its CPU, and the machine may hang.

Options:
  mode     `off`, the only value
  server   `off` (default), or `as-is`: leaves the fair server on, for machines without debugfs

While the throttle is off, the kernel does not enforce the real-time budgets of control groups (RT_GROUP_SCHED), and
lets even a group without budget have real-time tasks.

Kernel documents: Documentation/scheduler/sched-rt-group.rst; Documentation/scheduler/sched-deadline.rst, fair server",
    main_option: Some("mode"),
    new: |table| Ok(Box::new(registry::options::<Throttle>(table)?)),
};

const RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const SERVERS: &str = "/sys/kernel/debug/sched/fair_server";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Throttle {
    mode: ThrottleMode,
    server: Server,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ThrottleMode {
    #[default]
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Server {
    #[default]
    Off,
    AsIs,
}

impl Tuning for Throttle {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        const ABSENT: &str = "procfs is not mounted: mount -t proc proc /proc";
        let mut steps = vec![knob::step(root, RUNTIME, "-1", Form::Plain, ABSENT)?];
        if self.server == Server::Off {
            steps.extend(servers(root)?);
        }
        let mut wanted = knob::wanted(steps);
        let server = (self.server == Server::AsIs)
            .then(|| "the fair server was left as it is: it still takes its share on Linux 6.12 and later".to_string());
        let notes: Vec<String> = wanted.note.take().into_iter().chain(server).chain(budget(root)).collect();
        wanted.note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(wanted)
    }
}

/// Describes what groups with their own budgets mean for it.
fn budget(root: &Root) -> Option<String> {
    let GroupBudget { runtime_us, group } = machine::realtime(root, "", None, None).group_budget?;
    Some(format!("{group} has a real-time budget of {runtime_us} µs, which is not enforced while the throttle is off"))
}

/// Returns the steps that turn off the fair server of every CPU.
fn servers(root: &Root) -> Result<Vec<Option<crate::step::Step>>> {
    let release = root.read("proc/sys/kernel/osrelease").unwrap_or_default();
    if at_least(&release, 6, 12) == Some(false) {
        return Ok(Vec::new());
    }
    const ELSE: &str =
        "keep the fair server with throttle:off,server=as-is, and accept its gaps of 50 ms in the results";
    let names: Vec<String> = root.list(SERVERS).into_iter().filter(|name| name.starts_with("cpu")).collect();
    if names.is_empty() {
        let Err(error) = std::fs::read_dir(root.path(SERVERS)) else { bail!("{SERVERS} names no CPU: {ELSE}") };
        let error = refusal::of_read(root, SERVERS, "debugfs does not show the fair server", &error);
        bail!("{error:#}; or {ELSE}");
    }
    let off = |name: &String| {
        let step = knob::step(root, &format!("{SERVERS}/{name}/runtime"), "0", Form::Plain, "");
        step.map_err(|error| anyhow!("{error:#}; or {ELSE}"))
    };
    names.iter().map(off).collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees,
            trial::{Proof, applied},
        },
        journal::Journal,
    };

    #[test]
    fn it_is_applied_and_undone() {
        let server = |cpu: u32| format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime");
        let servers: Vec<String> = (0..8).map(server).collect();
        let mut after = vec![("proc/sys/kernel/sched_rt_runtime_us", "-1\n")];
        after.extend(servers.iter().map(|path| (path.as_str(), "0\n")));
        let proof = Proof {
            name: "throttle",
            options: "",
            machine: &trees::server,
            after: &after,
            other: (&servers[0], "10000000\n"),
            without: &[
                ("sys/kernel/debug/sched", "server=as-is"),
                ("sys/kernel/debug", "mount -t debugfs"),
                ("proc/sys/kernel/sched_rt_runtime_us", "mount -t proc"),
            ],
        };
        proof.holds();
    }

    /// Older kernels have no fair server: nothing is missing.
    #[test]
    fn a_kernel_before_6_12_needs_no_debugfs() {
        let runtime = "proc/sys/kernel/sched_rt_runtime_us";
        for machine in [trees::cgroup_v1, trees::arm] {
            let proof = Proof {
                name: "throttle",
                options: "",
                machine: &|| {
                    let tree = machine();
                    std::fs::remove_dir_all(tree.root.path("sys/kernel/debug")).unwrap();
                    tree
                },
                after: &[(runtime, "-1\n")],
                other: (runtime, "980000\n"),
                without: &[],
            };
            proof.holds();
        }
    }

    /// The budget of a group must be reported, and also that it is lifted. Written by hand: no recorded kernel has CONFIG_RT_GROUP_SCHED.
    #[test]
    fn budgets_of_groups_are_named() {
        let tree = trees::cgroup_v1();
        for (path, text) in [
            ("proc/self/cgroup", "4:cpu,cpuacct:/jobs\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", "950000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/jobs/cpu.rt_runtime_us", "0\n"),
        ] {
            tree.write(path, text);
        }
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("throttle", "server = 'as-is'", &tree.root, &mut journal).unwrap();
        let note = record.note.unwrap();
        assert!(note.contains("cpu,cpuacct/jobs") && note.contains("budget of 0 µs"), "{note}");
        assert!(note.contains("not enforced while the throttle is off"), "{note}");
    }
}
