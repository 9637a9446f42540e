//! What the supervisor hands to the measuring process: the cell with nothing left to choose.

use crate::{
    cell::Cell,
    cpus::CpuSet,
    load::LOADS,
    machine, probe, registry,
    tuning::{self, isolate::Entry},
};
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// A cell resolved on the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The cell; its CPUs are known and its probe's options complete.
    pub cell: Cell,
    /// The CPUs for everything that is not measuring; absent when all are measured.
    pub housekeeping: Option<CpuSet>,
    /// The CPUs that a tuning takes from everything else.
    pub isolated: CpuSet,
    /// The doors to isolated CPUs, known once the tunings are in force.
    pub entries: Vec<Entry>,
}

/// Whether CPUs that are to be isolated are there.
fn available(isolated: &CpuSet) -> Result<()> {
    let online = machine::online_cpus();
    let missing = isolated.without(&online);
    ensure!(missing.is_empty(), "CPU {missing} is to be isolated and not there: online are {online}");
    Ok(())
}

/// Resolves a cell on this machine.
///
/// # Errors
/// An item that this machine cannot have, or CPUs that are not there.
pub fn assign(mut cell: Cell) -> Result<Assignment> {
    ensure!(
        cell.schema == crate::cell::SCHEMA,
        "the cell has schema {}, this latido reads {}: use the same version on both sides",
        cell.schema,
        crate::cell::SCHEMA
    );
    let probe = registry::build("probe", probe::PROBES, &cell.probe)?;
    probe.check(&cell)?;
    cell.probe.options = probe.options();
    for item in &mut cell.load.items {
        item.options = registry::build("load", LOADS, item)?.options();
    }
    let mut isolated = CpuSet::default();
    for item in &mut cell.tuning.items {
        let tuning = registry::build("tuning", tuning::TUNINGS, item)?;
        isolated = isolated.iter().chain(tuning.isolated().iter().flat_map(|cpus| cpus.iter())).collect();
        item.options = tuning.options();
    }
    let own = isolated.clone();
    // What was isolated by hand is not allowed to this process, but its measuring threads know the door.
    let standing = tuning::isolate::entries(&machine::Root::default());
    isolated = isolated.iter().chain(standing.iter().flat_map(|entry| entry.cpus.iter())).collect();
    let allowed: CpuSet = machine::allowed_cpus().iter().chain(isolated.iter()).collect();
    available(&isolated)?;
    let cpus = match &cell.cpus {
        Some(asked) => {
            let missing = asked.without(&allowed);
            ensure!(
                missing.is_empty(),
                "CPU {missing} is not there or not allowed for this process; allowed are {allowed}"
            );
            asked.clone()
        }
        None if !isolated.is_empty() => isolated,
        None => probe.default_cpus(&allowed),
    };
    ensure!(
        !cpus.is_empty(),
        "the probe `{}` would take the only CPU ({allowed}) and never give it back: name it with -c to do so all the same",
        cell.probe.name
    );
    let housekeeping = Some(allowed.without(&cpus)).filter(|rest| !rest.is_empty());
    cell.cpus = Some(cpus);
    // The idle states are held unless the cell says how it wants them.
    if !cell.tuning.items.iter().any(|item| item.name == "cstates") {
        let cstates = registry::build(
            "tuning",
            tuning::TUNINGS,
            &crate::cell::Item { name: "cstates".into(), options: toml::Table::new() },
        )?;
        let item = crate::cell::Item { name: "cstates".into(), options: cstates.options() };
        cell.tuning.items.insert(0, item);
    }
    Ok(Assignment { cell, housekeeping, isolated: own, entries: Vec::new() })
}

/// Binds the calling thread to these CPUs; `None` changes nothing.
pub fn stay_on(cpus: Option<&CpuSet>) {
    let Some(cpus) = cpus else { return };
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| (*cpu as usize) < rustix::thread::CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    // Refused where a cpuset was narrowed meanwhile: then we stay where we are, which measures the same.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}
