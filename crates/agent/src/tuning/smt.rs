//! `smt`: the hardware threads that share a core.

use super::isolate;
use crate::{
    machine::Root,
    setting::{Tuning, Wanted, knob},
    step::{Form, Step},
};
use anyhow::{Result, bail, ensure};
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def, Objection},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "smt",
    about: "hardware threads: switch the siblings off, on the whole machine or of some CPUs; the record names them",
    help: "\
Two hardware threads share one core's units and caches: what runs on the sibling slows the measured one down at any
moment. Without an option nothing is changed and the record names the siblings.

Options:
  off   `all`: one thread per core on the whole machine; or CPUs, for example 2-3: their siblings alone go offline

A CPU that goes offline loses its tasks and interrupts to other CPUs. Those that were bound to it do not return.

Kernel documents: Documentation/ABI/testing/sysfs-devices-system-cpu, smt/control; Documentation/core-api/cpu_hotplug.rst",
    main_option: Some("off"),
    new: |table| {
        let read = registry::options::<Smt>(table)?;
        if let Some(off) = read.off.as_deref().filter(|off| !matches!(*off, "all" | "off"))
            && let Err(error) = off.parse::<CpuSet>()
        {
            return Err(Objection::Value(format!("`off` is `all` or CPUs: {error}")).into());
        }
        Ok(Box::new(read))
    },
};

const CONTROL: &str = "/sys/devices/system/cpu/smt/control";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Smt {
    #[serde(skip_serializing_if = "Option::is_none")]
    off: Option<String>,
}

impl Tuning for Smt {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let cores = cores(root)?;
        let note = Some(said(&cores));
        let steps = match self.off.as_deref() {
            None => Vec::new(),
            Some("all" | "off") => everywhere(root, &cores)?,
            Some(cpus) => {
                let kept: CpuSet = cpus.parse().map_err(|error: String| anyhow::anyhow!(error))?;
                off(root, &siblings_of(&kept, &cores)?)?
            }
        };
        Ok(Wanted { steps, note, ..Wanted::default() })
    }
}

/// Returns the hardware threads of each core that has an online CPU.
fn cores(root: &Root) -> Result<Vec<CpuSet>> {
    let mut cores: Vec<CpuSet> = Vec::new();
    for cpu in knob::online(root)?.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let core = knob::cpus(root, &path, "the kernel does not report the topology")?;
        if !cores.contains(&core) {
            cores.push(core);
        }
    }
    Ok(cores)
}

fn said(cores: &[CpuSet]) -> String {
    let shared: Vec<String> = cores.iter().filter(|core| core.len() > 1).map(|core| format!("({core})")).collect();
    match shared.is_empty() {
        true => "no two CPUs share a core".into(),
        false => format!("before, these CPUs shared a core: {}", shared.join(" ")),
    }
}

fn everywhere(root: &Root, cores: &[CpuSet]) -> Result<Vec<Step>> {
    const ABSENT: &str = "the kernel was built without CONFIG_HOTPLUG_SMT: name CPUs, smt:off=2-3";
    let siblings: CpuSet = cores.iter().flat_map(|core| core.iter().skip(1)).collect();
    match root.read(CONTROL).as_deref() {
        // There is nothing to switch off, or SMT is off for good.
        Some("forceoff" | "notsupported") => return Ok(Vec::new()),
        Some("notimplemented") => bail!("{CONTROL} contains `notimplemented`: name CPUs, smt:off=2-3"),
        _ => {}
    }
    let Some(switch) = knob::step(root, CONTROL, "off", Form::Plain, ABSENT)? else { return Ok(Vec::new()) };
    // When the switch is turned on again, it brings every sibling online, including those that were not.
    let online = knob::online(root)?;
    let present = knob::cpus(root, "/sys/devices/system/cpu/present", "the kernel does not report its CPUs")?;
    if !present.without(&online).is_empty() {
        return off(root, &siblings);
    }
    let mut steps = sets(root, &siblings)?;
    steps.push(switch);
    Ok(steps)
}

/// Returns the steps that take these CPUs offline, one by one.
fn off(root: &Root, cpus: &CpuSet) -> Result<Vec<Step>> {
    let mut steps = sets(root, cpus)?;
    for cpu in cpus.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
        steps.extend(knob::step(root, &path, "0", Form::Plain, "this CPU cannot go offline: name the other one")?);
    }
    Ok(steps)
}

/// Returns the siblings of the CPUs that stay.
fn siblings_of(kept: &CpuSet, cores: &[CpuSet]) -> Result<CpuSet> {
    let mut siblings = CpuSet::default();
    for cpu in kept.iter() {
        let Some(core) = cores.iter().find(|core| core.contains(cpu)) else { bail!("CPU {cpu} is not online") };
        let both = core.iter().filter(|other| kept.contains(*other)).count();
        ensure!(both == 1, "off={kept}: CPUs {core} share one core: name one of them");
        siblings.0.extend(core.iter().filter(|other| *other != cpu));
    }
    Ok(siblings)
}

