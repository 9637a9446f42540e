//! Names of cells for tools that compare CI runs over time. A name depends only on what is measured, so that neither the random order of a
//! run nor a plan that grew changes it.

use super::text;
use latido_judge::title;
use latido_model::{
    cell::{Axis, Cell, IMPORTED, Item, LOCAL, RUNNING, Scheduling},
    plan::scheduling::DEFAULT,
    run::{Run, StoredCell},
    written,
};
use std::collections::BTreeMap;

/// The longest name, in characters. A longer one is cut and gets a mark of the part that was cut: readers keep names in columns of 255
/// bytes, and a test appends what it checks.
const LONGEST: usize = 120;

/// A cell's name for people, and the same as one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// `wakeup period=250us, stress-cpu, other`.
    pub title: String,
    /// `wakeup-period-250us-stress-cpu-other`.
    pub step: String,
}

/// Returns the names of a run's cells, in the order of its cells; all are different.
pub fn names(run: &Run) -> Vec<Name> {
    let titles = distinct(run, run.cells.iter().map(|stored| title_of(run, stored)).collect());
    let mut steps: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, title) in titles.iter().enumerate() {
        steps.entry(text::id(title, "")).or_default().push(at);
    }
    let alone = |step: &str| steps.get(step).is_none_or(|all| all.len() < 2);
    let name = |title: String| {
        let step = text::id(&title, "");
        let step = if alone(&step) { step } else { format!("{step}-{}", mark(&title)) };
        Name { title, step }
    };
    titles.into_iter().map(name).collect()
}

/// Returns what a cell measures: the probe with the options that a plan chose, the load, and each axis whose level is not the default one.
fn title_of(run: &Run, stored: &StoredCell) -> String {
    let cell = &stored.cell;
    let chosen = options(run, stored).into_iter().map(|(key, value)| format!(" {key}={value}"));
    let name = chosen.fold(cell.probe.name.clone(), |name, option| name + &option);
    let once = Cell { repeat: 1, probe: Item { name, ..cell.probe.clone() }, ..cell.clone() };
    let mut parts = vec![title::title(&once)];
    parts.extend(Axis::ALL.into_iter().rev().filter_map(|axis| unusual(cell, axis)));
    // For an import, the CPUs come from its file and were not chosen by a plan.
    let cpus = cell.conditions.cpus.as_ref().filter(|_| cell.target != IMPORTED);
    parts.extend(cpus.map(|cpus| format!("cpus {cpus}")));
    parts.extend((cell.repeat > 1).then(|| format!("repeat {}", cell.repeat)));
    let whole = parts.join(", ");
    match whole.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… {}", whole.get(..end).unwrap_or_default(), mark(&whole)),
        None => whole,
    }
}

/// Returns the options that the plan chose, as far as the run stores them; else those in which cells of the probe differ.
fn options(run: &Run, stored: &StoredCell) -> Vec<(String, String)> {
    let cell = &stored.cell;
    let said = |key: &String| Some((key.clone(), written::said(cell.probe.options.get(key)?)));
    let Some(chosen) = &stored.measurand.chosen else {
        let beside = run.cells.iter().map(|other| &other.cell.probe).filter(|other| other.name == cell.probe.name);
        let differs =
            |key: &&String| beside.clone().any(|other| other.options.get(*key) != cell.probe.options.get(*key));
        return cell.probe.options.keys().filter(differs).filter_map(said).collect();
    };
    // The program already has a name, and its process ID differs in each run.
    let words = cell.probe.options.get("argv").and_then(toml::Value::as_array);
    let alone = words.is_none_or(|words| words.len() < 2);
    let kept = |key: &&String| key.as_str() != "pid" && !(key.as_str() == "argv" && alone);
    chosen.keys().filter(kept).filter_map(said).collect()
}

/// Returns the level of an axis, unless it is the one of a plan that does not name the axis.
fn unusual(cell: &Cell, axis: Axis) -> Option<String> {
    let usual = match axis {
        Axis::Probe | Axis::Load => true,
        Axis::Target => [LOCAL, IMPORTED].contains(&cell.target.as_str()),
        Axis::Kernel => cell.kernel == RUNNING,
        Axis::Boot => cell.boot == 1,
        // For an import, the settings of the machine are unknown; elsewhere a level that changes nothing is the default one.
        Axis::Tuning if cell.target == IMPORTED => cell.tuning.id == "unknown",
        Axis::Tuning => cell.tuning.items.is_empty(),
        Axis::Scheduling => [DEFAULT, Scheduling::Unknown, Scheduling::Own].contains(&cell.scheduling),
    };
    let word = if axis == Axis::Boot { "boot " } else { "" };
    (!usual).then(|| format!("{word}{}", cell.level(axis)))
}

/// Makes equal names different: the first cell of the plan keeps the name, and the others get numbers in the plan's order.
fn distinct(run: &Run, titles: Vec<String>) -> Vec<String> {
    let mut alike: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, title) in titles.iter().enumerate() {
        alike.entry(title).or_default().push(at);
    }
    let mut named = titles.clone();
    for mut places in alike.into_values().filter(|places| places.len() > 1) {
        places.sort_by_key(|at| (run.cells.get(*at).map(|stored| stored.written), *at));
        for (number, at) in (2..).zip(places.into_iter().skip(1)) {
            if let Some(name) = named.get_mut(at) {
                name.push_str(&format!(" ({number})"));
            }
        }
    }
    named
}

/// Returns a short mark of a text: FNV-1a of 32 bits.
fn mark(text: &str) -> String {
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}
