//! Repeats of stored runs, as comparisons, histories and effects use them: how each was measured, and one figure of each of its quantities.
//! latido reads a run, extracts these, and frees the run before it reads the next one.

pub mod alike;
pub mod coarser;
pub mod differences;
mod figure;
pub mod grouping;
pub mod metric;
mod tail;
pub mod taken;
pub mod unlike;

pub use figure::{Figure, Measure};
pub use metric::Metric;
pub use tail::Tail;
pub use unlike::Unlike;

use crate::{
    copies, judging,
    repeat::{Pooled, Repeat, RepeatQuantity},
};
use anyhow::Result;
use latido_model::{
    cell::{Axis, Cell, FILE, IMPORT, Level, RUNNING},
    machine::Machine,
    plan::Statistic,
    quantity::Measurand,
    record::{LoadRecord, Record, Series},
    run::{Run, SeriesData, SeriesSource, StoredCell, codec},
    summary::Counted,
    verdict::Verdict,
    written,
};
use std::{collections::BTreeMap, rc::Rc};

/// A measured repeat.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The run's id.
    pub run: String,
    /// When the run started, RFC 3339.
    pub started: String,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// The cell as it was measured.
    pub cell: Cell,
    /// The kernel that it was measured on, as `uname -r` prints it.
    pub kernel: String,
    /// Names and values of everything known about the machine and latido; repeats that agree in them share one list.
    pub facts: Rc<Vec<(String, String)>>,
    /// What its probe measures.
    pub measurand: Measurand,
    /// The clock that the probe read, and the kernel's source of it.
    pub clock: String,
    /// What its loads did per second, by load and count.
    pub rates: BTreeMap<String, f64>,
    /// The length of the measurement, ns.
    pub elapsed_ns: u64,
    /// Its quantities, with all threads pooled.
    pub quantities: Vec<Quantity>,
    /// Why latido can conclude nothing from it; absent if it can.
    pub doubt: Option<String>,
    /// Whether another tool measured it.
    pub imported: bool,
}

/// A quantity of a repeat.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// `latency`, `gap`.
    pub name: String,
    /// What distinguishes it from others of the name.
    pub labels: BTreeMap<String, String>,
    /// The stored unit.
    pub unit: String,
    /// Whether limits apply to it.
    pub judged: bool,
    /// The number of samples.
    pub count: u64,
    /// The requested figure, or why there is none.
    pub figure: Result<Figure, String>,
    /// Its samples as values with their counts, ascending; empty where they were not requested.
    pub samples: Vec<(i64, u64)>,
    /// Its largest samples, if the figure depends on single samples and the samples were requested.
    pub tail: Option<Tail>,
    /// The width of the bins in which another tool counted; absent for exact values.
    pub width: Option<u64>,
}

/// What the caller needs from each repeat.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The figure.
    pub statistic: Statistic,
    /// Whether the samples are needed too, and which of the largest come from outside: comparisons of two sides need both.
    pub samples: bool,
}

/// Returns the measured repeats of a run, in the order in which the plan names them. `source` need only give histograms, plus the largest
/// samples if samples are wanted. `problems` receives what cannot be read.
///
/// # Errors
/// None in practice.
pub fn of_run(
    run: &Run,
    wanted: Wanted,
    source: &dyn SeriesSource,
    problems: &mut Vec<String>,
) -> Result<Vec<Observed>> {
    let mut cells: Vec<&StoredCell> = run.cells.iter().collect();
    cells.sort_by_key(|cell| cell.written);
    let mut known: Vec<Rc<Vec<(String, String)>>> = Vec::new();
    let mut all = Vec::new();
    let mut members: Vec<&Record> = Vec::new();
    for cell in cells {
        let Some(record) = cell.record() else { continue };
        let first = members.iter().find(|first| copies::are(first, record));
        let copied = first.map(|first| format!("identical to repeat {}: such members count once", first.cell.repeat));
        members.extend(record.machine.emulated.is_some().then_some(record));
        let repeat = Repeat::of(&run.meta.id, cell, record, source, problems);
        let facts = facts(record);
        let facts = known.iter().find(|other| ***other == facts).cloned().unwrap_or_else(|| {
            let new = Rc::new(facts);
            known.push(Rc::clone(&new));
            new
        });
        let shared = wanted.samples.then(|| Rc::new(record.clone()));
        let quantity = |one: &RepeatQuantity| {
            let tail = shared.as_ref().and_then(|record| Tail::of(one, wanted.statistic, record));
            Quantity { tail, ..Quantity::of(&one.pooled, &cell.measurand, wanted) }
        };
        all.push(Observed {
            run: run.meta.id.clone(),
            started: run.meta.started.clone(),
            repeat: record.cell.repeat,
            kernel: record.machine.kernel.clone(),
            facts,
            measurand: cell.measurand.clone(),
            clock: clock(record),
            rates: record.load.iter().flat_map(rates).collect(),
            elapsed_ns: record.elapsed_ns,
            quantities: repeat.quantities.iter().map(quantity).collect(),
            doubt: doubt(cell).or(copied),
            imported: record.source.is_some(),
            cell: record.cell.clone(),
        });
    }
    Ok(all)
}

/// Returns empty data instead of a series: whether a record is sound does not depend on its samples.
fn nothing(_: &StoredCell, _: &Series) -> Result<SeriesData> {
    let histogram = codec::histogram()?;
    Ok(SeriesData {
        histogram,
        missed: None,
        blocks: Vec::new(),
        largest: Vec::new(),
        samples: Vec::new(),
        bins: Vec::new(),
    })
}

