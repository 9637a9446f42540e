//! The latencies of a trace as CSV: one row each, in ns.

use super::{Analysis, Kind};
use crate::words::uncomputed as word;
use anyhow::{Context, Result};

/// One row for each latency of each buffer.
///
/// # Errors
/// There are none: it is written to memory.
pub fn rows(analyses: &[Analysis]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
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
    ])?;
    let some = |value: Option<u64>| value.map(|ns| ns.to_string()).unwrap_or_default();
    for (analysis, row) in analyses.iter().flat_map(|one| one.rows.iter().map(move |row| (one, row))) {
        writer.write_record([
            word(&analysis.buffer),
            kind(row.kind).to_owned(),
            word(&row.name),
            row.count.to_string(),
            row.min_ns.to_string(),
            row.p50_ns.to_string(),
            row.mean_ns.to_string(),
            row.sd_ns.map(|sd| sd.to_string()).unwrap_or_default(),
            some(row.p99_ns),
            some(row.p999_ns),
            row.max_ns.to_string(),
            row.sum_ns.to_string(),
            some(row.blocked_ns),
            some(row.max_at_ns),
            word(row.max_of.as_deref().unwrap_or_default()),
        ])?;
    }
    for (analysis, row) in analyses
        .iter()
        .flat_map(|one| one.told.iter().flat_map(move |told| told.rows.iter().map(move |row| (one, row))))
    {
        let (min, mean) = (row.min_ns.to_string(), row.mean_ns.to_string());
        let (max, sum) = (row.max_ns.to_string(), row.sum_ns.to_string());
        let (buffer, name, of) = (word(&analysis.buffer), word(&row.name), word(&row.of));
        let count = row.count.to_string();
        writer
            .write_record([&buffer, row.kind, &name, &count, &min, "", &mean, "", "", "", &max, &sum, "", "", &of])?;
    }
    let histograms = analyses.iter().flat_map(|one| &one.told).flat_map(|told| &told.histograms);
    for (key, values) in histograms.flat_map(|one| &one.rows) {
        let hits = values.iter().find(|(name, _)| name == "hitcount").map(|(_, count)| count.to_string());
        let (key, hits) = (word(key), hits.unwrap_or_default());
        writer.write_record(["", "histogram", &key, &hits, "", "", "", "", "", "", "", "", "", "", ""])?;
    }
    String::from_utf8(writer.into_inner().context("writing CSV")?).context("writing CSV")
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
