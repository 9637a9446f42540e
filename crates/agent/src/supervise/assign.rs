//! Resolves a cell on this machine: determines its CPUs and completes its options.

mod places;

use crate::{
    load::LOADS,
    machine::{self, Reach, Root, isolated},
    measure::{Probe, assignment::Assignment},
    probe, tuning,
};
use anyhow::{Result, ensure};
use latido_model::{
    cell::{Cell, Item},
    cpus::CpuSet,
    registry,
};
use places::{Facts, Placed, available, default_cpus, together};
use std::path::PathBuf;

/// Resolves a cell on this machine.
///
/// # Errors
/// This machine cannot provide an item, or the CPUs are not there.
pub fn assign(mut cell: Cell) -> Result<Assignment> {
    let (probe, own) = complete(&mut cell)?;
    // CPUs that a person isolated are outside this process's cpuset, but its measuring threads can enter their group.
    let root = Root::default();
    let standing = isolated::entries(&root);
    let isolated = together(&own, standing.iter().map(|entry| &entry.cpus));
    let reach = Reach::ask();
    let usable = together(&reach.usable, [&isolated]);
    available(&isolated, &machine::online_cpus())?;
    let named = cell.conditions.cpus.take();
    if let Some(asked) = &named {
        reach.admit(&root, asked, &isolated)?;
    }
    let own_cpus = machine::own_cpus();
    let facts = Facts {
        probe: &cell.probe.name,
        named,
        isolated: &isolated,
        usable: &usable,
        reach: &reach.usable,
        own: &own_cpus,
        kept_free: &machine::kept_free(),
    };
    let guest = || machine::laboratory(&root).is_some();
    let Placed { cpus, housekeeping, left_out } =
        facts.place(|usable| default_cpus(probe.as_ref(), usable, guest()), || reach.left_out(&root))?;
    cell.conditions.cpus = Some(cpus);
    if holds_idle_states(&cell, probe.looks_on()) {
        let cstates = |options| Item { name: "cstates".into(), options };
        let tuning = registry::build("tuning", tuning::TUNINGS, &cstates(toml::Table::new()))?;
        cell.tuning.items.insert(0, cstates(tuning.options()));
    }
    let counted = together(&own_cpus, [&isolated]);
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

/// Completes the options of everything in a cell. Returns its probe, and the CPUs that its tunings isolate.
fn complete(cell: &mut Cell) -> Result<(Box<dyn Probe>, CpuSet)> {
    ensure!(
        cell.schema == latido_model::cell::SCHEMA,
        "the cell has schema {}, this latido reads {}: use the same version on both sides",
        cell.schema,
        latido_model::cell::SCHEMA
    );
    let probe = registry::build("probe", probe::PROBES, &cell.probe)?;
    probe.admit(cell)?;
    cell.probe.options = probe.options();
    for item in &mut cell.load.items {
        item.options = registry::build("load", LOADS, item)?.options();
    }
    let mut isolated = CpuSet::default();
    for item in &mut cell.tuning.items {
        let tuning = registry::build("tuning", tuning::TUNINGS, item)?;
        isolated = together(&isolated, tuning.isolated());
        item.options = tuning.options();
    }
    Ok((probe, isolated))
}

/// Tells whether latido adds the tuning of the idle states. It does not if the cell has one, or if the probe only watches passively.
fn holds_idle_states(cell: &Cell, looks_on: bool) -> bool {
    !looks_on && !cell.tuning.items.iter().any(|item| item.name == "cstates")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;

    fn item(name: &str) -> Item {
        Item { name: name.into(), options: toml::Table::new() }
    }

    #[test]
    fn idle_states_are_held_where_nothing_is_said_of_them() {
        let with = |tunings: &[&str], looks_on| {
            let mut cell = sample::cell();
            cell.tuning.items = tunings.iter().map(|name| item(name)).collect();
            holds_idle_states(&cell, looks_on)
        };
        assert!(with(&[], false) && with(&["irqs"], false));
        assert!(!with(&["irqs", "cstates"], false), "as the cell wants them");
        assert!(!with(&[], true), "who looks on changes nothing");
    }

    /// Afterwards every option must have its value. A cell of another version must be refused with both versions.
    #[test]
    fn options_are_completed_and_a_later_schema_is_refused() {
        let mut cell = Cell { probe: item("null"), ..sample::cell() };
        cell.tuning.items =
            vec![Item { name: "isolate".into(), options: toml::Table::from_iter([("cpus".to_owned(), "1,3".into())]) }];
        cell.load.items = vec![item("messaging")];
        let (_, isolated) = complete(&mut cell).unwrap();
        assert_eq!(isolated, "1,3".parse().unwrap());
        assert!(!cell.probe.options.is_empty() && !cell.load.items[0].options.is_empty(), "{cell:?}");
        let later = &mut Cell { schema: 99, ..sample::cell() };
        let error = complete(later).err().unwrap().to_string();
        let both = format!("schema 99, this latido reads {}", latido_model::cell::SCHEMA);
        assert!(error.contains(&both), "{error}");
    }
}