/// Returns why latido can conclude nothing from a cell: it contradicts itself, or is not what the user requested.
fn doubt(cell: &StoredCell) -> Option<String> {
    let judged = judging::of_cell(cell, &nothing);
    let doubtful = judged.verdict == Verdict::Infra || judged.is_invalid();
    doubtful.then(|| judged.reasons.first().map_or_else(|| "in doubt".into(), |reason| reason.sentence()))
}

fn clock(record: &Record) -> String {
    if record.source.is_some() {
        return "not known".into();
    }
    let clock = &record.quality.clock;
    let source = clock.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
    // Instructions are no time: they cannot be compared with a real clock.
    let emulated = record.machine.emulated.as_ref().map(|about| format!(", {}", about.time())).unwrap_or_default();
    format!("{}{source}{emulated}", clock.name)
}

fn rates(load: &LoadRecord) -> impl Iterator<Item = (String, f64)> + '_ {
    load.rates.iter().map(|(count, rate)| (format!("{} {count}", load.item.name), rate.mean))
}

fn facts(record: &Record) -> Vec<(String, String)> {
    let machine: &Machine = &record.machine;
    // A field that an imported file does not give is no difference.
    let known = |(_, value): &(&str, String)| record.source.is_none() || !value.starts_with("unknown");
    let rows = machine.rows().into_iter().filter(known).map(|(name, value)| (name.to_owned(), value));
    rows.chain([("latido".to_owned(), record.latido.clone())]).collect()
}

impl Quantity {
    fn of(pooled: &Pooled, measurand: &Measurand, wanted: Wanted) -> Self {
        let declared = measurand.quantity(&pooled.quantity);
        let continuous = declared.is_some_and(|quantity| quantity.continuous);
        Self {
            name: pooled.quantity.clone(),
            labels: pooled.labels.clone(),
            unit: pooled.unit.clone(),
            judged: measurand.judges(&pooled.quantity),
            count: pooled.summary.count,
            figure: figure::of(pooled, wanted.statistic, continuous),
            samples: if wanted.samples { samples(pooled) } else { Vec::new() },
            tail: None,
            width: pooled.bins.as_ref().and_then(|bins| bins.width),
        }
    }

    /// Returns what distinguishes it from the other quantities of a probe.
    pub fn key(&self) -> (&str, &BTreeMap<String, String>, &str) {
        (&self.name, &self.labels, &self.unit)
    }
}

/// Returns the samples of a distribution. Samples outside its histogram count as the smallest or the largest value.
fn samples(pooled: &Pooled) -> Vec<(i64, u64)> {
    let (summary, histogram) = (&pooled.summary, &pooled.histogram);
    // An import without a distribution has no known samples.
    if summary.bounds.is_some() && pooled.bins.as_ref().is_none_or(|bins| !bins.whole) {
        return Vec::new();
    }
    let held = histogram.steps().map(|(end, count)| {
        let value = i64::try_from(end).unwrap_or(i64::MAX);
        // A bucket may reach further than its largest sample.
        (value.min(summary.max.unwrap_or(value)), count)
    });
    let beyond = figure::beyond(pooled);
    let below = summary.min.map(|min| (min, pooled.negative));
    let above = summary.max.map(|max| (max, beyond));
    below.into_iter().chain(held).chain(above).filter(|(_, count)| *count > 0).collect()
}

/// Returns the names and values of everything in which cells of a probe may differ, except the repeat. The running kernel is named by its
/// release, because another run may have another one.
pub fn columns(cell: &Cell, kernel: &str) -> Vec<(String, String)> {
    let axes = Axis::ALL.into_iter().filter(|axis| !matches!(axis, Axis::Boot | Axis::Probe));
    let level = |axis| match axis {
        Axis::Kernel if cell.kernel == RUNNING && !kernel.is_empty() => kernel.to_owned(),
        axis => cell.shown(axis),
    };
    let axes = axes.map(|axis| (axis.name().to_owned(), level(axis)));
    // The files of an import are its repeats.
    let told = |(key, _): &(&String, _)| cell.plan != IMPORT || key.as_str() != FILE;
    let options = cell.probe.options.iter().filter(told).map(|(key, value)| (key.clone(), written::said(value)));
    let cpus = cell.conditions.cpus.as_ref().map(ToString::to_string).unwrap_or_default();
    let limit = cell.conditions.limit.map(|limit| limit.to_string()).unwrap_or_default();
    axes.chain(options).chain([("cpus".to_owned(), cpus), ("limit".to_owned(), limit)]).collect()
}

impl Observed {
    /// Returns the names and values of everything in which repeats may differ, except the name of the probe.
    pub fn columns(&self) -> Vec<(String, String)> {
        columns(&self.cell, &self.kernel)
    }

    /// Returns the value of one column; empty if the column does not exist.
    pub fn column(&self, name: &str) -> String {
        self.columns().into_iter().find(|(known, _)| known == name).map(|(_, value)| value).unwrap_or_default()
    }
}

/// Returns what a level consists of, whatever its name: `stress-ng:cpu=4 + spin`.
pub fn items(level: &Level) -> String {
    let items: Vec<String> = level.items.iter().map(written::short).collect();
    if items.is_empty() { "nothing".into() } else { items.join(" + ") }
}
