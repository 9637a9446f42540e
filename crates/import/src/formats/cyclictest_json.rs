//! `cyclictest-json`: the output of `cyclictest --json`, from 2.0 on.

use crate::{
    cyclictest,
    floors::{Figures, Floors},
    format::{Asked, Format, Unit},
    imported::{Imported, Series},
    rt_json::{self, Pairs},
};
use anyhow::{Context, Result};
use serde::Deserialize;

/// The list entry.
pub const FORMAT: Format =
    Format { name: "cyclictest-json", about: "cyclictest --json, versions 2.0 to 2.10", recognise, read };

/// Recognises it by the tool's name, else by the keys that only cyclictest and writers of its form use.
fn recognise(bytes: &[u8]) -> bool {
    let form = |own: &str| rt_json::is_of(bytes, "cyclictest", &["cycles", own], &["freq", "sender"]);
    ["node", "histogram"].into_iter().any(form)
}

/// The figures of a thread.
#[derive(Deserialize)]
pub struct Thread {
    /// Values and counts. If no histogram was requested, it is absent, or empty up to 2.6.
    histogram: Option<Pairs<u64>>,
    cycles: u64,
    min: i64,
    max: i64,
    /// The mean of truncated values, with two decimals.
    avg: Option<f64>,
    cpu: Option<u32>,
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let (document, notes) = rt_json::read::<Thread>(bytes)?;
    let mut imported = document.imported("cyclictest", notes, asked);
    let args = imported.command.as_deref().map(cyclictest::args_of);
    let bins = args.as_ref().and_then(cyclictest::bins);
    let asked_for = args.as_ref().is_some_and(|args| args.has('h', "histogram") || args.has('H', "histofall"));
    let converted = document.is_export();
    let unit = if document.resolution_in_ns == Some(1) { Unit::Ns } else { Unit::Us };
    let unit = Floors::of(asked.unit.unwrap_or(unit));
    for (thread, one) in document.thread.0 {
        let thread = u32::try_from(thread).context("a thread's index")?;
        let told = figures(&one, bins, asked_for).and_then(|figures| unit.series(Figures { converted, ..figures }));
        let series = Series { cpu: one.cpu, ..told.with_context(|| format!("thread {thread}"))? };
        imported.series.push(cyclictest::series(series, thread, asked));
    }
    Ok(imported)
}

/// Returns a thread's figures. Samples that the histogram lacks are beyond it.
///
/// # Errors
/// A value above 2^63.
pub fn figures(one: &Thread, bins: Option<i64>, asked_for: bool) -> Result<Figures> {
    let histogram = one.histogram.iter().flat_map(|Pairs(pairs)| pairs).filter(|(_, count)| *count > 0);
    let rows: Vec<(i64, u64)> = histogram
        .map(|(value, count)| Ok((i64::try_from(*value).context("a value above 2^63")?, *count)))
        .collect::<Result<_>>()?;
    let collected = !rows.is_empty() || asked_for && one.cycles > 0;
    let within = rows.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    // If the rows have more samples than there were cycles, both are doubtful.
    let over = one.cycles.saturating_sub(within);
    let end = rows.last().map_or(0, |(value, _)| value.saturating_add(1)).max(bins.unwrap_or(0));
    Ok(Figures {
        rows,
        collected,
        end,
        over: Some(if collected { over } else { 0 }),
        min: Some(one.min),
        max: Some(one.max),
        mean: one.avg.map(|avg| [avg - 0.005, avg + 0.005]),
        count: Some(one.cycles),
        total: None,
        converted: false,
    })
}
