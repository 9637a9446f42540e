//! `hgrm`: HdrHistogram's table of percentiles: exact cumulative counts at the upper ends of buckets.

use crate::{
    doubt::{Doubt, Figure},
    format::{Asked, Format},
    imported::{Bin, Edge, Ending, Imported, Interval, Series},
    mean,
    samples::decimal,
    text::{self, lines, many, shown},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "hgrm", about: "HdrHistogram's percentile distribution; --unit gives its unit", recognise, read };

fn header(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    words == [&b"Value"[..], b"Percentile", b"TotalCount", b"1/(1-Percentile)"]
}

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).take(100).any(|(_, line)| header(line))
}

/// The part of the table that was read so far.
#[derive(Default)]
struct Table {
    /// The unit of the values, in ns.
    unit: i64,
    begun: bool,
    total: Option<u64>,
    /// The rounding error of a value that was printed with a limited number of decimals, in ns.
    rounded: i64,
    bins: Vec<Bin>,
    /// The footer's largest value and mean, each in ns and with the weight of its last decimal in ns.
    largest: Option<(i64, i64)>,
    mean: Option<(i64, i64)>,
    /// The footer's number of steps within a power of two. A value may be off by one step.
    steps: Option<i64>,
    /// The upper end of the last row, and the samples up to there.
    below: i64,
    sum: u64,
}

impl Table {
    /// Reads the line with the number `at`.
    fn line(&mut self, at: usize, line: &[u8]) -> Result<()> {
        if header(line) {
            ensure!(!self.begun, "line {at}: a second table: keep one per file");
            self.begun = true;
        } else if let Some(rest) = line.strip_prefix(b"#[") {
            let text = String::from_utf8_lossy(rest);
            // `Total count`, or `TotalCount` with decimals.
            if let Some((_, after)) = text.split_once("Total count").or_else(|| text.split_once("TotalCount")) {
                let count = decimal(after.trim().trim_start_matches('=').trim_end_matches(']'), 1);
                let count = count.and_then(|count| u64::try_from(count).ok());
                self.total = Some(count.with_context(|| format!("line {at}: no total count"))?);
            }
            self.footer(text.trim_end_matches(']'));
        } else if self.begun {
            self.row(at, line)?;
        }
        Ok(())
    }

    /// Reads the known fields of a footer such as `Mean = 123.333, StdDeviation = 310.000`.
    fn footer(&mut self, text: &str) {
        for (name, value) in text.split(',').filter_map(|field| field.split_once('=')) {
            let (name, value) = (name.trim(), value.trim());
            let stated = || self.value(value).filter(|value| *value >= 0).map(|ns| (ns, self.step(value)));
            match name {
                "Mean" => self.mean = stated(),
                "Max" => self.largest = stated(),
                "SubBuckets" => self.steps = value.parse().ok().filter(|steps| *steps >= 2),
                _ => {}
            }
        }
    }

    /// Returns how far a counted value may be from the printed one, in ns: a step of the writer's table, plus the rounding of the last
    /// decimal.
    fn off(&self, value: i64, decimal: i64) -> Option<i64> {
        // A power of two has half of all steps (HdrHistogram's `subBucketHalfCount`).
        let step = value.checked_div(self.steps? / 2)?;
        step.checked_add(decimal / 2)?.checked_add(1)
    }

    /// Returns the largest value, by rows and footer. The footer prints the upper end of its step.
    fn max(&self, doubts: &mut Vec<Doubt>) -> Option<Interval> {
        let last = self.bins.last()?;
        let rows = Interval { low: last.low, high: last.high };
        let Some(((stated, decimal), off)) = self.largest.and_then(|one| Some((one, self.off(one.0, one.1)?))) else {
            return Some(rows);
        };
        if (self.below - stated).abs() > off.saturating_add(self.rounded) {
            let why = format!("it is {stated} ns, but the last row ends at {} ns", self.below);
            doubts.push(Doubt::of(Figure::Largest, why));
            return None;
        }
        Some(Interval { low: rows.low.max(stated - off), high: stated.checked_add(decimal / 2) })
    }

    /// Returns the mean that footer and rows allow. The writer counts each sample at the middle of its step.
    fn settled_mean(&self, doubts: &mut Vec<Doubt>) -> Option<[f64; 2]> {
        let stated = self.mean.and_then(|(mean, decimal)| {
            let off = self.off(mean, decimal)? as f64;
            Some([(mean as f64 - off).max(0.0), mean as f64 + off])
        });
        match stated {
            Some(_) => mean::settled(stated, self.rows_mean(), doubts),
            None => self.rows_mean(),
        }
    }

