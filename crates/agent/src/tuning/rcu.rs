//! `rcu`: where, how urgently and how quickly the kernel frees what it no longer needs.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{
        Form, Step,
        thread::{self, KernelThread},
    },
};
use anyhow::{Result, ensure};
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def, Objection},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "rcu",
    about: "RCU: callback threads' CPUs and priority, boost threads' priority, expedited or normal grace periods",
    help: "\
RCU runs the kernel's deferred freeing: on the CPU that requested it, or in separate threads (rcuo*) that may run
elsewhere. Expedited grace periods interrupt every CPU that is not idle.

Options (at least one):
  cpus    the CPUs of the callback threads (rcuo*), for example 0
  prio    their FIFO priority, 1 to 98
  boost   FIFO priority of the threads that boost readers (rcub*), 1 to 98; CONFIG_RCU_BOOST
  grace   `normal`: no grace period is expedited; `expedited`: all are

Callback threads exist for the CPUs of the boot parameter rcu_nocbs= (nohz_full= implies it).

Kernel documents: Documentation/admin-guide/kernel-per-CPU-kthreads.rst; Documentation/admin-guide/kernel-parameters.txt,
rcu_nocbs=, rcutree.kthread_prio=, rcupdate.rcu_expedited=",
    main_option: Some("grace"),
    new: |table| {
        let read = registry::options::<Rcu>(table)?;
        for (name, prio) in [("prio", read.prio), ("boost", read.boost)] {
            if let Some(prio) = prio.filter(|prio| !(1..=98).contains(prio)) {
                return Err(Objection::Value(format!("`{name}` is 1 to 98, not {prio}")).into());
            }
        }
        if read.cpus.is_none() && read.prio.is_none() && read.boost.is_none() && read.grace.is_none() {
            return Err(Objection::Value("needs one of its options cpus, prio, boost, grace".into()).into());
        }
        Ok(Box::new(read))
    },
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rcu {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<CpuSet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prio: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boost: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace: Option<Grace>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Grace {
    Normal,
    Expedited,
}

impl Tuning for Rcu {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let mut steps = Vec::new();
        if let Some(cpus) = &self.cpus {
            let online = knob::online(root)?;
            let missing = cpus.without(&online);
            ensure!(missing.is_empty(), "CPU {missing} is not online: the online CPUs are {online}");
        }
        if self.cpus.is_some() || self.prio.is_some() {
            let threads = threads(root, "rcuo", "no CPU offloads its callbacks to threads: boot with rcu_nocbs=CPUS")?;
            for thread in &threads {
                steps.extend(self.cpus.as_ref().map(|cpus| thread.on(root, cpus)).transpose()?);
                steps.extend(self.prio.map(|prio| thread.fifo(root, prio)).transpose()?);
            }
        }
        if let Some(prio) = self.boost {
            let absent = "the kernel was built without CONFIG_RCU_BOOST (PREEMPT_RT kernels have it), or no reader was \
                          ever boosted: leave boost= out";
            for thread in threads(root, "rcub/", absent)? {
                steps.push(thread.fifo(root, prio)?);
            }
        }
        if let Some(grace) = self.grace {
            steps.extend(grace.steps(root)?);
        }
        Ok(knob::wanted(steps))
    }
}

impl Grace {
    fn steps(self, root: &Root) -> Result<[Option<Step>; 2]> {
        const ABSENT: &str = "the kernel was built with CONFIG_TINY_RCU: leave grace= out";
        let (expedited, normal) = match self {
            Self::Normal => ("0", "1"),
            Self::Expedited => ("1", "0"),
        };
        let set = |file: &str, value| knob::step(root, &format!("/sys/kernel/{file}"), value, Form::Plain, ABSENT);
        Ok([set("rcu_expedited", expedited)?, set("rcu_normal", normal)?])
    }
}

