//! `hwlatdetect`: gaps of the hardware above a threshold, each with its time.

use crate::{
    cyclictest,
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

/// Reads a line `SECONDS<TAB>INNER<TAB>OUTER` of old versions, in us. A copy from a terminal has blanks instead of tabs.
fn old_gap(line: &str) -> Option<(i64, i64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (at, inner, outer) = (words.next()?, words.next()?, words.next()?);
    let us = |text: &str| decimal(text.trim(), 1).filter(|us| *us >= 0);
    let at = stamp(at).filter(|_| words.next().is_none())?;
    Some((at, us(inner)?.max(us(outer)?), 1))
}

/// Reads the time of a gap of an old version, in ns. The tool prints the nanoseconds ten digits wide, so that the first digit is 0.
fn stamp(text: &str) -> Option<i64> {
    let (seconds, part) = text.split_once('.')?;
    let part = part.strip_prefix('0').filter(|_| part.len() == 10).unwrap_or(part);
    decimal(&format!("{seconds}.{part}"), 1_000_000_000)
}

/// Reads a line `ts: SECONDS, inner:US, outer:US[, cpu:N][, count:N]`. Returns the time, the larger of both, and the count.
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

/// The facts from the lines of a file.
#[derive(Default)]
struct Told {
    begun: bool,
    finished: bool,
    elapsed_ns: Option<u64>,
    /// The threshold above which the tool reports gaps, in us.
    threshold: Option<i64>,
    /// The largest gap in us, and whether every gap was below the threshold.
    largest: Option<i64>,
    below: bool,
    /// The number of windows with gaps, and the number of gaps.
    recorded: Option<u64>,
    exceeding: Option<u64>,
    /// System management interrupts: the total, and the sum over the lines of the CPUs.
    smis: Option<i64>,
    smis_of_cpus: Option<i64>,
    /// Whether the lines of the gaps are in another file.
    elsewhere: bool,
    gaps: Vec<(i64, i64, u64)>,
}

impl Told {
    /// Reads the line with the number `at`.
    fn line(&mut self, at: usize, line: &str) -> Result<()> {
        let value = |text: &str| {
            decimal(text.trim(), 1)
                .filter(|value| *value >= 0)
                .with_context(|| format!("line {at}: `{}`", shown(line.as_bytes())))
        };
        let us = |text: &str| value(text.trim().trim_end_matches("us"));
        if line.starts_with("ts:") {
            self.gap(at, || gap(line).with_context(|| format!("line {at}")))?;
        } else if let Some(gap) = old_gap(line) {
            self.gap(at, || Ok(gap))?;
        } else if let Some(text) = line.strip_prefix("Output File:") {
            self.elsewhere = text.trim() != "None";
        } else if let Some(text) = line.strip_prefix("hwlatdetect:") {
            ensure!(!self.begun, "line {at}: a second run: keep one run per file");
            self.begun = true;
            let seconds = text.trim().strip_prefix("test duration ").and_then(|text| text.strip_suffix(" seconds"));
            self.elapsed_ns = seconds.and_then(|text| u64::try_from(decimal(text, 1_000_000_000)?).ok());
        } else if let Some(text) = line.strip_prefix("Latency threshold:") {
            self.threshold = Some(us(text)?);
        } else if let Some(text) = line.strip_prefix("Max Latency:") {
            self.below = text.trim() == "Below threshold";
            self.largest = if self.below { None } else { Some(us(text)?) };
        } else if let Some(text) = line.strip_prefix("Samples recorded:") {
            self.recorded = Some(u64::try_from(value(text)?)?);
        } else if let Some(text) = line.strip_prefix("Samples exceeding threshold:") {
            self.exceeding = Some(u64::try_from(value(text)?)?);
        } else if let Some(text) = line.strip_prefix("SMIs during run:") {
            self.smis = Some(value(text)?);
        } else if let Some((text, _)) = line.split_once(" SMIs occured on cpu ") {
            self.smis_of_cpus = Some(self.smis_of_cpus.unwrap_or(0).saturating_add(value(text)?));
        } else if line == "test finished" {
            self.finished = true;
        }
        Ok(())
    }

    fn gap(&mut self, at: usize, gap: impl FnOnce() -> Result<(i64, i64, u64)>) -> Result<()> {
        ensure!(self.gaps.len() < 10_000_000, "line {at}: more than ten million gaps");
        self.gaps.push(gap()?);
        Ok(())
    }
}

/// How much of the test the file shows.
struct Extent {
    /// Every gap has a line.
    whole: bool,
    /// No gap was above the threshold.
    none: bool,
    /// The figures cover the whole test, and this file has no line for any gap.
    summary: bool,
    /// The file is complete.
    complete: bool,
}

impl Extent {
    /// Determines the extent of a file with that many gaps, whose last line is torn or not.
    fn of(told: &Told, sum: u64, torn: bool) -> Result<Self> {
        let Told { recorded, exceeding, below, .. } = *told;
        let listed = u64::try_from(told.gaps.len())?;
        let ended = told.finished && !torn;
        let whole = ended && recorded == Some(listed) && exceeding == Some(sum) && !below;
        let none = ended && below && told.gaps.is_empty() && exceeding.is_none_or(|exceeding| exceeding == 0);
        if let (true, false, Some(recorded)) = (ended, whole || none, recorded) {
            ensure!(recorded >= listed, "{listed} gaps have a line, but it counts {recorded}");
        }
        let summary = ended && !whole && !none && told.gaps.is_empty() && told.largest.is_some() && exceeding.is_some();
        Ok(Self { whole, none, summary, complete: whole || none || (summary && told.elsewhere) })
    }

    /// Returns the interval of the largest gap, if the file shows enough to know it.
    fn largest(&self, told: &Told) -> Result<Option<Interval>> {
        match (self.none, self.whole || self.summary) {
            // If no gap was longer than the threshold in whole us, the largest is only known to be at or below it.
            (true, _) => Ok(told.threshold.map(interval).transpose()?.map(|one| Interval { low: 0, ..one })),
            (_, true) => told.largest.map(interval).transpose(),
            _ => Ok(None),
        }
    }

    /// Returns the notes on the `sum` gaps: how many there are, and what is not known of them.
    fn notes(&self, told: &Told, gaps: &Gaps, sum: u64) -> Vec<String> {
        let mut notes = Vec::new();
        if gaps.more > 0 {
            let more = gaps.more;
            notes.push(format!("{more} of {sum} gaps have no value: only the largest of each window has one"));
        }
        notes.extend(told.recorded.map(|recorded| format!("{recorded} windows with gaps above the threshold")));
        if self.none {
            notes.push("no gap was longer than the threshold".into());
        }
        if self.summary {
            notes.push("the file has no lines of its gaps: only their number and the largest are known".into());
        }
        notes
    }
}

/// The gaps with lines.
#[derive(Default)]
struct Gaps {
    /// How many lines have this gap, by the gap in us.
    counts: BTreeMap<i64, u64>,
    /// The first of the gaps, with their times.
    samples: Vec<Timed>,
    /// How many gaps have no value: only the largest of a window has one.
    more: u64,
}

impl Gaps {
    fn of(gaps: &[(i64, i64, u64)]) -> Result<Self> {
        let first = gaps.iter().map(|(at, ..)| *at).min().unwrap_or(0);
        let mut all = Self::default();
        for (at, us, count) in gaps {
            *all.counts.entry(*us).or_default() += 1;
            all.more = all.more.saturating_add(count - 1);
            if all.samples.len() < 1_000_000 {
                all.samples.push(Timed {
                    value: us.checked_mul(1000).context("a value beyond 2^63 ns")?,
                    at_ns: at.checked_sub(first).and_then(|ns| u64::try_from(ns).ok()),
                });
            }
        }
        Ok(all)
    }

    /// Returns the largest, in us.
    fn largest(&self) -> Option<i64> {
        self.counts.keys().next_back().copied()
    }

    /// Returns the bins of `sum` gaps above a threshold.
    fn bins(&self, sum: u64, threshold_ns: Option<i64>) -> Result<Vec<Bin>> {
        if self.more == 0 {
            let bin = |(us, count): (&i64, &u64)| {
                let Interval { low, high } = interval(*us)?;
                Ok(Bin { low, high, count: *count })
            };
            return self.counts.iter().map(bin).collect();
        }
        // The other gaps of a line have no value: they are between the threshold and the largest.
        let high = self.largest().map(interval).transpose()?.and_then(|one| one.high);
        Ok(vec![Bin { low: threshold_ns.unwrap_or(0), high, count: sum }])
    }
}

/// Returns the interval of a time in whole us.
fn interval(us: i64) -> Result<Interval> {
    let low = us.checked_mul(1000).context("a value beyond 2^63 ns")?;
    Ok(Interval::between(low, low.checked_add(999).context("a value beyond 2^63 ns")?))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut told = Told::default();
    for (at, raw) in lines(bytes).filter(|(at, _)| torn != Some(*at)) {
        told.line(at, String::from_utf8_lossy(&plain(raw)).trim())?;
    }
    let sum =
        told.gaps.iter().try_fold(0u64, |sum, (_, _, count)| sum.checked_add(*count)).context("more than 2^64 gaps")?;
    let extent = Extent::of(&told, sum, torn.is_some())?;
    let Told { elapsed_ns, threshold, exceeding, smis, smis_of_cpus, .. } = told;
    let facts = smis.or(smis_of_cpus).map(|count| ("smi".to_owned(), count)).into_iter().collect();
    let threshold_ns = threshold.map(|us| us.checked_mul(1000).context("a threshold beyond 2^63 ns")).transpose()?;
    let gaps = Gaps::of(&told.gaps)?;
    let mut doubts = Vec::new();
    if let (true, Some(said), Some(seen)) = (extent.whole, told.largest, gaps.largest())
        && said != seen
    {
        doubts.push(Doubt::of(Figure::Largest, format!("it is {said} us, but the lines of the gaps state {seen} us")));
        told.largest = None;
    }
    let bins = gaps.bins(sum, threshold_ns)?;
    let max = extent.largest(&told)?;
    let notes = extent.notes(&told, &gaps, sum);
    let series = Series {
        quantity: "gap".into(),
        heading: "Hardware gap".into(),
        labels: [("kind".to_owned(), "hardware".to_owned())].into(),
        unit: "ns",
        count: exceeding.filter(|_| extent.whole || extent.summary),
        max,
        cut: !extent.complete || !doubts.is_empty(),
        bins,
        doubts,
        width: Some(1000),
        above: threshold_ns,
        samples: gaps.samples,
        facts,
        ..Series::default()
    };
    let ending = match extent.complete {
        true => Ending::Complete,
        false => Ending::Interrupted("the file ends before the last gap that it counts".into()),
    };
    Ok(Imported {
        tool: "hwlatdetect".into(),
        title: "hwlatdetect".into(),
        command: asked.args.clone(),
        elapsed_ns,
        ending,
        notes,
        findings: cyclictest::smis(std::slice::from_ref(&series)).into_iter().collect(),
        series: vec![series],
        ..Imported::default()
    })
}
