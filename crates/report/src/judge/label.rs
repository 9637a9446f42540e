//! Names for cells and configurations: as short as possible, built from what differs.

use super::configuration::Configuration;
use latido_model::cell::{Axis, Cell};
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

/// The same, with the axes of the machine on which the cells of its run differ: `wakeup, busy, isolated`.
pub fn title_among(cell: &Cell, all: &[Cell]) -> String {
    let tunings = all.iter().any(|other| other.tuning.id != cell.tuning.id).then_some(&cell.tuning.id);
    let kernels = all.iter().any(|other| other.kernel != cell.kernel).then_some(&cell.kernel);
    [Some(&title(cell)), tunings, kernels].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
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

/// The systems of configurations: everything but the probe that they were measured with.
#[derive(Debug)]
pub struct Systems {
    /// A name for each, built from what differs between them.
    pub labels: Vec<String>,
    /// The system of each configuration.
    pub of: Vec<usize>,
}

/// Which configurations are of one system, in the order of their first appearance. CPUs and limit count only if `fine`:
/// an option of the probe may decide the CPUs.
pub fn systems(all: &[&Configuration], fine: bool) -> Systems {
    let mut firsts: Vec<&Configuration> = Vec::new();
    let mut of = Vec::new();
    for one in all {
        let known = firsts.iter().position(|first| alike(first, one, fine));
        of.push(known.unwrap_or(firsts.len()));
        if known.is_none() {
            firsts.push(one);
        }
    }
    let rows: Vec<Vec<String>> = firsts.iter().map(|one| place(one, fine)).collect();
    let differs = |k: &usize| rows.iter().any(|row| row.get(*k) != rows.first().and_then(|first| first.get(*k)));
    let differing: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).filter(differs).collect();
    let mut labels: Vec<String> = Vec::new();
    for (one, row) in firsts.iter().zip(&rows) {
        let parts: Vec<&str> =
            differing.iter().filter_map(|k| row.get(*k)).map(String::as_str).filter(|part| !part.is_empty()).collect();
        let label = if parts.is_empty() { alone(one) } else { parts.join(", ") };
        let twins = labels.iter().filter(|other| **other == label || other.starts_with(&format!("{label} #"))).count();
        labels.push(if twins == 0 { label } else { format!("{label} #{}", twins + 1) });
    }
    Systems { labels, of }
}

fn alike(a: &Configuration, b: &Configuration, fine: bool) -> bool {
    let axes = |c: &'_ Configuration| (c.machine.hostname.clone(), c.machine.kernel.clone());
    let (x, y) = (&a.cell, &b.cell);
    axes(a) == axes(b)
        && Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe)).all(|axis| x.agrees(y, axis))
        && (!fine || (&x.conditions.cpus, x.conditions.limit) == (&y.conditions.cpus, y.conditions.limit))
}

/// The axes of a system: host, kernel, tuning, load, scheduling and, if `fine`, CPUs and limit.
fn place(one: &Configuration, fine: bool) -> Vec<String> {
    let cell = &one.cell;
    let kernel = if cell.kernel == "running" { &one.machine.kernel } else { &cell.kernel };
    let mut axes = vec![
        one.machine.hostname.clone(),
        kernel.clone(),
        cell.tuning.id.clone(),
        cell.load.id.clone(),
        cell.scheduling.to_string(),
    ];
    if fine {
        axes.push(cell.conditions.cpus.as_ref().map(|cpus| format!("CPUs {cpus}")).unwrap_or_default());
        axes.push(cell.conditions.limit.map(|limit| format!("limit {limit}")).unwrap_or_default());
    }
    axes
}

/// The name of a system that has no other beside it: its load, else the host.
fn alone(one: &Configuration) -> String {
    [&one.cell.load.id, &one.machine.hostname, &one.machine.kernel]
        .into_iter()
        .find(|name| !name.is_empty() && *name != "none")
        .cloned()
        .unwrap_or_else(|| "this machine".into())
}

/// The options of a probe on which it differs from some of these cells of the same probe, but for those named: `key=value`.
pub fn options(cell: &Cell, others: &[&Cell], but: &dyn Fn(&str) -> bool) -> Vec<String> {
    let differs = |key: &&String| {
        let value = cell.probe.options.get(*key);
        others.iter().any(|other| other.probe.name == cell.probe.name && other.probe.options.get(*key) != value)
    };
    let keys = cell.probe.options.keys().filter(|key| !but(key)).filter(differs);
    keys.filter_map(|key| Some(format!("{key}={}", said(cell.probe.options.get(key)?)))).collect()
}

