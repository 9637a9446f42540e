//! Turns an import into a record: the other tool's results in latido's terms, and nothing that the tool did not report.

use anyhow::{Context, Result, ensure};
use latido_import::{Bin, Ending, Imported, Interval, Series, Severity};
use latido_model::{
    cell::{self, Cell, Conditions, Item, Level, RUNNING, Scheduling},
    machine::Machine,
    quantity::{Measurand, Quantity},
    record::{
        self, Anchors, Between, Bounds, Edge, Evidence, Outcome, Point, Quantized, Record, SeriesFiles, Source,
        Summary, Told, quantized,
    },
    run::{bounds, codec},
    units::Ns,
};
use std::collections::{BTreeMap, BTreeSet};

/// The load and the settings of a record where they are not known.
const UNKNOWN_LOAD: &str = "unknown load";
const UNKNOWN_TUNING: &str = "unknown";

/// What latido knows besides the file's content.
pub(super) struct About {
    /// The file, its format, and what the user stated.
    pub source: Source,
    /// The limit.
    pub limit: Option<Ns>,
    /// The file's name, where it distinguishes cells.
    pub file: Option<String>,
}

/// Files by their names.
type Files = Vec<(String, Vec<u8>)>;

/// A record with the files to store next to it.
pub(super) struct Made {
    /// The record.
    pub record: Record,
    /// The files next to it, by their names.
    pub files: Files,
    /// What the record measures.
    pub measurand: Measurand,
}

/// Makes a record of an import.
///
/// # Errors
/// The import is larger than any record, or contains a series twice.
pub(super) fn of(imported: Imported, about: About) -> Result<Made> {
    let measurand = measurand(&imported);
    let cell = cell(&imported, &about);
    let machine = machine(&imported.machine);
    let mut files = Vec::new();
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for (number, series) in imported.series.iter().enumerate() {
        let key = (series.quantity.clone(), series.labels.clone(), series.thread);
        ensure!(known.insert(key), "{} of thread {} appears twice", series.quantity, series.thread);
        let (made, beside) = one(number, series)?;
        all.push(made);
        files.extend(beside);
    }
    let outcome = outcome(&imported.ending, &imported.series);
    let told = imported.findings.iter().map(|finding| Told {
        name: finding.name.clone(),
        contaminated: finding.severity == Severity::Contaminated,
        text: finding.text.clone(),
    });
    let ended = match &imported.ending {
        Ending::Interrupted(why) => Some(why.clone()),
        Ending::Complete | Ending::Stopped { .. } => None,
    };
    let [begun, done] = imported.times;
    let source = Source {
        command: imported.command,
        times: (begun, done),
        findings: told.collect(),
        notes: ended.into_iter().chain(imported.notes).collect(),
        ..about.source
    };
    let record = Record {
        schema: record::SCHEMA,
        latido: env!("CARGO_PKG_VERSION").into(),
        probe: cell.probe.name.clone(),
        cell,
        outcome,
        elapsed_ns: imported.elapsed_ns.unwrap_or(0),
        warmup_ns: 0,
        anchors: Anchors::default(),
        machine,
        quality: Evidence::default(),
        load: Vec::new(),
        tunings: Vec::new(),
        series: all,
        skipped: Vec::new(),
        attachments: Vec::new(),
        source: Some(source),
    };
    bounds::record(&record)?;
    Ok(Made { record, files, measurand })
}

/// Returns the names of a file's quantities.
fn measurand(imported: &Imported) -> Measurand {
    let mut quantities: Vec<Quantity> = Vec::new();
    for series in &imported.series {
        if quantities.iter().any(|known| known.name == series.quantity) {
            continue;
        }
        quantities.push(Quantity {
            name: series.quantity.clone().into(),
            unit: series.unit.into(),
            title: if series.heading.is_empty() { series.quantity.clone() } else { series.heading.clone() }.into(),
            continuous: series.quantity == "gap",
            ..Quantity::time("", "")
        });
    }
    Measurand { title: imported.title.clone().into(), quantities, ..Measurand::default() }
}

/// Returns the cell, as far as the file and the user state its conditions. Labels that name axes become its levels there.
fn cell(imported: &Imported, about: &About) -> Cell {
    let labels = &about.source.labels;
    let said = |axis: &str, otherwise: &str| labels.get(axis).cloned().unwrap_or_else(|| otherwise.to_owned());
    let level = |axis: &str, otherwise: &str| Level { id: said(axis, otherwise), items: Vec::new() };
    let axes = ["target", "kernel", "load", "tuning"];
    let own = labels.iter().filter(|(key, _)| !axes.contains(&key.as_str()));
    let mut options: toml::Table = own.map(|(key, value)| (key.clone(), value.clone().into())).collect();
    if let Some(file) = &about.file {
        options.insert(cell::FILE.into(), file.clone().into());
    }
    let cpus: Option<BTreeSet<u32>> = imported.series.iter().map(|series| series.cpu).collect();
    Cell {
        schema: cell::SCHEMA,
        plan: cell::IMPORT.into(),
        target: said("target", cell::IMPORTED),
        kernel: said("kernel", RUNNING),
        boot: 1,
        tuning: level("tuning", UNKNOWN_TUNING),
        load: level("load", UNKNOWN_LOAD),
        scheduling: imported.policy.as_deref().map_or(Scheduling::Unknown, scheduling),
        probe: Item { name: imported.title.clone(), options },
        conditions: Conditions {
            cpus: cpus.map(|cpus| cpus.into_iter().collect()),
            duration: Ns(imported.elapsed_ns.unwrap_or(0)),
            limit: about.limit,
            ..Conditions::default()
        },
        repeat: 1,
        seed: 0,
    }
}

