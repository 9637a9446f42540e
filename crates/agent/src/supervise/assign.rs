//! A cell resolved on this machine: its CPUs known, its options complete.

use crate::{
    load::LOADS,
    machine::{self, Reach, Root, isolated},
    measure::{Probe, assignment::Assignment},
    probe, tuning,
};
use anyhow::{Result, ensure};
use latido_model::{cell::Cell, cpus::CpuSet, protocol::LeftOut, registry};
use std::path::PathBuf;

/// Whether CPUs that are to be isolated are there.
fn available(isolated: &CpuSet) -> Result<()> {
    let online = machine::online_cpus();
    let missing = isolated.without(&online);
    ensure!(missing.is_empty(), "CPU {missing} is to be isolated and not there: online are {online}");
    Ok(())
}

/// The CPUs that a probe measures where none is named. A guest of the laboratory lives for its cell alone: there is nothing
/// else that its only CPU would have to be left for.
fn places(probe: &dyn Probe, usable: &CpuSet, guest: bool) -> CpuSet {
    let own = probe.default_cpus(usable);
    if own.is_empty() && guest { usable.clone() } else { own }
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
    // What was isolated by hand is outside of this process's cpuset, but its measuring threads know the door.
    let root = Root::default();
    let standing = isolated::entries(&root);
    isolated = isolated.iter().chain(standing.iter().flat_map(|entry| entry.cpus.iter())).collect();
    let reach = Reach::ask();
    let usable: CpuSet = reach.usable.iter().chain(isolated.iter()).collect();
    available(&isolated)?;
    let named = cell.conditions.cpus.take();
    let chosen = named.is_some();
    let cpus = match named {
        Some(asked) => {
            reach.admit(&root, &asked, &isolated)?;
            asked
        }
        None if !isolated.is_empty() => isolated.clone(),
        None => places(probe.as_ref(), &usable, machine::laboratory(&root).is_some()),
    };
    ensure!(
        !cpus.is_empty(),
        "the probe `{}` would take the only CPU ({usable}) and never give it back: name it with -c to do so all the same",
        cell.probe.name
    );
    let open = |cpus: CpuSet| cpus.without(&isolated);
    let kept_free = machine::kept_free();
    let housekeeping =
        machine::housekeeping(&cpus, &open(machine::own_cpus()), &open(reach.usable.clone()), &kept_free);
    let mut left_out = Vec::new();
    if !chosen {
        let beyond = reach.left_out(&root).into_iter().map(|left| LeftOut { cpus: left.cpus.without(&cpus), ..left });
        let rest = if isolated.is_empty() {
            format!("left for everything else by `{}`", cell.probe.name)
        } else {
            format!("not isolated, as {isolated} is")
        };
        left_out.extend(beyond.chain([LeftOut { cpus: usable.without(&cpus), why: rest }]));
        left_out.retain(|left| !left.cpus.is_empty());
    }
    cell.conditions.cpus = Some(cpus);
    // The idle states are held unless the cell says how it wants them, or what is there is looked at as it is.
    if !probe.looks_on() && !cell.tuning.items.iter().any(|item| item.name == "cstates") {
        let cstates = registry::build(
            "tuning",
            tuning::TUNINGS,
            &latido_model::cell::Item { name: "cstates".into(), options: toml::Table::new() },
        )?;
        let item = latido_model::cell::Item { name: "cstates".into(), options: cstates.options() };
        cell.tuning.items.insert(0, item);
    }
    let counted = machine::own_cpus().iter().chain(isolated.iter()).collect();
    let (spool, entries) = (PathBuf::new(), Vec::new());
    Ok(Assignment {
        cell,
        housekeeping,
        usable,
        left_out,
        isolated: own,
        counted,
        spool,
        instance: None,
        program: None,
        stamped: None,
        entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::cell::Item;

    /// Loops that never sleep leave a machine's only CPU alone unless it is named, and take that of a guest.
    #[test]
    fn what_never_sleeps_takes_the_only_cpu_of_a_guest_alone() {
        let one: CpuSet = [0].into_iter().collect();
        for name in ["mutex", "priority", "gap"] {
            let probe = Item { name: name.into(), options: toml::Table::new() };
            let probe = registry::build("probe", probe::PROBES, &probe).unwrap();
            assert!(places(probe.as_ref(), &one, false).is_empty(), "{name}");
            assert_eq!(places(probe.as_ref(), &one, true), one, "{name}");
        }
    }
}