/// An option's value as a person writes it.
pub fn said(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn axes(one: &Configuration, all: &[Configuration]) -> Vec<String> {
    let cell = &one.cell;
    let kernel = if cell.kernel == "running" { &one.machine.kernel } else { &cell.kernel };
    let cpus = cell.conditions.cpus.as_ref().map(|cpus| format!("CPUs {cpus}")).unwrap_or_default();
    let limit = cell.conditions.limit.map(|limit| format!("limit {limit}")).unwrap_or_default();
    vec![
        probe(cell, all),
        one.machine.hostname.clone(),
        kernel.clone(),
        cell.tuning.id.clone(),
        cell.load.id.clone(),
        cell.scheduling.to_string(),
        // Different probes may measure different CPUs or have a limit each: that is no difference of its own.
        if shared(all, |other| other.conditions.cpus.as_ref()) { String::new() } else { cpus },
        if shared(all, |other| other.conditions.limit.as_ref()) { String::new() } else { limit },
    ]
}

/// Whether every probe has one value of this over all configurations.
fn shared<'a, T: PartialEq>(all: &'a [Configuration], value: impl Fn(&'a Cell) -> Option<T>) -> bool {
    all.iter().all(|a| all.iter().all(|b| a.cell.probe.name != b.cell.probe.name || value(&a.cell) == value(&b.cell)))
}

/// The probe's name with the options on which configurations of the same probe differ.
fn probe(cell: &Cell, all: &[Configuration]) -> String {
    let others: Vec<&Cell> = all.iter().map(|other| &other.cell).collect();
    let options = options(cell, &others, &|_| false);
    std::iter::once(cell.probe.name.clone()).chain(options).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{cell::Scheduling, machine::Machine, sample, units::Ns};

    fn labelled(cells: Vec<Cell>) -> Vec<String> {
        let all: Vec<Configuration> = cells
            .into_iter()
            .map(|cell| Configuration {
                label: String::new(),
                cell,
                measurand: latido_model::quantity::Measurand::default(),
                machine: Machine::default(),
                tunings: Vec::new(),
                evidence: Vec::new(),
                members: Vec::new(),
                loads: Vec::new(),
                quantities: Vec::new(),
            })
            .collect();
        labels(&all)
    }

    #[test]
    fn a_cell_at_work_is_told_with_what_differs() {
        let shared = sample::under("busy");
        let isolated =
            Cell { tuning: latido_model::cell::Level { id: "isolated".into(), items: Vec::new() }, ..shared.clone() };
        let all = [shared.clone(), isolated.clone()];
        assert_eq!(title_among(&isolated, &all), format!("{}, isolated", title(&isolated)));
        assert_eq!(title_among(&shared, &all[..1]), title(&shared));
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
            probe: latido_model::cell::Item { name: "wakeup".into(), options: toml::toml! { period = "250us" } },
            ..sample::cell()
        };
        assert_eq!(labelled(vec![sample::cell(), fast]), ["wakeup period=1ms", "wakeup period=250us"]);
        let mut other = Cell { scheduling: Scheduling::OTHER, ..sample::cell() };
        other.conditions.limit = Some(Ns(5));
        assert_eq!(labelled(vec![sample::cell(), other]), ["fifo 80, limit 100us", "other, limit 5ns"]);
    }

    fn systems_of(cells: Vec<Cell>, fine: bool) -> Systems {
        let configuration = |cell| Configuration {
            label: String::new(),
            cell,
            measurand: latido_model::quantity::Measurand::default(),
            machine: Machine { hostname: "host".into(), ..Machine::default() },
            tunings: Vec::new(),
            evidence: Vec::new(),
            members: Vec::new(),
            loads: Vec::new(),
            quantities: Vec::new(),
        };
        let all: Vec<Configuration> = cells.into_iter().map(configuration).collect();
        systems(&all.iter().collect::<Vec<_>>(), fine)
    }

    /// The options of a probe are rows of a table, all else makes its columns.
    #[test]
    fn a_system_is_all_but_the_probe() {
        let on = |load: &str, kind: &str| Cell {
            probe: latido_model::cell::Item { name: "mutex".into(), options: toml::toml! { kind = kind } },
            ..sample::under(load)
        };
        let found = systems_of(vec![on("idle", "a"), on("idle", "b"), on("busy", "a")], false);
        assert_eq!((found.labels, found.of), (vec!["idle".to_owned(), "busy".to_owned()], vec![0, 0, 1]));
        assert_eq!(systems_of(vec![on("none", "a"), on("none", "b")], false).labels, ["host"]);
        let at = |cpu: u32| {
            let mut cell = on("idle", "a");
            cell.conditions.cpus = Some([cpu].into_iter().collect());
            cell
        };
        let cells = || vec![at(0), at(1)];
        assert_eq!(systems_of(cells(), false).of, [0, 0]);
        assert_eq!(systems_of(cells(), true).labels, ["CPUs 0", "CPUs 1"]);
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
