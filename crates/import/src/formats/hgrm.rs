//! `hgrm`: HdrHistogram's table of percentiles: exact cumulative counts at the upper ends of buckets.

use crate::{
    doubt::{Doubt, Figure},
    format::{Asked, Format},
    imported::{Bin, Edge, Ending, Imported, Interval, Series},
    samples::decimal,
    text::{self, lines, shown},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "hgrm", about: "HdrHistogram's percentile distribution; its unit is --unit", recognise, read };

fn header(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    words == [&b"Value"[..], b"Percentile", b"TotalCount", b"1/(1-Percentile)"]
}

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).take(100).any(|(_, line)| header(line))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = asked.unit.context("the unit of its values is not in the file: say --unit")?.ns();
    let torn = text::torn(bytes);
    let (mut begun, mut total, mut rounded) = (false, None, 0i64);
    let (mut bins, mut below, mut sum): (Vec<Bin>, i64, u64) = (Vec::new(), -1, 0);
    for (at, line) in lines(bytes).filter(|(at, line)| torn != Some(*at) && !line.is_empty()) {
        if header(line) {
            ensure!(!begun, "line {at}: a second table: keep one a file");
            begun = true;
        } else if let Some(rest) = line.strip_prefix(b"#[") {
            let text = String::from_utf8_lossy(rest);
            // `Total count`, or `TotalCount` with decimals.
            if let Some((_, after)) = text.split_once("Total count").or_else(|| text.split_once("TotalCount")) {
                let count = decimal(after.trim().trim_start_matches('=').trim_end_matches(']'), 1);
                let count = count.and_then(|count| u64::try_from(count).ok());
                total = Some(count.with_context(|| format!("line {at}: no total count"))?);
            }
        } else if begun {
            ensure!(total.is_none(), "line {at}: a row below the footer");
            let text = String::from_utf8_lossy(line);
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let shape = || format!("line {at}: no row of the table: `{}`", shown(line));
            // The last row's fourth column may be missing: it has no end.
            let [value, share, count, ..] = words[..] else { anyhow::bail!(shape()) };
            ensure!(words.len() == 4 || words.len() == 3 && share.starts_with("1.0"), shape());
            let places = value.split_once('.').map_or(0, |(_, part)| part.len());
            let step =
                u32::try_from(places).ok().and_then(|places| 10i64.checked_pow(places)).map_or(0, |parts| unit / parts);
            rounded = rounded.max(step / 2);
            // Parts of a ns are rounding.
            let value = decimal(value, unit).or_else(|| {
                let (whole, part) = value.split_once('.')?;
                let digits = unit.checked_ilog10()? as usize;
                decimal(&format!("{whole}.{}", part.get(..digits.max(1)).unwrap_or(part)), unit)
                    .or_else(|| decimal(whole, unit))
            });
            let value = value.filter(|value| *value >= 0).with_context(shape)?;
            let high = value.checked_add(step / 2).context("a value beyond 2^63 ns")?;
            let count: u64 = count.parse().with_context(shape)?;
            ensure!(count >= sum && high >= below, "line {at}: not more than the row before");
            ensure!(count == sum || high > below, "line {at}: more samples at the same value");
            if count > sum {
                bins.push(Bin { low: below + 1, high: Some(high), count: count - sum });
            }
            (below, sum) = (high, count);
        }
    }
    ensure!(begun, "no line that names the columns");
    let mut imported = Imported {
        tool: "HdrHistogram".into(),
        title: "hgrm".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    let mut doubts = Vec::new();
    match total {
        Some(total) if total != sum => {
            let why = format!("its rows have {sum} samples, but it counts {total}");
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
    let (mut low, mut high) = (0.0, 0.0);
    for bin in &bins {
        low += bin.low as f64 * bin.count as f64;
        high += bin.high.unwrap_or(i64::MAX) as f64 * bin.count as f64;
    }
    let sums = doubts.is_empty();
    imported.series.push(Series {
        quantity: "latency".into(),
        heading: "Latency".into(),
        unit: "ns",
        count: total.filter(|_| sums),
        min: ends(bins.first()),
        max: ends(bins.last()).filter(|_| whole),
        mean: (whole && sums && sum > 0).then(|| [low / sum as f64, high / sum as f64]),
        edge: Edge::Upper,
        cut: !whole,
        bins: if sums { bins } else { Vec::new() },
        doubts,
        ..Series::default()
    });
    Ok(imported)
}
