//! `xenomai-plot`: the file of `latency -g`: the middles of buckets in us, each with its number of hits plus one.

use crate::{
    format::{Asked, Format},
    formats::xenomai::{described, distribution, figures},
    imported::{Ending, Imported},
    samples::decimal,
    text::{self, TORN, lines, shown},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format = Format { name: "xenomai-plot", about: "Xenomai's latency -g", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).take(100).any(|(_, line)| line.starts_with(b"# ----lat min|"))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut imported = Imported {
        tool: "latency".into(),
        title: "xenomai latency".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    let (mut own, mut rows): (_, Vec<(i64, u64)>) = (None, Vec::new());
    for (at, line) in lines(bytes).filter(|(at, line)| torn != Some(*at) && !line.is_empty()) {
        let text = String::from_utf8_lossy(line);
        let place = || format!("line {at}: `{}`", shown(line));
        if let Some(text) = text.strip_prefix('#') {
            let text = text.trim();
            if let Some((clock, rest)) = text.split_once(" (") {
                add_run(&mut imported, clock, rest.trim_end_matches(')'));
            } else if text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
                && !text.starts_with("----")
            {
                ensure!(own.is_none(), "line {at}: figures a second time: keep one run per file");
                own = Some(figures(text.trim_end_matches('|')).with_context(place)?.0);
            }
            continue;
        }
        let (middle, hits) = row(&text).with_context(place)?;
        ensure!(
            rows.last().is_none_or(|(last, _)| *last < middle),
            "line {at}: out of order, or rounded: six digits are printed"
        );
        ensure!(rows.len() < 10_000_000, "line {at}: more than ten million rows");
        rows.push((middle, hits));
    }
    let own = own.context("no line with its smallest, mean and largest")?;
    let (mut series, finding) = described(own, asked);
    imported.findings.extend(finding);
    let whole = if torn.is_none() { buckets(&rows)? } else { None };
    match (whole, torn) {
        (Some(Buckets { width, hits }), _) => distribution(&mut series, &hits, width)?,
        (None, Some(at)) => imported.ending = Ending::Interrupted(format!("line {at} {TORN}")),
        (None, None) => imported.ending = Ending::Interrupted("the file ends before its last row".into()),
    }
    imported.series.push(series);
    Ok(imported)
}

/// Adds what the line `CLOCK (DESCRIPTION)` states of the run: how long it took, what it was, and its policy.
fn add_run(imported: &mut Imported, clock: &str, description: &str) {
    imported.elapsed_ns = crate::rtla::duration(&format!("0 {clock}"));
    imported.notes.push(shown(description.as_bytes()));
    let priority = description.split_once("priority ").and_then(|(_, text)| text.parse::<u8>().ok());
    imported.policy = priority.map(|priority| format!("fifo {priority}"));
}

/// Reads a row: the middle of a bucket in ns, and its number of hits.
fn row(text: &str) -> Option<(i64, u64)> {
    let (middle, hits) = text.split_once([' ', '\t'])?;
    let middle = decimal(middle, 1000).filter(|middle| *middle >= 0)?;
    Some((middle, hits.trim().parse::<u64>().ok()?.checked_sub(1)?))
}

/// The buckets of a whole file: their width in ns, and the number of each with its hits.
struct Buckets {
    width: i64,
    hits: Vec<(i64, u64)>,
}

/// Returns the buckets of the rows, or `None` if rows are missing: the first and the last row are edges without hits.
fn buckets(rows: &[(i64, u64)]) -> Result<Option<Buckets>> {
    let [(begin, 0), inner @ .., (end, 0)] = rows else { return Ok(None) };
    let (Some((first, _)), Some((last, _))) = (inner.first(), inner.last()) else { return Ok(None) };
    let half = first - begin;
    let Some(width) = half.checked_mul(2) else { return Ok(None) };
    if end - last != half || width <= 0 {
        return Ok(None);
    }
    let mut hits = Vec::with_capacity(inner.len());
    for (middle, count) in inner.iter().filter(|(_, count)| *count > 0) {
        ensure!((middle - half) % width == 0, "`{middle}` ns is not the middle of a bucket of {width} ns");
        hits.push(((middle - half) / width, *count));
    }
    Ok(Some(Buckets { width, hits }))
}