fn threads(root: &Root, prefix: &str, absent: &str) -> Result<Vec<KernelThread>> {
    let found = thread::named(root, |comm| comm.starts_with(prefix));
    ensure!(!found.is_empty(), "there is no thread {prefix}*: {absent}");
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees::{self, Tree},
            trial::{Proof, applied, refusal},
        },
        journal::Journal,
    };

    const CALLBACKS: &[&str] = &["rcuog/0", "rcuog/2", "rcuop/0", "rcuop/1", "rcuop/2", "rcuop/3"];

    fn file(tree: &Tree, comm: &str, name: &str) -> (String, String) {
        let path = format!("proc/{}/{name}", tree.thread(comm));
        let text = std::fs::read_to_string(tree.root.path(&path)).unwrap();
        (path, text)
    }

    /// PREEMPT_RT: callback threads at FIFO 1, threads that boost, no grace period expedited.
    #[test]
    fn it_is_applied_and_undone() {
        let tree = trees::cgroup_v2();
        let mut after = Vec::new();
        for comm in CALLBACKS.iter().chain(&["rcub/0"]) {
            let (path, stat) = file(&tree, comm, "stat");
            assert!(stat.contains(" -2 0 1 ") && stat.contains(" 1 1 0 0 "), "{stat}");
            after.push((path, stat.replace(" -2 0 1 ", " -6 0 1 ").replace(" 1 1 0 0 ", " 5 1 0 0 ")));
        }
        for comm in CALLBACKS {
            let (path, status) = file(&tree, comm, "status");
            after.push((path, status.replace("\t0-2\n", "\t0\n")));
        }
        after.push(("sys/kernel/rcu_expedited".into(), "1\n".into()));
        after.push(("sys/kernel/rcu_normal".into(), "0\n".into()));
        let after: Vec<(&str, &str)> = after.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let (path, status) = file(&tree, "rcuop/3", "status");
        let gone = format!("proc/{}", tree.thread("rcub/0"));
        let proof = Proof {
            name: "rcu",
            options: "cpus = '0'\nprio = 5\nboost = 5\ngrace = 'expedited'",
            machine: &trees::cgroup_v2,
            after: &after,
            other: (&path, &status.replace("\t0-2\n", "\t3\n")),
            without: &[(&gone, "CONFIG_RCU_BOOST"), ("sys/kernel/rcu_normal", "CONFIG_TINY_RCU")],
        };
        proof.holds();
    }

    #[test]
    fn a_kernel_without_callback_threads_says_which_parameter_makes_them() {
        for (options, said) in [("cpus = '0'", "rcu_nocbs=CPUS"), ("boost = 5", "CONFIG_RCU_BOOST")] {
            for machine in [trees::cgroup_v1, trees::arm, trees::server] {
                let error = refusal("rcu", options, &machine());
                assert!(error.contains(said), "{error}");
            }
        }
        let error = (super::DEF.new)(toml::Table::new()).err().unwrap();
        assert!(error.to_string().contains("one of its options"), "{error}");
    }

    #[test]
    fn callbacks_do_not_go_where_no_cpu_is() {
        let tree = trees::cgroup_v2();
        assert!(refusal("rcu", "cpus = '0,4'", &tree).contains("CPU 4 is not online: the online CPUs are 0-3"));
        tree.write("sys/devices/system/cpu/online", "0,2-3\n");
        assert!(refusal("rcu", "cpus = '1'", &tree).contains("CPU 1 is not online: the online CPUs are 0,2,3"));
    }

    /// A thread that was allowed CPUs that are now offline must be allowed them again.
    #[test]
    fn offline_cpus_of_a_thread_are_not_forgotten() {
        let tree = trees::cgroup_v2();
        tree.write("sys/devices/system/cpu/online", "0-1\n");
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("rcu", "cpus = '0'", &tree.root, &mut journal).unwrap();
        let change = record.changes.iter().find(|change| change.knob.contains("rcuop/3")).unwrap();
        assert_eq!(change.original, "CPUs 0-2", "as /proc/TID/status says, not sched_getaffinity(2)");
        assert_eq!(journal.settle().unwrap(), Vec::<String>::new());
        assert!(file(&tree, "rcuop/3", "status").1.contains("Cpus_allowed_list:\t0-2\n"));
    }

    /// If another program moved a thread meanwhile, the tuning is no longer in force, and `tune status` reports that.
    #[test]
    fn a_thread_that_is_elsewhere_is_not_in_force() {
        let tree = trees::cgroup_v2();
        let thread = crate::step::thread::named(&tree.root, |comm| comm == "rcuop/3").remove(0);
        let step = thread.on(&tree.root, &"0".parse().unwrap()).unwrap().unwrap();
        assert!(step.verify(&tree.root).is_err(), "not before it is applied");
        step.apply(&tree.root).unwrap();
        step.verify(&tree.root).unwrap();
        let (path, status) = file(&tree, "rcuop/3", "status");
        tree.write(&path, &status.replace("\t0\n", "\t0,2\n"));
        let told = step.verify(&tree.root).unwrap_err().to_string();
        assert!(told.contains("(rcuop/3) was bound to CPUs 0 but may run on 0,2"), "{told}");
        // Kernels before 6.2 answer like this: they do not grant an offline CPU.
        tree.write("sys/devices/system/cpu/online", "0-1\n");
        step.verify(&tree.root).unwrap();
        std::fs::remove_file(tree.root.path(&path)).unwrap();
        step.verify(&tree.root).unwrap();
    }

    /// latido must not touch a thread that ended, or another one with the same number.
    #[test]
    fn an_ended_thread_is_left_alone() {
        let tree = trees::cgroup_v2();
        let (_dir, mut journal) = Journal::scratch();
        applied("rcu", "cpus = '0'\nprio = 5", &tree.root, &mut journal).unwrap();
        std::fs::remove_dir_all(tree.root.path(&format!("proc/{}", tree.thread("rcuog/0")))).unwrap();
        let (path, stat) = file(&tree, "rcuop/1", "stat");
        let (before, start) = stat.split_once(" -6 0 1 0 ").unwrap();
        let later = format!("{before} -6 0 1 0 9{start}");
        tree.write(&path, &later);
        let told = journal.settle().unwrap();
        assert_eq!(told.iter().filter(|told| told.contains("is gone")).count(), 2, "{told:?}");
        assert_eq!(std::fs::read_to_string(tree.root.path(&path)).unwrap(), later);
        let status = std::fs::read_to_string(tree.root.path(&path.replace("stat", "status"))).unwrap();
        assert!(status.ends_with("\t0\n"), "{status}");
    }
}
