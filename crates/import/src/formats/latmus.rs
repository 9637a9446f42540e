//! `latmus`: EVL's `latmus -g`, its file or what it prints: a header of `# key: value`, then rows of microseconds.

use crate::{
    doubt::{self, Doubt, Figure},
    format::{Asked, Format},
    imported::{Bin, Ending, Finding, Imported, Interval, Series, Severity},
    mean,
    samples::decimal,
    text::{self, TORN, lines, shown},
};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The list entry.
pub const FORMAT: Format = Format { name: "latmus", about: "EVL's latmus -g", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    is_plot(bytes)
}

/// Whether the header of `-g` is there.
pub fn is_plot(bytes: &[u8]) -> bool {
    let has = |name: &[u8]| lines(bytes).any(|(_, line)| line.starts_with(name));
    has(b"# min latency:") && has(b"# max latency:") && (has(b"# libevl version:") || has(b"# sample count:"))
}

/// Whether its screen is there, which has the marks of Xenomai's `latency`.
pub fn is_screen(bytes: &[u8]) -> bool {
    lines(bytes).take(100).any(|(_, line)| line.starts_with(b"warming up on CPU"))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut header: BTreeMap<String, String> = BTreeMap::new();
    let mut rows: Vec<(i64, u64)> = Vec::new();
    let mut over: Option<(i64, u64)> = None;
    for (at, line) in lines(bytes).filter(|(at, line)| torn != Some(*at) && !line.is_empty()) {
        let text = String::from_utf8_lossy(line);
        let place = || format!("line {at}: `{}`", shown(line));
        if let Some(text) = text.strip_prefix('#') {
            ensure!(header.len() < 1000, "line {at}: a header of more than 1000 lines");
            // A time of day has colons too.
            let (key, value) = text.split_once(": ").unwrap_or((text.trim_end_matches(':'), ""));
            let again = header.insert(key.trim().to_owned(), value.trim().to_owned());
            ensure!(again.is_none(), "line {at}: `{}` a second time", shown(key.as_bytes()));
            continue;
        }
        if header.is_empty() {
            // The screen before it.
            continue;
        }
        ensure!(over.is_none(), "line {at}: a row below the outliers");
        let (value, count) = text.split_once([' ', '\t']).with_context(place)?;
        let count = count.trim().parse::<u64>().ok().filter(|count| *count < 1 << 63).with_context(place)?;
        if let Some(value) = value.strip_suffix('+') {
            over = Some((decimal(value, 1000).with_context(place)?, count));
            continue;
        }
        let value = decimal(value, 1).and_then(|value| value.checked_mul(1000)).with_context(place)?;
        ensure!(rows.last().is_none_or(|(last, _)| *last < value), "line {at}: out of order");
        ensure!(rows.len() < 10_000_000, "line {at}: more than ten million rows");
        rows.push((value, count));
    }
    let us = |key: &str| {
        let text = header.get(key).with_context(|| format!("no line `# {key}:`"))?;
        decimal(text, 1000).with_context(|| format!("{key}: `{}` is no time in us", shown(text.as_bytes())))
    };
    let (min, avg, max) = (us("min latency")?, us("avg latency")?, us("max latency")?);
    ensure!(min <= max, "its smallest is above its largest");
    // Old ones do not tell it: then the rows are whole where they reach the largest.
    let told = header.get("sample count").map(|text| text.parse::<u64>().context("no sample count")).transpose()?;
    let mut bins = Vec::new();
    let mut sum = 0u64;
    for (low, count) in rows.iter().filter(|(_, count)| *count > 0) {
        sum = sum.checked_add(*count).context("more than 2^64 samples")?;
        bins.push(Bin {
            low: *low,
            high: Some(low.checked_add(999).context("a value beyond 2^63 ns")?),
            count: *count,
        });
    }
    if let Some((low, count)) = over.filter(|(_, count)| *count > 0) {
        ensure!(bins.last().is_none_or(|last| last.low < low), "outliers that begin within the rows");
        if let Some(last) = bins.last_mut() {
            last.high = last.high.map(|high| high.min(low - 1));
        }
        sum = sum.checked_add(count).context("more than 2^64 samples")?;
        bins.push(Bin { low, high: Some(max).filter(|max| *max >= low), count });
    }
    let count = told.unwrap_or(sum);
    let mut doubts = Vec::new();
    if sum > count {
        doubts.push(Doubt::of(Figure::Rows, format!("its rows have {sum} samples, but it counts {count}")));
        bins.clear();
    }
    let told = told.filter(|_| doubts.is_empty());
    let reached = bins.last().is_some_and(|last| last.high.is_none_or(|high| max <= high));
    let whole = (sum == count && (told.is_some() || reached) || !doubts.is_empty()) && torn.is_none();
    let mut mean = Some([avg.saturating_sub(1) as f64, avg.saturating_add(1) as f64]);
    let (mut min, mut max) = (Some(Interval::exactly(min)), Some(Interval::exactly(max)));
    if whole {
        let rows = mean::of(bins.iter().map(|bin| (bin.low, bin.high.unwrap_or(bin.low), bin.count)));
        mean = mean::settled(mean, rows, &mut doubts);
        doubt::ends(&bins, &mut min, &mut max, &mut doubts);
    }
    let mut imported =
        Imported { tool: "latmus".into(), title: "latmus".into(), command: asked.args.clone(), ..Imported::default() };
    imported.version = header.get("libevl version").cloned();
    if !whole {
        imported.ending = Ending::Interrupted(match torn {
            Some(at) => format!("line {at} {TORN}"),
            None if told.is_none() => "its rows end before its largest value".into(),
            None => format!("its rows have {sum} of {count} samples"),
        });
    }
    imported.elapsed_ns =
        header.get("duration (hhmmss)").and_then(|clock| crate::rtla::duration(&format!("0 {clock}")));
    let priority = header.get("thread priority").and_then(|text| text.parse::<u8>().ok());
    imported.policy = priority.map(|priority| format!("fifo {priority}"));
    let cpu = header.get("thread affinity").and_then(|text| text.strip_prefix("CPU")?.parse().ok());
    let mut series = Series {
        quantity: "latency".into(),
        heading: "Wake-up latency".into(),
        cpu: cpu.or(asked.cpus.first().copied()),
        unit: "ns",
        count: Some(count).filter(|_| (whole || told.is_some()) && sum <= count),
        min,
        max,
        mean,
        cut: !whole || max.is_none(),
        bins,
        width: Some(1000),
        doubts,
        ..Series::default()
    };
    series.labels.extend(header.get("context").map(|context| ("context".to_owned(), context.clone())));
    for (key, text) in &header {
        let value = text.split_ascii_whitespace().next().and_then(|word| decimal(word, 1));
        let upper = key.to_ascii_uppercase();
        if upper.contains("OVERRUNS") {
            series.facts.extend(value.map(|value| ("overruns".to_owned(), value)));
        }
        if upper.contains("IN-BAND SWITCHES") && value.is_none_or(|value| value > 0) {
            imported.findings.push(Finding {
                severity: Severity::Contaminated,
                name: "mode switches".into(),
                text: format!("in-band switches: {}", shown(text.as_bytes())),
            });
        }
        // Gravity is told, and never added back.
        imported.notes.push(if text.is_empty() { key.clone() } else { format!("{key}: {text}") });
    }
    imported.series.push(series);
    Ok(imported)
}