/// Returns a policy in latido's terms, or "unknown".
fn scheduling(text: &str) -> Scheduling {
    let (policy, prio) = text.split_once(' ').unwrap_or((text, ""));
    let prio = prio.parse().ok().filter(|prio| (1..=99).contains(prio));
    match (policy, prio) {
        ("fifo", Some(prio)) => Scheduling::Fifo { prio },
        ("rr", Some(prio)) => Scheduling::Rr { prio },
        ("other", None) => Scheduling::OTHER,
        ("batch", None) => Scheduling::Batch { nice: 0 },
        ("idle", None) => Scheduling::Idle,
        _ => Scheduling::Unknown,
    }
}

/// Returns the machine, as far as the file describes it.
fn machine(facts: &BTreeMap<String, String>) -> Machine {
    let of = |names: [&str; 2]| names.into_iter().find_map(|name| facts.get(name)).cloned();
    Machine {
        hostname: of(["nodename", "hostname"]).unwrap_or_default(),
        kernel: of(["release", "kernel"]).unwrap_or_default(),
        kernel_version: of(["version", "kernel_version"]),
        architecture: of(["machine", "architecture"]),
        distribution: of(["distribution", "os"]),
        ..Machine::default()
    }
}

fn outcome(ending: &Ending, series: &[Series]) -> Outcome {
    match ending {
        Ending::Complete => Outcome::Complete,
        Ending::Interrupted(_) => Outcome::Interrupted,
        Ending::Stopped { value, thread } => {
            let of = series.iter().find(|series| Some(series.thread) == *thread);
            Outcome::Stopped {
                value_ns: value.high.unwrap_or(value.low),
                cpu: of.and_then(|series| series.cpu),
                at_ns: None,
            }
        }
    }
}

fn between(interval: Interval) -> Between {
    Between(interval.low, interval.high)
}

/// Returns how many samples the known extremes need at least.
fn extremes(series: &Series) -> u64 {
    match (series.min, series.max) {
        (Some(min), Some(max)) if min.high.is_some_and(|high| high < max.low) => 2,
        (None, None) => 0,
        _ => 1,
    }
}

/// Makes a series of the record, and its files.
fn one(number: usize, series: &Series) -> Result<(record::Series, Files)> {
    let bins: Vec<quantized::Bin> =
        series.bins.iter().map(|&Bin { low, high, count }| quantized::Bin { low, high, count }).collect();
    let Summary { count, min, max, mean, quantiles, bounds, .. } = summary(series, &bins)?;
    let (named, files) = files(number, series, &bins)?;
    let made = record::Series {
        quantity: series.quantity.clone(),
        labels: series.labels.clone(),
        cpu: series.cpu,
        thread: series.thread,
        unit: series.unit.into(),
        count,
        min,
        max,
        mean,
        sd: None,
        quantiles,
        bands: Vec::new(),
        overflow: 0,
        negative: 0,
        slots: None,
        corrected: None,
        facts: series.facts.clone(),
        quantized: counting(series),
        bounds,
        files: named,
    };
    Ok((made, files))
}

/// Returns the figures of a series, as far as its file gives them.
fn summary(series: &Series, bins: &[quantized::Bin]) -> Result<Summary> {
    let counted = quantized::counted(bins);
    ensure!(counted <= codec::MAX_SAMPLES, "thread {}: more samples than any machine takes", series.thread);
    let count = series.count.unwrap_or_else(|| counted.max(extremes(series)));
    let known = Bounds {
        min: series.min.map(between),
        max: series.max.map(between),
        mean: series.mean.map(|[low, high]| (low, high)),
        quantiles: BTreeMap::new(),
        uncounted: series.count.is_none(),
    };
    // An order statistic of a part of the samples is not one of all samples.
    let whole = !series.cut && series.above.is_none() && counted == count;
    Ok(Summary::bounded(count, known.with_quantiles(if whole { bins } else { &[] })))
}

/// Makes the files of a series: its bins, and its samples in their order.
fn files(number: usize, series: &Series, bins: &[quantized::Bin]) -> Result<(SeriesFiles, Files)> {
    let mut named = SeriesFiles::default();
    let mut files = Files::new();
    if !bins.is_empty() {
        let name = format!("buckets-{number}.csv");
        files.push((name.clone(), codec::encode_bins(bins)));
        named.buckets = Some(name);
    }
    let points: Option<Vec<Point>> = series
        .samples
        .iter()
        .take(record::ORDERED_MAX)
        .map(|sample| Some(Point { value: sample.value, at_ns: sample.at_ns? }))
        .collect();
    if let Some(points) = points.filter(|points| !points.is_empty()) {
        let name = format!("samples-{number}.csv.gz");
        files.push((name.clone(), codec::encode_samples(&points).context("samples in their order")?));
        named.samples = Some(name);
    }
    Ok((named, files))
}

/// Returns how the tool counted the samples of a series; `None` where it printed each exactly.
fn counting(series: &Series) -> Option<Quantized> {
    let edge = match series.edge {
        latido_import::Edge::Lower => Edge::Lower,
        latido_import::Edge::Upper => Edge::Upper,
        latido_import::Edge::Middle => Edge::Middle,
    };
    let is_quantized = series.width.is_some() || series.above.is_some() || series.cut;
    is_quantized.then_some(Quantized { width: series.width, edge, above: series.above, cut: series.cut })
}
