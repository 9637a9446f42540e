//! Names for configurations and systems: as short as possible, made from what differs.

use super::{
    differing::{Differing, shared},
    title::title,
};
use latido_model::{
    cell::{Axis, Cell, Conditions, NO_LOAD, RUNNING},
    cpus::CpuSet,
    machine::Machine,
    units::Ns,
};
use std::collections::{BTreeMap, BTreeSet};

/// Something that can have a label: a cell and the machine that it was measured on.
pub trait Labelled {
    /// Returns the cell.
    fn cell(&self) -> &Cell;
    /// Returns the machine.
    fn machine(&self) -> &Machine;
}

/// Returns one label for each: what they differ in, in the order probe, host, target, kernel, tuning, load, scheduling, CPUs, limit, trace.
/// A single one gets the name of its probe and load.
pub(super) fn labels<T: Labelled>(all: &[T]) -> Vec<Label> {
    let first = |one: &T| title(&Cell { repeat: 1, ..one.cell().clone() });
    if let [one] = all {
        return vec![Label { text: first(one), short: one.cell().load.shown_load().to_owned() }];
    }
    let cells: Vec<&Cell> = all.iter().map(T::cell).collect();
    let (hosts, differing) = (hosts_are_told(all.iter()), Differing::of(&cells));
    // Each probe may have other CPUs or another limit: that is no difference between the machines.
    let one_cpus = shared(&cells, |cell| cell.conditions.cpus.as_ref());
    let one_limit = shared(&cells, |cell| cell.conditions.limit.as_ref());
    let row = |one: &T| {
        let Conditions { cpus, limit, trace, .. } = &one.cell().conditions;
        let cpus = if one_cpus { String::new() } else { said_cpus(cpus) };
        let limit = if one_limit { String::new() } else { said_limit(limit) };
        [place(one, hosts), vec![cpus, limit, said_trace(trace)]].concat()
    };
    let rows = |probe: &dyn Fn(&Cell) -> String| -> Vec<(Vec<String>, String)> {
        all.iter().map(|one| ([vec![probe(one.cell())], row(one)].concat(), first(one))).collect()
    };
    let options = |cell: &Cell| differing.options(cell, &|_| false);
    let names = named(&rows(&|cell| {
        std::iter::once(cell.probe.name.clone()).chain(options(cell)).collect::<Vec<_>>().join(" ")
    }));
    let under = rows(&|cell| options(cell).join(" "));
    let label = |((name, (row, _)), one): ((Name, &(Vec<String>, String)), &T)| {
        let parts: Vec<&str> = name.columns.iter().filter_map(|k| row.get(*k)).map(String::as_str).collect();
        let parts = if parts.is_empty() { vec![one.cell().load.shown_load()] } else { parts };
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let twin = if name.twin > 0 { format!(" #{}", name.twin + 1) } else { String::new() };
        Label { short: (parts.join(", ") + &twin).trim_start().to_owned(), text: name.text }
    };
    names.into_iter().zip(&under).zip(all).map(label).collect()
}

/// What distinguishes a configuration from the others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Among all others: `wakeup period=250us, busy`.
    pub text: String,
    /// Under the heading of its probe: `period=250us, busy`; empty where nothing else distinguishes it.
    pub short: String,
}

/// The name of one row among others.
struct Name {
    text: String,
    /// The columns that it consists of; empty if it is the alternative name of the row.
    columns: Vec<usize>,
    /// How many earlier rows have the same name.
    twin: usize,
}

/// Makes names from rows: the parts in which the rows differ, else the alternative name; equal names are numbered.
fn named(rows: &[(Vec<String>, String)]) -> Vec<Name> {
    let differs = |k: &usize| {
        let mut parts = rows.iter().map(|(row, _)| row.get(*k));
        let first = parts.next();
        parts.any(|part| Some(part) != first)
    };
    let width = rows.first().map_or(0, |(row, _)| row.len());
    let differing: Vec<usize> = (0..width).filter(differs).collect();
    let mut names: Vec<Name> = Vec::new();
    // The names already given, and how often each name was requested.
    let (mut given, mut asked) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    for (row, otherwise) in rows {
        let part = |k: usize| row.get(k).map(String::as_str).filter(|part| !part.is_empty());
        let columns: Vec<usize> = differing.iter().copied().filter(|k| part(*k).is_some()).collect();
        let parts: Vec<&str> = columns.iter().filter_map(|k| part(*k)).collect();
        let label = if parts.is_empty() { otherwise.clone() } else { parts.join(", ") };
        // Levels with the same name but other items (two runs, two meanings of `busy`) still need two labels.
        let twin = asked.entry(label.clone()).or_default();
        let text = |twin: usize| if twin == 0 { label.clone() } else { format!("{label} #{}", twin + 1) };
        // A level may already have a name that looks like a numbered one.
        while !given.insert(text(*twin)) {
            *twin += 1;
        }
        names.push(Name { text: text(*twin), columns, twin: *twin });
    }
    names
}

