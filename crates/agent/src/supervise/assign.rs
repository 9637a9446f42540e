//! A cell resolved on this machine: its CPUs known, its options complete.

use crate::{
    load::LOADS,
    machine::{self, isolated},
    measure::assignment::Assignment,
    probe, tuning,
};
use anyhow::{Result, ensure};
use latido_model::{cell::Cell, cpus::CpuSet, registry};
use std::path::PathBuf;

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
        cell.schema == latido_model::cell::SCHEMA,
        "the cell has schema {}, this latido reads {}: use the same version on both sides",
        cell.schema,
        latido_model::cell::SCHEMA
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
    let standing = isolated::entries(&machine::Root::default());
    isolated = isolated.iter().chain(standing.iter().flat_map(|entry| entry.cpus.iter())).collect();
    let allowed: CpuSet = machine::allowed_cpus().iter().chain(isolated.iter()).collect();
    available(&isolated)?;
    let cpus = match &cell.conditions.cpus {
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
    cell.conditions.cpus = Some(cpus);
    // The idle states are held unless the cell says how it wants them.
    if !cell.tuning.items.iter().any(|item| item.name == "cstates") {
        let cstates = registry::build(
            "tuning",
            tuning::TUNINGS,
            &latido_model::cell::Item { name: "cstates".into(), options: toml::Table::new() },
        )?;
        let item = latido_model::cell::Item { name: "cstates".into(), options: cstates.options() };
        cell.tuning.items.insert(0, item);
    }
    Ok(Assignment { cell, housekeeping, isolated: own, spool: PathBuf::new(), entries: Vec::new() })
}
