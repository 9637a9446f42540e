//! `jitterdebugger-json`: its results.json, with a histogram up to 1 ms per thread.

use crate::{
    floors::{Figures, Floors},
    format::{Asked, Format, Unit},
    imported::Imported,
};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The list entry.
pub const FORMAT: Format =
    Format { name: "jitterdebugger-json", about: "jitterdebugger's results.json, 0.1 to 0.3", recognise, read };

#[derive(Deserialize)]
struct Results {
    version: Option<u64>,
    #[serde(default)]
    sysinfo: BTreeMap<String, serde_json::Value>,
    cpu: BTreeMap<u32, Thread>,
}

#[derive(Deserialize)]
struct Thread {
    #[serde(default)]
    histogram: BTreeMap<u64, u64>,
    count: u64,
    min: i64,
    max: i64,
    avg: f64,
}

fn recognise(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // rt-tests uses the key `thread` instead.
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
        && text.contains("\"cpu\": {")
        && text.contains("\"histogram\"")
        && !text.contains("\"thread\"")
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let results: Results = serde_json::from_slice(bytes).context("not a complete results.json")?;
    let unit = match results.sysinfo.get("resolution_in_ns").map(serde_json::Value::as_u64) {
        None => asked.unit.unwrap_or(Unit::Us),
        Some(Some(1000)) => Unit::Us,
        Some(Some(1)) => Unit::Ns,
        Some(_) => bail!("resolution_in_ns is neither 1 nor 1000"),
    };
    ensure!(!results.cpu.is_empty(), "no thread");
    ensure!(results.cpu.len() <= 8192, "more than 8192 threads");
    let mut imported = Imported {
        tool: "jitterdebugger".into(),
        version: Some(results.version.map_or_else(|| "0.1 or 0.2".into(), |version| format!("file version {version}"))),
        title: "jitterdebugger".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    for (key, name) in
        [("release", "kernel"), ("version", "kernel_version"), ("machine", "architecture"), ("nodename", "node")]
    {
        let text = results.sysinfo.get(key).and_then(|value| value.as_str());
        imported.machine.extend(text.map(|text| (name.to_owned(), text.to_owned())));
    }
    let floors = Floors::of(unit);
    for (thread, own) in results.cpu {
        let within = own.histogram.values().try_fold(0u64, |sum, count| sum.checked_add(*count));
        let within = within.context("more than 2^64 samples")?;
        let over = own.count.saturating_sub(within);
        let rows: Option<Vec<_>> = own
            .histogram
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(value, count)| Some((i64::try_from(value).ok()?, count)))
            .collect();
        // Its histogram ends at 1 ms.
        let end = 1_000_000 / unit.ns();
        let rows = rows.context("a value above 2^63")?;
        ensure!(rows.last().is_none_or(|(value, _)| *value < end), "thread {thread}: a row beyond 1 ms");
        let figures = Figures {
            rows,
            collected: true,
            end,
            over: Some(over),
            min: Some(own.min),
            max: Some(own.max),
            mean: Some(own.avg).filter(|avg| avg.is_finite()).map(|avg| [avg - 0.005, avg + 0.005]),
            count: Some(own.count),
            total: None,
            converted: false,
        };
        let mut series = floors.series(figures).with_context(|| format!("thread {thread}"))?;
        (series.quantity, series.heading, series.thread) = ("latency".into(), "Wake-up latency".into(), thread);
        // The key is that of the thread, not that of a CPU.
        series.cpu = asked.cpus.get(thread as usize).copied();
        imported.series.push(series);
    }
    Ok(imported)
}