/// The systems of configurations: everything except the probe that measured them.
#[derive(Debug)]
pub struct Systems {
    /// A name for each system, made from what differs between them.
    pub labels: Vec<String>,
    /// The index of each configuration's system.
    pub of: Vec<usize>,
}

/// Finds which configurations belong to one system, in the order of their first appearance. CPUs and limit count only if `fine`: an option
/// of the probe may determine the CPUs.
pub fn systems<T: Labelled>(all: &[&T], fine: bool) -> Systems {
    let mut firsts: Vec<&T> = Vec::new();
    let mut of = Vec::new();
    // Systems by their names: only systems with the same names can be equal.
    let mut by_names: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for one in all {
        let namesakes = by_names.entry(axes(*one)).or_default();
        let alike = |at: &usize| firsts.get(*at).is_some_and(|first| alike(*first, *one, fine));
        let known = namesakes.iter().copied().find(alike).unwrap_or_else(|| {
            namesakes.push(firsts.len());
            firsts.push(one);
            firsts.len() - 1
        });
        of.push(known);
    }
    let hosts = hosts_are_told(firsts.iter().copied());
    let row = |one: &T| {
        let Conditions { cpus, limit, trace, .. } = &one.cell().conditions;
        let conditions = if fine { vec![said_cpus(cpus), said_limit(limit), said_trace(trace)] } else { Vec::new() };
        [place(one, hosts), conditions].concat()
    };
    let rows: Vec<_> = firsts.iter().map(|one| (row(one), alone(*one))).collect();
    Systems { labels: named(&rows).into_iter().map(|name| name.text).collect(), of }
}

fn alike<T: Labelled>(a: &T, b: &T, fine: bool) -> bool {
    let machine = |c: &T| (c.machine().hostname.clone(), c.machine().kernel.clone());
    let (x, y) = (a.cell(), b.cell());
    machine(a) == machine(b)
        && Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe)).all(|axis| x.agrees(y, axis))
        && (!fine || (&x.conditions.cpus, x.conditions.limit) == (&y.conditions.cpus, y.conditions.limit))
        && (!fine || x.conditions.recorded() == y.conditions.recorded())
}

/// Whether the targets identify the hosts: each target is one host.
fn hosts_are_told<'a, T: Labelled + 'a>(mut all: impl Iterator<Item = &'a T>) -> bool {
    let mut hosts: BTreeMap<&str, &str> = BTreeMap::new();
    all.all(|one| {
        let host = one.machine().hostname.as_str();
        *hosts.entry(one.cell().target.as_str()).or_insert(host) == host
    })
}

/// Returns host, target, kernel, tuning, load and scheduling: everything except the probe, and except the boot, in which repeats differ.
/// The host is left out where the target identifies it.
fn place<T: Labelled>(one: &T, hosts_are_told: bool) -> Vec<String> {
    let host = if hosts_are_told { String::new() } else { one.machine().hostname.clone() };
    std::iter::once(host).chain(axes(one)).collect()
}

/// Returns target, kernel, tuning, load and scheduling by their names.
fn axes<T: Labelled>(one: &T) -> Vec<String> {
    let cell = one.cell();
    let level = |axis| match axis {
        Axis::Kernel => kernel(cell, one.machine()),
        axis => cell.shown(axis),
    };
    Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe)).map(level).collect()
}

/// Returns the kernel of a measured cell: the kernel it was booted with, else the one that ran.
pub(super) fn kernel(cell: &Cell, machine: &Machine) -> String {
    if cell.kernel == RUNNING { machine.kernel.clone() } else { cell.kernel.clone() }
}

fn said_cpus(cpus: &Option<CpuSet>) -> String {
    cpus.as_ref().map(|cpus| format!("CPUs {cpus}")).unwrap_or_default()
}

fn said_limit(limit: &Option<Ns>) -> String {
    limit.map(|limit| format!("limit {limit}")).unwrap_or_default()
}

fn said_trace(trace: &Option<Vec<String>>) -> String {
    trace.as_ref().map(|_| "traced".into()).unwrap_or_default()
}

