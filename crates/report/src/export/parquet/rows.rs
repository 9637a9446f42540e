//! The rows of the two tables: one for each series, and one for each non-empty bucket of a series.

use super::table::{
    Column,
    Value::{MaybeReal, MaybeText, MaybeWhole, Text, Time, Whole},
};
use crate::export::{
    cells::{OneCell, OneSeries},
    format::Exported,
};
use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use latido_model::{
    clean,
    record::{Series, Slots},
    run::{SeriesData, codec},
};
use std::{collections::BTreeMap, sync::Arc};

/// The key that both tables share: the run, the cell and the series.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The run.
    pub run: Arc<str>,
    /// The number of the cell, from 1.
    pub cell: i64,
    /// The index of the series in the record, from 0.
    pub series: i64,
}

/// One series. Values are in its `unit`. Figures are those of the distribution that limits judge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesRow {
    /// The key.
    pub key: Key,
    /// The plan's name.
    pub plan: String,
    /// When the cell started, in microseconds since 1970, UTC.
    pub started: i64,
    /// The machine's host name.
    pub machine: Option<String>,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// The active preemption model.
    pub preemption: Option<String>,
    /// The level of the load.
    pub load: String,
    /// The level of the tunings.
    pub tuning: String,
    /// Policy and priority.
    pub scheduling: String,
    /// The probe.
    pub probe: String,
    /// The quantity.
    pub quantity: String,
    /// Further labels that distinguish the series from others, as a JSON object.
    pub labels: String,
    /// The CPU that the thread was pinned to.
    pub cpu: Option<i64>,
    /// The thread.
    pub thread: i64,
    /// The unit of values.
    pub unit: String,
    /// Samples, plus missed slots where the probe counts slots: the sum of the buckets. Absent where an imported file does not state the
    /// number.
    pub n: Option<i64>,
    /// The smallest value; for a series that another tool counted in bins, the upper end of its bin.
    pub min: Option<i64>,
    /// The largest value, likewise.
    pub max: Option<i64>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The standard deviation (n - 1).
    pub sd: Option<f64>,
    /// The quantiles of [`latido_model::record::QUANTILES`], in that order.
    pub quantiles: [Option<i64>; 6],
    /// Slots, where they are counted.
    pub slots: Option<Slots>,
    /// The largest width of the bins in which another tool counted.
    pub quantized_width: Option<i64>,
    /// The cell's state, as in the table of states.
    pub verdict: &'static str,
}

/// One bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketRow {
    /// The key of its series.
    pub key: Key,
    /// `sample`, or `missed` for delays of missed slots.
    pub kind: &'static str,
    /// The smallest value that the bucket covers.
    pub low: i64,
    /// The largest value that it covers; absent where it is not known.
    pub high: Option<i64>,
    /// The number of samples or delays.
    pub n: i64,
}

/// The columns of `series.parquet`.
pub const SERIES: &[Column<SeriesRow>] = &[
    Column { name: "run_id", value: Text(|row| &row.key.run) },
    Column { name: "cell", value: Whole(|row| row.key.cell) },
    Column { name: "series", value: Whole(|row| row.key.series) },
    Column { name: "plan", value: Text(|row| &row.plan) },
    Column { name: "started", value: Time(|row| row.started) },
    Column { name: "machine", value: MaybeText(|row| row.machine.as_deref()) },
    Column { name: "kernel", value: MaybeText(|row| row.kernel.as_deref()) },
    Column { name: "preemption", value: MaybeText(|row| row.preemption.as_deref()) },
    Column { name: "load", value: Text(|row| &row.load) },
    Column { name: "tuning", value: Text(|row| &row.tuning) },
    Column { name: "scheduling", value: Text(|row| &row.scheduling) },
    Column { name: "probe", value: Text(|row| &row.probe) },
    Column { name: "quantity", value: Text(|row| &row.quantity) },
    Column { name: "labels", value: Text(|row| &row.labels) },
    Column { name: "cpu", value: MaybeWhole(|row| row.cpu) },
    Column { name: "thread", value: Whole(|row| row.thread) },
    Column { name: "unit", value: Text(|row| &row.unit) },
    Column { name: "n", value: MaybeWhole(|row| row.n) },
    Column { name: "min_v", value: MaybeWhole(|row| row.min) },
    Column { name: "max_v", value: MaybeWhole(|row| row.max) },
    Column { name: "mean", value: MaybeReal(|row| row.mean) },
    Column { name: "sd", value: MaybeReal(|row| row.sd) },
    Column { name: "p50", value: MaybeWhole(|row| row.quantiles[0]) },
    Column { name: "p90", value: MaybeWhole(|row| row.quantiles[1]) },
    Column { name: "p99", value: MaybeWhole(|row| row.quantiles[2]) },
    Column { name: "p99_9", value: MaybeWhole(|row| row.quantiles[3]) },
    Column { name: "p99_99", value: MaybeWhole(|row| row.quantiles[4]) },
    Column { name: "p99_999", value: MaybeWhole(|row| row.quantiles[5]) },
    Column { name: "met", value: MaybeWhole(|row| row.slots.map(|slots| whole(slots.met))) },
    Column { name: "late", value: MaybeWhole(|row| row.slots.map(|slots| whole(slots.late))) },
    Column { name: "missed", value: MaybeWhole(|row| row.slots.map(|slots| whole(slots.missed))) },
    Column { name: "quantized_width", value: MaybeWhole(|row| row.quantized_width) },
    Column { name: "verdict", value: Text(|row| row.verdict) },
];

