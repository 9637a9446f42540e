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
                imported.elapsed_ns = crate::rtla::duration(&format!("0 {clock}"));
                imported.notes.push(shown(rest.trim_end_matches(')').as_bytes()));
                let priority =
                    rest.split_once("priority ").and_then(|(_, text)| text.trim_end_matches(')').parse::<u8>().ok());
                imported.policy = priority.map(|priority| format!("fifo {priority}"));
            } else if text.starts_with(|first: char| first.is_ascii_digit() || first == '-')
                && !text.starts_with("----")
            {
                ensure!(own.is_none(), "line {at}: figures a second time: keep one run a file");
                own = Some(figures(text.trim_end_matches('|')).with_context(place)?.0);
            }
            continue;
        }
        let (middle, hits) = text.split_once([' ', '\t']).with_context(place)?;
        let middle = decimal(middle, 1000).filter(|middle| *middle >= 0).with_context(place)?;
        let hits = hits.trim().parse::<u64>().ok().and_then(|hits| hits.checked_sub(1)).with_context(place)?;
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
    // The first and the last row are edges without hits.
    let padded = matches!(rows[..], [(_, 0), _, .., (_, 0)]) && torn.is_none();
    let half = match rows[..] {
        [(edge, _), (first, _), ..] if padded => first - edge,
        _ => 0,
    };
    let bucket = half * 2;
    let inner = rows.get(1..rows.len().saturating_sub(1)).unwrap_or_default();
    let reaches = padded && rows.last().zip(inner.last()).is_some_and(|((edge, _), (middle, _))| edge - middle == half);
    if reaches && bucket > 0 {
        let mut numbers = Vec::with_capacity(inner.len());
        for (middle, hits) in inner.iter().filter(|(_, hits)| *hits > 0) {
            ensure!((middle - half) % bucket == 0, "`{middle}` ns is no middle of a bucket of {bucket} ns");
            numbers.push(((middle - half) / bucket, *hits));
        }
        distribution(&mut series, &numbers, bucket)?;
    } else {
        imported.ending = Ending::Interrupted(match torn {
            Some(at) => format!("line {at} {TORN}"),
            None => "the file ends before its last row".into(),
        });
    }
    imported.series.push(series);
    Ok(imported)
}
