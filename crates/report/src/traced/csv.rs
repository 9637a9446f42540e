//! The latencies of a trace as CSV: one row each, in ns.

use super::{Analysis, Kind};
use crate::words::uncomputed as word;
use anyhow::{Context, Result};

/// Returns one row for each latency of each buffer.
///
/// # Errors
/// None in practice: the output is in memory.
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
        "max_cpu",
        "waited_ns",
        "interrupted",
        "facts",
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
            row.max_cpu.map(|cpu| cpu.to_string()).unwrap_or_default(),
            some(row.waited_ns),
            some(row.interrupted),
            String::new(),
        ])?;
    }
    for (analysis, row) in analyses
        .iter()
        .flat_map(|one| one.told.iter().flat_map(move |told| told.rows.iter().map(move |row| (one, row))))
    {
        let (min, mean) = (row.min_ns.to_string(), row.mean_ns.to_string());
        let (max, sum) = (row.max_ns.to_string(), row.sum_ns.to_string());
        let (buffer, name, of) = (word(&analysis.buffer), word(&row.name), word(&row.of));
        let (count, facts) = (row.count.to_string(), facts(row.facts.iter().map(|(name, value)| (*name, *value))));
        writer.write_record([
            &buffer, row.kind, &name, &count, &min, "", &mean, "", "", "", &max, &sum, "", "", &of, "", "", "", &facts,
        ])?;
    }
    for analysis in analyses {
        for gap in analysis.told.iter().flat_map(|told| &told.gaps) {
            let ns = gap.inner_us.max(gap.outer_us).saturating_mul(1_000).to_string();
            let (buffer, name) = (word(&analysis.buffer), format!("#{}", gap.sample));
            let (at, cpu) = (some(gap.written_ns), gap.cpu.to_string());
            let of = [("at_ns", Some(gap.at_ns)), ("inner_us", Some(gap.inner_us)), ("outer_us", Some(gap.outer_us))];
            let more = [("above", gap.above), ("nmi_us", gap.nmi_us), ("nmi_count", gap.nmi_count)];
            let facts = facts(of.into_iter().chain(more).filter_map(|(name, value)| Some((name, value?))));
            writer.write_record([
                &buffer,
                "hwlat-gap",
                &name,
                "1",
                &ns,
                "",
                &ns,
                "",
                "",
                "",
                &ns,
                &ns,
                "",
                &at,
                "",
                &cpu,
                "",
                "",
                &facts,
            ])?;
        }
        for (kind, histogram) in analysis.told.iter().flat_map(|told| &told.histograms).map(|one| ("histogram", one)) {
            for (at, (key, values)) in histogram.rows.iter().enumerate() {
                let hits = values.iter().find(|(name, _)| name == "hitcount").map(|(_, count)| count.to_string());
                let (buffer, key, hits) = (word(&analysis.buffer), word(key), hits.unwrap_or_default());
                let values = values.iter().map(|(name, value)| (name.as_str(), *value));
                let saved = || histogram.saved(at).map(|one| (one.name.as_str(), one.value));
                let with: Vec<&str> = histogram.saved(at).map(|one| one.with.as_str()).collect();
                let (facts, with) = (word(&facts(values.chain(saved()))), word(&with.join("; ")));
                writer.write_record([
                    &buffer, kind, &key, &hits, "", "", "", "", "", "", "", "", "", "", &with, "", "", "", &facts,
                ])?;
            }
        }
    }
    String::from_utf8(writer.into_inner().context("writing CSV")?).context("writing CSV")
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