/// The columns of `buckets.parquet`.
pub const BUCKET: &[Column<BucketRow>] = &[
    Column { name: "run_id", value: Text(|row| &row.key.run) },
    Column { name: "cell", value: Whole(|row| row.key.cell) },
    Column { name: "series", value: Whole(|row| row.key.series) },
    Column { name: "kind", value: Text(|row| row.kind) },
    Column { name: "low", value: Whole(|row| row.low) },
    Column { name: "high", value: MaybeWhole(|row| row.high) },
    Column { name: "n", value: Whole(|row| row.n) },
];

/// The rows of runs, each table in the order of its key.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// One for each series.
    pub series: Vec<SeriesRow>,
    /// One for each bucket.
    pub buckets: Vec<BucketRow>,
    /// The cells without a row, and why.
    pub left_out: Vec<String>,
}

/// Returns the rows of all runs.
///
/// # Errors
/// A run's start time is not readable, or the data of a record is missing or broken.
pub fn of(exported: &Exported) -> Result<Rows> {
    let mut rows = Rows::default();
    for cell in exported.cells() {
        let all = cell.record().map(|record| record.series.as_slice()).unwrap_or_default();
        let measured = cell.series();
        if measured.is_empty() {
            let state = cell.state().words().word;
            rows.left_out.push(format!("{}: {state}: it has no samples, and no row", cell.listed()));
        }
        for one in measured {
            let place = all.iter().position(|series| std::ptr::eq(series, one.series)).unwrap_or_default();
            let run = Arc::from(&*clean::line(&cell.run.run.meta.id));
            let key = Key { run, cell: i64::try_from(cell.stored.number)?, series: i64::try_from(place)? };
            rows.buckets.extend(buckets(&key, &one, &exported.data(&one)?));
            rows.series.push(series(key, &cell, &one)?);
        }
    }
    rows.series.sort_by(|a, b| a.key.cmp(&b.key));
    // The sort is stable: the buckets of a series stay in the order of their values.
    rows.buckets.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(rows)
}

fn series(key: Key, cell: &OneCell, one: &OneSeries) -> Result<SeriesRow> {
    let (of, summary) = (&cell.stored.cell, &one.summary);
    let started: jiff::Timestamp =
        cell.started().parse().with_context(|| format!("{}: latido cannot read its start time", cell.name()))?;
    let machine = cell.record().map(|record| &record.machine);
    let text = |text: &str| clean::line(text).into_owned();
    let known = |value: &String| (!value.is_empty()).then(|| text(value));
    let labels: BTreeMap<String, String> =
        one.series.labels.iter().map(|(key, value)| (text(key), text(value))).collect();
    let mut quantiles = [None; 6];
    for (place, (key, _)) in quantiles.iter_mut().zip(latido_model::record::QUANTILES) {
        *place = summary.quantiles.get(*key).copied().flatten();
    }
    Ok(SeriesRow {
        key,
        plan: text(&cell.run.run.meta.plan),
        started: started.as_microsecond(),
        machine: machine.and_then(|machine| known(&machine.hostname)),
        kernel: machine.and_then(|machine| known(&machine.kernel)),
        preemption: machine.and_then(|machine| machine.preemption.as_ref()).map(|found| found.model.to_string()),
        load: text(&of.load.id),
        tuning: text(&of.tuning.id),
        scheduling: of.scheduling.to_string(),
        probe: text(&of.probe.name),
        quantity: text(&one.series.quantity),
        labels: serde_json::to_string(&labels)?,
        cpu: one.series.cpu.map(i64::from),
        thread: i64::from(one.series.thread),
        unit: text(&one.series.unit),
        n: summary.bounds.as_ref().is_none_or(|bounds| !bounds.uncounted).then(|| whole(summary.count)),
        min: summary.min,
        max: summary.max,
        mean: summary.mean,
        sd: summary.sd,
        quantiles,
        slots: one.series.slots,
        quantized_width: one.series.quantized.as_ref().and_then(|bins| bins.width).map(whole),
        verdict: cell.state().words().word,
    })
}

/// Returns the buckets of a series in the order of their values, samples first. Their sum is exactly the series' count. For a series that
/// another tool counted, the buckets are that tool's bins.
fn buckets(key: &Key, one: &OneSeries, data: &SeriesData) -> Vec<BucketRow> {
    let row = |kind, low, high, n| BucketRow { key: key.clone(), kind, low, high, n };
    if one.series.bounds.is_some() {
        return data.bins.iter().map(|bin| row("sample", bin.low, bin.high, whole(bin.count))).collect();
    }
    let of = |kind, histogram: &Histogram<u64>| {
        let recorded = histogram.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value()));
        let ends = |value| (whole(histogram.lowest_equivalent(value)), whole(histogram.highest_equivalent(value)));
        let one = |(value, n)| (ends(value), whole(n));
        recorded.map(one).map(|((low, high), n)| row(kind, low, Some(high), n)).collect::<Vec<_>>()
    };
    // Values that no histogram can store: samples below zero, and samples and delays above its range.
    let beyond = |kind, n: u64, max: Option<i64>| (n > 0).then(|| row(kind, codec::HIGHEST + 1, max, whole(n)));
    let Series { negative, overflow, min, .. } = *one.series;
    let below = min.filter(|_| negative > 0).map(|min| row("sample", min, Some(-1), whole(negative)));
    let mut all: Vec<BucketRow> = below.into_iter().chain(of("sample", &data.histogram)).collect();
    all.extend(beyond("sample", overflow, one.series.max));
    let slots = one.summary.count.saturating_sub(one.series.count);
    let held = data.missed.as_ref().map_or(0, Histogram::len);
    all.extend(data.missed.iter().flat_map(|missed| of("missed", missed)));
    all.extend(beyond("missed", slots.saturating_sub(held), one.summary.max));
    all
}

/// Converts a count to the format's type; no count reaches 2^63.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
