//! Names for cells and configurations: as short as possible, built from what differs.

use super::configuration::Configuration;
use crate::cell::Cell;
use std::collections::BTreeSet;

/// A cell for people, beside others of its run: `wakeup, busy`, with the repeat where it is not the first.
pub fn title(cell: &Cell) -> String {
    let mut text = cell.probe.name.clone();
    if !cell.load.id.is_empty() {
        text = format!("{text}, {}", cell.load.id);
    }
    if cell.repeat > 1 {
        text = format!("{text}, repeat {}", cell.repeat);
    }
    text
}

/// One label for each configuration: the axes on which they differ, in the order probe, host, kernel, tuning, load,
/// scheduling, CPUs, limit. A single one is named by its probe and load.
pub(super) fn labels(all: &[Configuration]) -> Vec<String> {
    if let [one] = all {
        return vec![title(&Cell { repeat: 1, ..one.cell.clone() })];
    }
    let rows: Vec<Vec<String>> = all.iter().map(|one| axes(one, all)).collect();
    let width = rows.first().map_or(0, Vec::len);
    let differing: Vec<usize> =
        (0..width).filter(|&k| rows.iter().map(|row| &row[k]).collect::<BTreeSet<_>>().len() > 1).collect();
    let mut labels: Vec<String> = Vec::new();
    for (one, row) in all.iter().zip(&rows) {
        let parts: Vec<&str> = differing.iter().map(|&k| row[k].as_str()).filter(|part| !part.is_empty()).collect();
        let label = if parts.is_empty() { title(&Cell { repeat: 1, ..one.cell.clone() }) } else { parts.join(", ") };
        // Levels of one name with other items (two runs, two meanings of `busy`) still need two labels.
        let twins = labels.iter().filter(|other| **other == label || other.starts_with(&format!("{label} #"))).count();
        labels.push(if twins == 0 { label } else { format!("{label} #{}", twins + 1) });
    }
    labels
}

fn axes(one: &Configuration, all: &[Configuration]) -> Vec<String> {
    let cell = &one.cell;
    let kernel = if cell.kernel == "running" { &one.machine.kernel } else { &cell.kernel };
    let cpus = cell.cpus.as_ref().map(|cpus| format!("CPUs {cpus}")).unwrap_or_default();
    let limit = cell.limit.map(|limit| format!("limit {limit}")).unwrap_or_default();
    vec![
        probe(cell, all),
        one.machine.hostname.clone(),
        kernel.clone(),
        cell.tuning.id.clone(),
        cell.load.id.clone(),
        cell.scheduling.to_string(),
        // Different probes may measure different CPUs or have a limit each: that is no difference of its own.
        if shared(all, |other| other.cpus.as_ref()) { String::new() } else { cpus },
        if shared(all, |other| other.limit.as_ref()) { String::new() } else { limit },
    ]
}

/// Whether every probe has one value of this over all configurations.
fn shared<'a, T: PartialEq>(all: &'a [Configuration], value: impl Fn(&'a Cell) -> Option<T>) -> bool {
    all.iter().all(|a| all.iter().all(|b| a.cell.probe.name != b.cell.probe.name || value(&a.cell) == value(&b.cell)))
}

/// The probe's name with the options on which configurations of the same probe differ.
fn probe(cell: &Cell, all: &[Configuration]) -> String {
    let others = || all.iter().map(|other| &other.cell.probe).filter(|other| other.name == cell.probe.name);
    let mut text = cell.probe.name.clone();
    for (key, value) in &cell.probe.options {
        if others().any(|other| other.options.get(key) != Some(value)) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            text = format!("{text} {key}={value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyze::sample, cell::Scheduling, machine::Machine, units::Ns};

    fn labelled(cells: Vec<Cell>) -> Vec<String> {
        let all: Vec<Configuration> = cells
            .into_iter()
            .map(|cell| Configuration {
                label: String::new(),
                cell,
                machine: Machine::default(),
                members: Vec::new(),
                quantities: Vec::new(),
            })
            .collect();
        labels(&all)
    }

    #[test]
    fn only_what_differs_is_named() {
        assert_eq!(labelled(vec![sample::cell()]), ["wakeup, idle"]);
        assert_eq!(labelled(vec![sample::cell(), sample::under("busy")]), ["idle", "busy"]);
        assert_eq!(
            labelled(vec![sample::cell(), sample::probing("gap"), sample::under("busy")]),
            ["wakeup, idle", "gap, idle", "wakeup, busy"]
        );
        let fast = Cell {
            probe: crate::cell::Item { name: "wakeup".into(), options: toml::toml! { period = "250us" } },
            ..sample::cell()
        };
        assert_eq!(labelled(vec![sample::cell(), fast]), ["wakeup period=1ms", "wakeup period=250us"]);
        let other = Cell { scheduling: Scheduling::OTHER, limit: Some(Ns(5)), ..sample::cell() };
        assert_eq!(labelled(vec![sample::cell(), other]), ["fifo 80, limit 100us", "other, limit 5ns"]);
    }

    #[test]
    fn equal_names_are_numbered() {
        let mut twin = sample::under("idle");
        twin.load.items[0].name = "stress-ng".into();
        let labels = labelled(vec![sample::cell(), twin, sample::under("idle")]);
        assert_eq!(labels, ["wakeup, idle", "wakeup, idle #2", "wakeup, idle #3"]);
        assert_eq!(title(&Cell { repeat: 3, ..sample::under("busy") }), "wakeup, busy, repeat 3");
    }
}
