//! `hwlatdetect`: gaps of hardware above a threshold, each with its time.

use crate::{
    doubt::{Doubt, Figure},
    format::{Asked, Format},
    imported::{Bin, Ending, Imported, Interval, Series, Timed},
    samples::decimal,
    text::{self, lines, plain, shown},
};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The list entry.
pub const FORMAT: Format = Format { name: "hwlatdetect", about: "hwlatdetect of rt-tests, to 2.10", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| line.starts_with(b"hwlatdetect:"))
}

/// A line `SECONDS<TAB>INNER<TAB>OUTER` of old versions, in us. What was copied from a terminal has blanks for the tabs.
fn old_gap(line: &str) -> Option<(i64, i64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (at, inner, outer) = (words.next()?, words.next()?, words.next()?);
    let us = |text: &str| decimal(text.trim(), 1).filter(|us| *us >= 0);
    let at = stamp(at).filter(|_| words.next().is_none())?;
    Some((at, us(inner)?.max(us(outer)?), 1))
}

/// When a gap of an old version was, in ns: it prints the nanoseconds ten digits wide, so that the first of them is 0.
fn stamp(text: &str) -> Option<i64> {
    let (seconds, part) = text.split_once('.')?;
    let part = part.strip_prefix('0').filter(|_| part.len() == 10).unwrap_or(part);
    decimal(&format!("{seconds}.{part}"), 1_000_000_000)
}

