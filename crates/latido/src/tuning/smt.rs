//! `smt`: the hardware threads that share a core.

use super::{
    Tuning, Wanted, knob,
    step::{Form, Step},
};
use crate::{
    cpus::CpuSet,
    machine::Root,
    registry::{self, Def, Objection},
};
use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "smt",
    about: "hardware threads: switch the siblings off, on the whole machine or of some CPUs; names them in the record",
    help: "\
Two hardware threads share one core's units and caches: what runs on the sibling slows the measured one down at any
moment. Without an option nothing is changed and the record names the siblings.

Options:
  off   `all`: one thread a core on the whole machine; or CPUs, for example 2-3: their siblings alone go offline

A CPU that goes offline loses its tasks and interrupts to others, and does not get those back that were bound to it.

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
            Some("all" | "off") => vec![everywhere(root)?],
            Some(cpus) => {
                let kept: CpuSet = cpus.parse().map_err(|error: String| anyhow::anyhow!(error))?;
                siblings_of(root, &kept, &cores)?
            }
        };
        Ok(Wanted { steps: steps.into_iter().flatten().collect(), note, ..Wanted::default() })
    }
}

/// The hardware threads of each core that has an online CPU.
fn cores(root: &Root) -> Result<Vec<CpuSet>> {
    let mut cores: Vec<CpuSet> = Vec::new();
    for cpu in knob::online(root)?.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let core = knob::cpus(root, &path, "the kernel does not tell the topology")?;
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

fn everywhere(root: &Root) -> Result<Option<Step>> {
    const ABSENT: &str = "the kernel was built without CONFIG_HOTPLUG_SMT: name CPUs, smt:off=2-3";
    match root.read(CONTROL).as_deref() {
        // Nothing to switch off, or off for good.
        Some("forceoff" | "notsupported") => Ok(None),
        Some("notimplemented") => bail!("{CONTROL} says `notimplemented`: name CPUs, smt:off=2-3"),
        _ => knob::step(root, CONTROL, "off", Form::Plain, ABSENT),
    }
}

fn siblings_of(root: &Root, kept: &CpuSet, cores: &[CpuSet]) -> Result<Vec<Option<Step>>> {
    let mut steps = Vec::new();
    for cpu in kept.iter() {
        let Some(core) = cores.iter().find(|core| core.contains(cpu)) else { bail!("CPU {cpu} is not online") };
        let both = core.iter().filter(|other| kept.contains(*other)).count();
        ensure!(both == 1, "off={kept}: CPUs {core} share one core: name one of them");
        for sibling in core.iter().filter(|other| *other != cpu) {
            let path = format!("/sys/devices/system/cpu/cpu{sibling}/online");
            steps.push(knob::step(root, &path, "0", Form::Plain, "this CPU cannot go offline: name the other one")?);
        }
    }
    Ok(steps)
}
