//! The latencies of a trace as CSV: one row each, in ns.

use super::{
    Analysis, Kind, Row,
    histograms::Histogram,
    readings::{Gap, OfTracer},
};
use crate::words::uncomputed as word;
use anyhow::{Context, Result};

/// The names of the columns, in the order of [`Line::cells`].
const HEAD: [&str; 19] = [
    "buffer",
    "kind",
    "name",
    "count",
    "min_ns",
    "p50_ns",
    "mean_ns",
    "sd_ns",
    "p99_ns",
    "p99.9_ns",
    "max_ns",
    "sum_ns",
    "blocked_ns",
    "max_at_ns",
    "max_of",
    "max_cpu",
    "waited_ns",
    "interrupted",
    "facts",
];

/// A row as text. What its source does not report is empty.
#[derive(Default)]
struct Line {
    buffer: String,
    kind: &'static str,
    name: String,
    count: String,
    min: String,
    p50: String,
    mean: String,
    sd: String,
    p99: String,
    p999: String,
    max: String,
    sum: String,
    blocked: String,
    max_at: String,
    max_of: String,
    max_cpu: String,
    waited: String,
    interrupted: String,
    facts: String,
}

impl Line {
    /// Returns the row of a latency that latido paired.
    fn of_pairs(buffer: &str, row: &Row) -> Self {
        Self {
            buffer: word(buffer),
            kind: kind(row.kind),
            name: word(&row.name),
            count: row.count.to_string(),
            min: row.min_ns.to_string(),
            p50: row.p50_ns.to_string(),
            mean: row.mean_ns.to_string(),
            sd: some(row.sd_ns),
            p99: some(row.p99_ns),
            p999: some(row.p999_ns),
            max: row.max_ns.to_string(),
            sum: row.sum_ns.to_string(),
            blocked: some(row.blocked_ns),
            max_at: some(row.max_at_ns),
            max_of: word(row.max_of.as_deref().unwrap_or_default()),
            max_cpu: some(row.max_cpu),
            waited: some(row.waited_ns),
            interrupted: some(row.interrupted),
            facts: String::new(),
        }
    }

    /// Returns the row of a latency that a tracer reports.
    fn of_tracer(buffer: &str, row: &OfTracer) -> Self {
        Self {
            buffer: word(buffer),
            kind: row.kind,
            name: word(&row.name),
            count: row.count.to_string(),
            min: row.min_ns.to_string(),
            mean: row.mean_ns.to_string(),
            max: row.max_ns.to_string(),
            sum: row.sum_ns.to_string(),
            max_of: word(&row.of),
            facts: facts(row.facts.iter().map(|(name, value)| (*name, *value))),
            ..Self::default()
        }
    }

    /// Returns the row of one gap of hwlat.
    fn of_gap(buffer: &str, gap: &Gap) -> Self {
        let ns = gap.inner_us.max(gap.outer_us).saturating_mul(1_000).to_string();
        let of = [("at_ns", Some(gap.at_ns)), ("inner_us", Some(gap.inner_us)), ("outer_us", Some(gap.outer_us))];
        let more = [("above", gap.above), ("nmi_us", gap.nmi_us), ("nmi_count", gap.nmi_count)];
        Self {
            buffer: word(buffer),
            kind: "hwlat-gap",
            name: format!("#{}", gap.sample),
            count: "1".to_owned(),
            min: ns.clone(),
            mean: ns.clone(),
            max: ns.clone(),
            sum: ns,
            max_at: some(gap.written_ns),
            max_cpu: gap.cpu.to_string(),
            facts: facts(of.into_iter().chain(more).filter_map(|(name, value)| Some((name, value?)))),
            ..Self::default()
        }
    }

    /// Returns the rows of a histogram, each with what actions saved for it.
    fn of_histogram(buffer: &str, histogram: &Histogram) -> impl Iterator<Item = Self> {
        histogram.rows.iter().enumerate().map(move |(at, (key, values))| {
            let hits = values.iter().find(|(name, _)| name == "hitcount").map(|(_, count)| *count);
            let values = values.iter().map(|(name, value)| (name.as_str(), *value));
            let saved = histogram.saved(at).map(|one| (one.name.as_str(), one.value));
            let with: Vec<&str> = histogram.saved(at).map(|one| one.with.as_str()).collect();
            Self {
                buffer: word(buffer),
                kind: "histogram",
                name: word(key),
                count: some(hits),
                max_of: word(&with.join("; ")),
                facts: word(&facts(values.chain(saved))),
                ..Self::default()
            }
        })
    }

    /// Returns the cells in the order of the columns.
    fn cells(self) -> [String; 19] {
        [
            self.buffer,
            self.kind.to_owned(),
            self.name,
            self.count,
            self.min,
            self.p50,
            self.mean,
            self.sd,
            self.p99,
            self.p999,
            self.max,
            self.sum,
            self.blocked,
            self.max_at,
            self.max_of,
            self.max_cpu,
            self.waited,
            self.interrupted,
            self.facts,
        ]
    }
}

/// Returns one row for each latency of each buffer.
///
/// # Errors
/// None in practice: the output is in memory.
pub fn rows(analyses: &[Analysis]) -> Result<String> {
    let paired = analyses.iter().flat_map(|one| one.rows.iter().map(move |row| Line::of_pairs(&one.buffer, row)));
    let told = || analyses.iter().filter_map(|one| Some((one.buffer.as_str(), one.told.as_ref()?)));
    let tracers = told().flat_map(|(buffer, one)| one.rows.iter().map(move |row| Line::of_tracer(buffer, row)));
    let details = told().flat_map(|(buffer, one)| {
        let gaps = one.gaps.iter().map(move |gap| Line::of_gap(buffer, gap));
        gaps.chain(one.histograms.iter().flat_map(move |histogram| Line::of_histogram(buffer, histogram)))
    });
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(HEAD)?;
    for line in paired.chain(tracers).chain(details) {
        writer.write_record(line.cells())?;
    }
    String::from_utf8(writer.into_inner().context("writing CSV")?).context("writing CSV")
}

/// Returns a figure as text; nothing if there is none.
fn some<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Returns `name=value name=value`.
fn facts<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> String {
    all.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Scheduling => "scheduling",
        Kind::Preempted => "preempted",
        Kind::SystemCall => "system-call",
        Kind::Interrupt => "interrupt",
        Kind::SoftInterrupt => "soft-interrupt",
        Kind::SoftDelay => "soft-delay",
        Kind::Off => "off",
    }
}