/// A line `ts: SECONDS, inner:US, outer:US[, cpu:N][, count:N]`: when, and the larger of both.
fn gap(line: &str) -> Result<(i64, i64, u64)> {
    let mut fields = BTreeMap::new();
    for field in line.split(',') {
        let (name, value) = field.split_once(':').context("a field without a name")?;
        ensure!(fields.insert(name.trim(), value.trim()).is_none(), "a field twice");
    }
    let number = |name: &str| {
        let value = fields.get(name).with_context(|| format!("no {name}"))?;
        value
            .parse::<i64>()
            .ok()
            .filter(|value| *value >= 0)
            .with_context(|| format!("{name}: `{}`", shown(value.as_bytes())))
    };
    let at = fields.get("ts").and_then(|at| decimal(at, 1_000_000_000)).context("no time")?;
    let count = if fields.contains_key("count") { number("count")?.max(1) } else { 1 };
    Ok((at, number("inner")?.max(number("outer")?), u64::try_from(count)?))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut imported = Imported {
        tool: "hwlatdetect".into(),
        title: "hwlatdetect".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    let (mut threshold, mut largest, mut exceeding, mut recorded) = (None, None, None, None::<u64>);
    let (mut begun, mut below, mut finished, mut elsewhere) = (false, false, false, false);
    let mut gaps = Vec::new();
    for (at, raw) in lines(bytes).filter(|(at, _)| torn != Some(*at)) {
        let clean = plain(raw);
        let text = String::from_utf8_lossy(&clean);
        let line = text.trim();
        let value = |text: &str| {
            decimal(text.trim(), 1)
                .filter(|value| *value >= 0)
                .with_context(|| format!("line {at}: `{}`", shown(line.as_bytes())))
        };
        let us = |text: &str| value(text.trim().trim_end_matches("us"));
        if line.starts_with("ts:") {
            ensure!(gaps.len() < 10_000_000, "line {at}: more than ten million gaps");
            gaps.push(gap(line).with_context(|| format!("line {at}"))?);
        } else if let Some(gap) = old_gap(line) {
            ensure!(gaps.len() < 10_000_000, "line {at}: more than ten million gaps");
            gaps.push(gap);
        } else if let Some(text) = line.strip_prefix("Output File:") {
            elsewhere = text.trim() != "None";
        } else if let Some(text) = line.strip_prefix("hwlatdetect:") {
            ensure!(!begun, "line {at}: a second run: keep one run a file");
            begun = true;
            let seconds = text.trim().strip_prefix("test duration ").and_then(|text| text.strip_suffix(" seconds"));
            imported.elapsed_ns = seconds.and_then(|text| u64::try_from(decimal(text, 1_000_000_000)?).ok());
        } else if let Some(text) = line.strip_prefix("Latency threshold:") {
            threshold = Some(us(text)?);
        } else if let Some(text) = line.strip_prefix("Max Latency:") {
            below = text.trim() == "Below threshold";
            largest = if below { None } else { Some(us(text)?) };
        } else if let Some(text) = line.strip_prefix("Samples recorded:") {
            recorded = Some(u64::try_from(value(text)?)?);
        } else if let Some(text) = line.strip_prefix("Samples exceeding threshold:") {
            exceeding = Some(u64::try_from(value(text)?)?);
        } else if line == "test finished" {
            finished = true;
        }
    }
    let sum =
        gaps.iter().try_fold(0u64, |sum, (_, _, count)| sum.checked_add(*count)).context("more than 2^64 gaps")?;
    let listed = u64::try_from(gaps.len())?;
    let ended = finished && torn.is_none();
    let whole = ended && recorded == Some(listed) && exceeding == Some(sum) && !below;
    let none = ended && below && gaps.is_empty() && exceeding.is_none_or(|exceeding| exceeding == 0);
    if let (true, false, Some(recorded)) = (ended, whole || none, recorded) {
        ensure!(recorded >= listed, "{listed} gaps have a line, but it counts {recorded}");
    }
    // Its figures are of the whole test also where its gaps have no line here.
    let summary = ended && !whole && !none && gaps.is_empty() && largest.is_some() && exceeding.is_some();
    let complete = whole || none || (summary && elsewhere);
    if !complete {
        imported.ending = Ending::Interrupted("the file ends before all that it counts is there".into());
    }
    let interval = |us: i64| -> Result<Interval> {
        let low = us.checked_mul(1000).context("a value beyond 2^63 ns")?;
        Ok(Interval::between(low, low.checked_add(999).context("a value beyond 2^63 ns")?))
    };
    let threshold_ns = threshold.map(|us| us.checked_mul(1000).context("a threshold beyond 2^63 ns")).transpose()?;
    let seen = gaps.iter().map(|(_, us, _)| *us).max();
    let mut doubts = Vec::new();
    if let (true, Some(said), Some(seen)) = (whole, largest, seen)
        && said != seen
    {
        doubts.push(Doubt::of(Figure::Largest, format!("it is {said} us, but that of the gaps' lines is {seen} us")));
        largest = None;
    }
    let first = gaps.iter().map(|(at, ..)| *at).min().unwrap_or(0);
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    let mut samples = Vec::new();
    let mut more = 0u64;
    for (at, us, count) in &gaps {
        *counts.entry(*us).or_default() += 1;
        more = more.saturating_add(count - 1);
        if samples.len() < 1_000_000 {
            samples.push(Timed {
                value: us.checked_mul(1000).context("a value beyond 2^63 ns")?,
                at_ns: u64::try_from(at - first).ok(),
            });
        }
    }
    let mut bins = Vec::new();
    if more == 0 {
        for (us, count) in &counts {
            let Interval { low, high } = interval(*us)?;
            bins.push(Bin { low, high, count: *count });
        }
    } else {
        // A line's other gaps have no value: from the threshold to the largest.
        let high = seen.map(interval).transpose()?.and_then(|one| one.high);
        bins.push(Bin { low: threshold_ns.unwrap_or(0), high, count: sum });
        imported.notes.push(format!("{more} of {sum} gaps have no value: only the largest of each window has one"));
    }
    if let Some(recorded) = recorded {
        imported.notes.push(format!("{recorded} windows with gaps above the threshold"));
    }
    let max = if none {
        // Nothing was seen to be longer than the threshold, in whole us: that is all that is known of how many there were.
        imported.notes.push("no gap was longer than the threshold".into());
        threshold.map(interval).transpose()?.map(|one| Interval { low: 0, ..one })
    } else if whole || summary {
        largest.map(interval).transpose()?
    } else {
        None
    };
    if summary {
        imported.notes.push("its gaps have no lines here: their number and the largest are known".into());
    }
    imported.series.push(Series {
        quantity: "gap".into(),
        heading: "Hardware gap".into(),
        labels: [("kind".to_owned(), "hardware".to_owned())].into(),
        unit: "ns",
        count: exceeding.filter(|_| whole || summary),
        max,
        cut: !complete || !doubts.is_empty(),
        bins,
        doubts,
        width: Some(1000),
        above: threshold_ns,
        samples,
        ..Series::default()
    });
    Ok(imported)
}
