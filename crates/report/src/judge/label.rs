//! Names for configurations and systems: as short as possible, built from what differs.

use super::title::title;
use latido_model::{
    cell::{Axis, Cell, Conditions, RUNNING},
    cpus::CpuSet,
    machine::Machine,
    units::Ns,
    written,
};

/// What can be labelled: a cell and the machine that it was measured on.
pub trait Labelled {
    /// The cell.
    fn cell(&self) -> &Cell;
    /// The machine.
    fn machine(&self) -> &Machine;
}

/// One label for each: what they differ in, in the order probe, host, target, kernel, tuning, load, scheduling, CPUs,
/// limit, trace. A single one is named by its probe and load.
pub(super) fn labels<T: Labelled>(all: &[T]) -> Vec<Label> {
    let first = |one: &T| title(&Cell { repeat: 1, ..one.cell().clone() });
    if let [one] = all {
        return vec![Label { text: first(one), short: one.cell().load.id.clone() }];
    }
    let every: Vec<&T> = all.iter().collect();
    let row = |one: &T| {
        let Conditions { cpus, limit, trace, .. } = &one.cell().conditions;
        // Different probes may measure different CPUs or have a limit each: that is no difference of its own.
        let cpus = if shared(all, |other| other.conditions.cpus.as_ref()) { String::new() } else { said_cpus(cpus) };
        let limit =
            if shared(all, |other| other.conditions.limit.as_ref()) { String::new() } else { said_limit(limit) };
        [place(one, &every), vec![cpus, limit, said_trace(trace)]].concat()
    };
    let rows = |probe: &dyn Fn(&T) -> String| -> Vec<(Vec<String>, String)> {
        all.iter().map(|one| ([vec![probe(one)], row(one)].concat(), first(one))).collect()
    };
    let names = named(&rows(&|one| probe(one.cell(), all)));
    let under = rows(&|one| differing(one.cell(), all).join(" "));
    let label = |((name, (row, _)), one): ((Name, &(Vec<String>, String)), &T)| {
        let parts: Vec<&str> = name.columns.iter().filter_map(|k| row.get(*k)).map(String::as_str).collect();
        let parts = if parts.is_empty() { vec![one.cell().load.id.as_str()] } else { parts };
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let twin = if name.twin > 0 { format!(" #{}", name.twin + 1) } else { String::new() };
        Label { short: (parts.join(", ") + &twin).trim_start().to_owned(), text: name.text }
    };
    names.into_iter().zip(&under).zip(all).map(label).collect()
}

/// What tells a configuration from the others.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// From all others: `wakeup period=250us, busy`.
    pub text: String,
    /// Under the heading of its probe: `period=250us, busy`; empty where nothing else tells it.
    pub short: String,
}

/// The name of one row among others.
struct Name {
    text: String,
    /// The columns that it is made of; none where it is the name beside the row.
    columns: Vec<usize>,
    /// How many before it are called the same.
    twin: usize,
}

/// Names from rows: the parts in which the rows differ, else the name beside; equal names are numbered.
fn named(rows: &[(Vec<String>, String)]) -> Vec<Name> {
    let differs = |k: &usize| {
        let mut parts = rows.iter().map(|(row, _)| row.get(*k));
        let first = parts.next();
        parts.any(|part| Some(part) != first)
    };
    let width = rows.first().map_or(0, |(row, _)| row.len());
    let differing: Vec<usize> = (0..width).filter(differs).collect();
    let mut names: Vec<Name> = Vec::new();
    for (row, otherwise) in rows {
        let part = |k: usize| row.get(k).map(String::as_str).filter(|part| !part.is_empty());
        let columns: Vec<usize> = differing.iter().copied().filter(|k| part(*k).is_some()).collect();
        let parts: Vec<&str> = columns.iter().filter_map(|k| part(*k)).collect();
        let label = if parts.is_empty() { otherwise.clone() } else { parts.join(", ") };
        // Levels of one name with other items (two runs, two meanings of `busy`) still need two labels.
        let numbered = format!("{label} #");
        let twin = names.iter().filter(|other| other.text == label || other.text.starts_with(&numbered)).count();
        let text = if twin == 0 { label } else { format!("{numbered}{}", twin + 1) };
        names.push(Name { text, columns, twin });
    }
    names
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
pub fn systems<T: Labelled>(all: &[&T], fine: bool) -> Systems {
    let mut firsts: Vec<&T> = Vec::new();
    let mut of = Vec::new();
    for one in all {
        let known = firsts.iter().position(|first| alike(*first, *one, fine));
        of.push(known.unwrap_or(firsts.len()));
        if known.is_none() {
            firsts.push(one);
        }
    }
    let row = |one: &T| {
        let Conditions { cpus, limit, trace, .. } = &one.cell().conditions;
        let conditions = if fine { vec![said_cpus(cpus), said_limit(limit), said_trace(trace)] } else { Vec::new() };
        [place(one, &firsts), conditions].concat()
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

/// Host, target, kernel, tuning, load and scheduling: all but the probe, and the boot, in which repeats differ.
fn place<T: Labelled>(one: &T, all: &[&T]) -> Vec<String> {
    let cell = one.cell();
    // Where each host is a target of its own, the target says which.
    let alike = |a: &T, b: &T| a.machine().hostname == b.machine().hostname || a.cell().target != b.cell().target;
    let told = all.iter().all(|a| all.iter().all(|b| alike(a, b)));
    let host = if told { String::new() } else { one.machine().hostname.clone() };
    let level = |axis| match axis {
        Axis::Kernel => kernel(cell, one.machine()),
        axis => cell.level(axis),
    };
    let axes = Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe));
    std::iter::once(host).chain(axes.map(level)).collect()
}

/// The kernel of a cell that was measured: what it was booted as, else the one that ran.
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

/// The name of a system that has no other beside it: its load, else the host.
fn alone<T: Labelled>(one: &T) -> String {
    [&one.cell().load.id, &one.machine().hostname, &one.machine().kernel]
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
    keys.filter_map(|key| Some(format!("{key}={}", written::said(cell.probe.options.get(key)?)))).collect()
}

/// Whether every probe has one value of this over all configurations.
fn shared<'a, S: Labelled, T: PartialEq>(all: &'a [S], value: impl Fn(&'a Cell) -> Option<T>) -> bool {
    let cells = || all.iter().map(S::cell);
    cells().all(|a| cells().all(|b| a.probe.name != b.probe.name || value(a) == value(b)))
}

/// The options on which configurations of the same probe differ.
fn differing<T: Labelled>(cell: &Cell, all: &[T]) -> Vec<String> {
    let others: Vec<&Cell> = all.iter().map(T::cell).collect();
    options(cell, &others, &|_| false)
}

/// The probe's name with the options on which configurations of the same probe differ.
fn probe<T: Labelled>(cell: &Cell, all: &[T]) -> String {
    std::iter::once(cell.probe.name.clone()).chain(differing(cell, all)).collect::<Vec<_>>().join(" ")
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

    /// Repeats of another boot are the same configuration.
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

    /// Whatever else begins with the probe's name.
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
    }
}