    fn row(&mut self, at: usize, line: &[u8]) -> Result<()> {
        ensure!(self.total.is_none(), "line {at}: a row below the footer");
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let shape = || format!("line {at}: not a row of the table: `{}`", shown(line));
        // The last row may lack its fourth column: it has no finite value there.
        let [value, share, count, ..] = words[..] else { anyhow::bail!(shape()) };
        ensure!(words.len() == 4 || words.len() == 3 && share.starts_with("1.0"), shape());
        let half = self.step(value) / 2;
        self.rounded = self.rounded.max(half);
        let value = self.value(value).filter(|value| *value >= 0).with_context(shape)?;
        let high = value.checked_add(half).context("a value beyond 2^63 ns")?;
        let count: u64 = count.parse().with_context(shape)?;
        ensure!(count >= self.sum && high >= self.below, "line {at}: the row must exceed the row before");
        ensure!(count == self.sum || high > self.below, "line {at}: more samples at the same value");
        if count > self.sum {
            self.bins.push(Bin { low: self.below + 1, high: Some(high), count: count - self.sum });
        }
        (self.below, self.sum) = (high, count);
        Ok(())
    }

    /// Returns the weight of a value's last decimal, in ns.
    fn step(&self, value: &str) -> i64 {
        let places = value.split_once('.').map_or(0, |(_, part)| part.len());
        let parts = u32::try_from(places).ok().and_then(|places| 10i64.checked_pow(places));
        parts.map_or(0, |parts| self.unit / parts)
    }

    /// Reads a value, in ns. Parts of a ns are dropped as rounding.
    fn value(&self, text: &str) -> Option<i64> {
        decimal(text, self.unit).or_else(|| {
            let (whole, part) = text.split_once('.')?;
            let digits = self.unit.checked_ilog10()? as usize;
            decimal(&format!("{whole}.{}", part.get(..digits.max(1)).unwrap_or(part)), self.unit)
                .or_else(|| decimal(whole, self.unit))
        })
    }

    /// Returns the range that the rows allow for the mean; `None` without samples.
    fn rows_mean(&self) -> Option<[f64; 2]> {
        let (mut low, mut high) = (0.0, 0.0);
        for bin in &self.bins {
            low += bin.low as f64 * bin.count as f64;
            high += bin.high.unwrap_or(i64::MAX) as f64 * bin.count as f64;
        }
        (self.sum > 0).then(|| [low / self.sum as f64, high / self.sum as f64])
    }
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = asked.unit.context("the file does not state the unit of its values: use --unit")?.ns();
    let torn = text::torn(bytes);
    let mut table = Table { unit, below: -1, ..Table::default() };
    for (at, line) in lines(bytes).filter(|(at, line)| torn != Some(*at) && !line.is_empty()) {
        table.line(at, line)?;
    }
    ensure!(table.begun, "no line that names the columns");
    let mut imported = Imported {
        tool: "HdrHistogram".into(),
        title: "hgrm".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    let mut doubts = Vec::new();
    let (max, mean) = (table.max(&mut doubts), table.settled_mean(&mut doubts));
    let Table { total, sum, rounded, bins, .. } = table;
    let sums = total.is_none_or(|total| total == sum);
    match total {
        Some(total) if total != sum => {
            let why = format!("its rows have {}, but it counts {total}", many(sum, "sample"));
            doubts.push(Doubt::of(Figure::Rows, why));
        }
        Some(_) => {}
        None => imported.ending = Ending::Interrupted("the file ends before its total count".into()),
    }
    if let Some(at) = torn {
        imported.ending = Ending::Interrupted(format!("line {at} {}", text::TORN));
    }
    if rounded > 0 {
        imported.notes.push(format!("values are rounded: each may be off by {rounded} ns"));
    }
    let whole = total.is_some();
    let ends = |bin: Option<&Bin>| bin.map(|bin| Interval { low: bin.low, high: bin.high });
    imported.series.push(Series {
        quantity: "latency".into(),
        heading: "Latency".into(),
        unit: "ns",
        count: total.filter(|_| sums),
        min: ends(bins.first()),
        max: max.filter(|_| whole),
        mean: mean.filter(|_| whole && sums),
        edge: Edge::Upper,
        cut: !whole,
        bins: if sums { bins } else { Vec::new() },
        doubts,
        ..Series::default()
    });
    Ok(imported)
}