/// Remembers the cpusets of cgroup v1: they lose a CPU that goes offline and do not get it back when it returns
/// (Documentation/admin-guide/cgroup-v1/cpusets.rst, section 1.4). latido restores the outer sets first.
fn sets(root: &Root, gone: &CpuSet) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for set in isolate::sets(root) {
        let path = format!("{set}/cpuset.cpus");
        let Some(cpus) = root.value::<CpuSet>(&path).filter(|cpus| gone.iter().any(|cpu| cpus.contains(cpu))) else {
            continue;
        };
        let left = cpus.without(gone);
        ensure!(!left.is_empty(), "the cpuset {set} has no CPU but {cpus}: give it another (in {path})");
        let (original, becomes) = (cpus.to_string(), Some(left.to_string()));
        steps.push(Step::Kept { path, original, becomes, form: Form::Cpus });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use crate::{
        fixture::{
            trees,
            trial::{Proof, applied, refusal},
        },
        journal::Journal,
    };

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "smt",
            options: "off = 'all'",
            machine: &trees::server,
            after: &[("sys/devices/system/cpu/smt/control", "off\n")],
            other: ("sys/devices/system/cpu/smt/control", "forceoff\n"),
            without: &[("sys/devices/system/cpu/smt/control", "CONFIG_HOTPLUG_SMT")],
        };
        proof.holds();
    }

    #[test]
    fn the_siblings_of_some_cpus_go_offline() {
        let sibling = "sys/devices/system/cpu/cpu5/online";
        let proof = Proof {
            name: "smt",
            options: "off = '2,4'",
            machine: &trees::server,
            after: &[("sys/devices/system/cpu/cpu3/online", "0\n"), (sibling, "0\n")],
            other: (sibling, "2\n"),
            without: &[(sibling, "cannot go offline")],
        };
        proof.holds();
        for (off, said) in
            [("2-3", "share one core"), ("9", "CPU 9 is not online"), ("1", "cpu0/online: this CPU cannot go offline")]
        {
            let error = refusal("smt", &format!("off = '{off}'"), &trees::server());
            assert!(error.contains(said), "{error}");
        }
    }

    /// The switch would bring a CPU online that was off before.
    #[test]
    fn a_sibling_that_was_off_stays_off() {
        let tree = trees::server();
        tree.write("sys/devices/system/cpu/online", "0-6\n");
        tree.write("sys/devices/system/cpu/cpu7/online", "0\n");
        let tuning = super::Smt { off: Some("all".into()) };
        let (done, _) = trees::apply(&tuning, &tree.root).unwrap();
        let knobs: Vec<String> = done.iter().map(|step| step.change().knob).collect();
        let expected = [1, 3, 5].map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/online"));
        assert_eq!(knobs, expected, "CPU 7 is off already");
        trees::undo(&done, &tree.root);
        assert_eq!(tree.root.read("sys/devices/system/cpu/cpu7/online").as_deref(), Some("0"));
    }

    /// The kernel takes a CPU that goes offline from a set, and does not return it when it comes back.
    #[test]
    fn cpusets_of_version_1_get_their_cpus_back() {
        let tree = trees::cgroup_v1();
        tree.write("sys/devices/system/cpu/cpu1/online", "1\n");
        for cpu in [0, 1] {
            tree.write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), "0-1\n");
        }
        let tuning = super::Smt { off: Some("0".into()) };
        let (done, _) = trees::apply(&tuning, &tree.root).unwrap();
        let sets = ["docker/box", "docker"].map(|set| format!("sys/fs/cgroup/cpuset/{set}/cpuset.cpus"));
        sets.iter().for_each(|set| tree.write(set, "0\n"));
        trees::undo(&done, &tree.root);
        for set in &sets {
            assert_eq!(tree.root.read(set).as_deref(), Some("0-1"), "{set}");
        }
    }

    #[test]
    fn without_an_option_siblings_are_named_and_nothing_changes() {
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("smt", "", &trees::server().root, &mut journal).unwrap();
        assert!(record.changes.is_empty() && record.note.unwrap().ends_with("shared a core: (0,1) (2,3) (4,5) (6,7)"));
    }

    /// A board without hardware threads does not implement the switch; a PC without them has nothing to switch.
    #[test]
    fn a_machine_without_hardware_threads() {
        let error = refusal("smt", "off = 'all'", &trees::arm());
        assert!(error.contains("`notimplemented`"), "{error}");
        let (_dir, mut journal) = Journal::scratch();
        let record = applied("smt", "off = 'all'", &trees::cgroup_v1().root, &mut journal).unwrap();
        assert!(record.changes.is_empty() && record.note.unwrap().contains("no two CPUs share a core"));
    }
}