/// Returns the name of a system that is the only one: its load, else the host.
fn alone<T: Labelled>(one: &T) -> String {
    [&one.cell().load.id, &one.machine().hostname, &one.machine().kernel]
        .into_iter()
        .find(|name| !name.is_empty() && *name != NO_LOAD)
        .cloned()
        .unwrap_or_else(|| "this machine".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{cell::Scheduling, sample};

    struct On(Cell, Machine);

    impl Labelled for On {
        fn cell(&self) -> &Cell {
            &self.0
        }

        fn machine(&self) -> &Machine {
            &self.1
        }
    }

    fn on_host(cell: Cell) -> On {
        On(cell, Machine { hostname: "host".into(), ..Machine::default() })
    }

    fn labelled(cells: Vec<Cell>) -> Vec<String> {
        texts(&cells.into_iter().map(on_host).collect::<Vec<_>>())
    }

    fn texts(all: &[On]) -> Vec<String> {
        labels(all).into_iter().map(|label| label.text).collect()
    }

    /// Configurations that count how often their fields are read.
    struct Counted<'a>(On, &'a std::cell::Cell<usize>);

    impl Labelled for Counted<'_> {
        fn cell(&self) -> &Cell {
            self.1.set(self.1.get() + 1);
            &self.0.0
        }

        fn machine(&self) -> &Machine {
            self.1.set(self.1.get() + 1);
            &self.0.1
        }
    }

    /// The number of reads for names and systems grows linearly with the number of configurations: for different machines, loads, options
    /// of probes, and levels with the same name.
    #[test]
    fn naming_grows_as_configurations() {
        let looks = std::cell::Cell::new(0);
        let of = |number: usize| {
            let options = toml::toml! { period = "1ms" };
            let options = [(("n").to_owned(), toml::Value::from(number as i64))].into_iter().chain(options).collect();
            let probe = latido_model::cell::Item { name: "wakeup".into(), options };
            let cell = Cell { probe, target: format!("ssh:board{}", number % 7), ..sample::under("busy") };
            let hostname = format!("host{}", number / 3);
            Counted(On(cell, Machine { hostname, ..Machine::default() }), &looks)
        };
        for count in [10, 100, 1_000] {
            let all: Vec<Counted<'_>> = (0..count).map(of).collect();
            looks.set(0);
            let names = labels(&all);
            assert_eq!(names.iter().map(|label| &label.text).collect::<BTreeSet<_>>().len(), count);
            let named = looks.take();
            assert!(named <= 40 * count, "{count} configurations: {named} looks");
            let machines: Vec<Counted<'_>> = (0..count)
                .map(|number| {
                    let Counted(On(cell, machine), looks) = of(number);
                    let load = latido_model::cell::Level { id: format!("load {number}"), ..Default::default() };
                    Counted(On(Cell { load, ..cell }, machine), looks)
                })
                .collect();
            looks.set(0);
            assert_eq!(systems(&machines.iter().collect::<Vec<_>>(), true).labels.len(), count);
            let named = looks.take();
            assert!(named <= 40 * count, "{count} systems: {named} looks");
        }
    }

    /// Repeats of another boot belong to the same configuration.
    #[test]
    fn targets_are_told_where_they_differ() {
        let at = |target: &str, boot| Cell { target: target.into(), boot, ..sample::cell() };
        assert_eq!(labelled(vec![at("local", 1), at("ssh:board", 2)]), ["local", "ssh:board"]);
        let board = On(at("ssh:board", 1), Machine { hostname: "board".into(), ..Machine::default() });
        assert_eq!(texts(&[on_host(at("local", 1)), board]), ["local", "ssh:board"]);
        let other = On(at("local", 1), Machine { hostname: "other".into(), ..Machine::default() });
        assert_eq!(texts(&[on_host(at("local", 1)), other]), ["host", "other"]);
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

    /// Another level whose name starts with the probe's name does not matter.
    #[test]
    fn under_its_probe_the_probe_is_not_named() {
        let short = |cells: Vec<Cell>| -> Vec<String> {
            let all: Vec<On> = cells.into_iter().map(on_host).collect();
            labels(&all).into_iter().map(|label| label.short).collect()
        };
        let of = |load: &str, period: &str| Cell {
            probe: latido_model::cell::Item { name: "wakeup".into(), options: toml::toml! { period = period } },
            ..sample::under(load)
        };
        assert_eq!(short(vec![of("busy", "1ms")]), ["busy"]);
        assert_eq!(short(vec![of("busy", "1ms"), of("wakeup, storm", "1ms")]), ["busy", "wakeup, storm"]);
        assert_eq!(short(vec![of("busy", "1ms"), of("idle", "2ms")]), ["period=1ms, busy", "period=2ms, idle"]);
        assert_eq!(short(vec![of("busy", "1ms"), of("busy", "1ms")]), ["busy", "busy #2"]);
        assert_eq!(short(vec![sample::under("busy"), sample::probing("gap")]), ["busy", "idle"]);
        let alike = || Cell { load: Default::default(), ..sample::under("busy") };
        let gap = Cell { load: alike().load, ..sample::probing("gap") };
        assert_eq!(short(vec![alike(), gap]), ["", ""]);
    }

    fn systems_of(cells: Vec<Cell>, fine: bool) -> Systems {
        let all: Vec<On> = cells.into_iter().map(on_host).collect();
        systems(&all.iter().collect::<Vec<_>>(), fine)
    }

    /// The options of a probe are rows of a table; everything else makes its columns.
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
    }
}
