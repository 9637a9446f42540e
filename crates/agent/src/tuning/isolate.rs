//! `isolate`: reserves CPUs for the measured task. Everything else that can move goes to the other CPUs.

mod tasks;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod undo_tests;
mod v1;
mod v2;

use crate::{
    machine::{
        Root,
        cpusets::{self, Hierarchy},
        isolated::{ISOLATED, entries},
    },
    setting::{Tuning, Wanted},
    step::refusal,
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cpus::CpuSet,
    record::TuningRecord,
    registry::{self, Def},
};
use serde::{Deserialize, Serialize};
pub use v1::sets;

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "isolate",
    about: "keep CPUs for the measured task alone, by cpusets (cgroup v1) or partitions (cgroup v2)",
    help: "\
Tasks and kernel threads that can move go to the other CPUs, load balancing of the named ones ends, and only the
measuring threads enter them. Loads stay outside. A cell that names no CPUs measures the isolated ones.

With cgroup v1 the cpusets `latido-system` and `latido-isolated` are made below the root, and every task of the root
moves to the first. With cgroup v2 the group `latido-isolated` becomes a separate partition (`isolated`, or one
`root` partition for each CPU on kernels before 6.1), which takes its CPUs from all others. Kernel threads that are
bound to their CPU stay there: the record names them. The tuning `workqueues` moves unbound kernel workers, the
tuning `irqs` moves interrupts.

Options:
  cpus   the CPUs to isolate, for example 1 or 2-3; at least one CPU must be left

Kernel documents: Documentation/admin-guide/cgroup-v1/cpusets.rst, Documentation/admin-guide/cgroup-v2.rst",
    main_option: Some("cpus"),
    new: |table| Ok(Box::new(registry::options::<Isolate>(table)?)),
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Isolate {
    cpus: CpuSet,
}

impl Tuning for Isolate {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn isolated(&self) -> Option<&CpuSet> {
        Some(&self.cpus)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let rest = self.rest(root)?;
        let place = cpusets::find(root)?;
        let standing = entries(root);
        if let Some(entry) = standing.first() {
            bail!(
                "CPUs {} are isolated already, by {}: undo that first (`latido tune undo isolate`)",
                entry.cpus,
                entry.threads
            );
        }
        let (Hierarchy::V1 { dir } | Hierarchy::V2 { dir }) = &place;
        if let Some(name) = root.list(dir).into_iter().find(|name| name.starts_with(ISOLATED)) {
            bail!("{dir}/{name} exists already, and holds no CPUs: remove it first (rmdir {dir}/{name})");
        }
        if let Some(refused) = refusal::beforehand(root, dir) {
            return Err(refused);
        }
        match place {
            Hierarchy::V1 { dir } => v1::wanted(root, &dir, &self.cpus, &rest),
            Hierarchy::V2 { dir } => v2::wanted(root, &dir, &self.cpus, &rest),
        }
    }

    fn confirm(&self, root: &Root, record: &mut TuningRecord) {
        let doors: CpuSet = entries(root).iter().flat_map(|entry| entry.cpus.iter()).collect();
        record.in_force &= doors == self.cpus;
    }
}

impl Isolate {
    /// Returns the CPUs that are left for everything else.
    fn rest(&self, root: &Root) -> Result<CpuSet> {
        let online: CpuSet = root
            .value("sys/devices/system/cpu/online")
            .context("cannot read /sys/devices/system/cpu/online, so the online CPUs are unknown")?;
        let missing = self.cpus.without(&online);
        ensure!(missing.is_empty(), "CPU {missing} is not online: the online CPUs are {online}");
        let rest = online.without(&self.cpus);
        ensure!(
            !rest.is_empty(),
            "{} cannot be isolated: all other tasks need a CPU too, and this machine has only CPUs {online}",
            match self.cpus.len() {
                1 => format!("CPU {}, the only one,", self.cpus),
                _ => format!("all CPUs ({})", self.cpus),
            }
        );
        Ok(rest)
    }
}
