//! `hackbench`: how long groups of tasks took to pass all their messages.

use crate::{
    format::{Asked, Format},
    imported::{Imported, Interval, Series},
    samples::decimal,
    text::{TORN, contains, lines, shown, torn},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "hackbench", about: "hackbench: how long all messages took together", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| line.starts_with(b"Running in ") && contains(line, b" groups using "))
}

fn read(bytes: &[u8], _: &Asked) -> Result<Imported> {
    let found = lines(bytes).find_map(|(at, line)| Some((at, line.strip_prefix(b"Time: ")?)));
    let (at, seconds) = found.context("no line `Time:`: hackbench ended early")?;
    ensure!(torn(bytes) != Some(at), "line {at} {TORN}");
    let ns = decimal(&shown(seconds), 1_000_000_000).filter(|ns| *ns >= 0);
    let ns = ns.with_context(|| format!("line {at}: `{}` is not a time in seconds", shown(seconds)))?;
    // It prints whole milliseconds and truncates the rest.
    let time = Some(Interval::between(ns, ns.saturating_add(999_999)));
    let series = Series {
        quantity: "elapsed".into(),
        heading: "All messages".into(),
        unit: "ns",
        count: Some(1),
        min: time,
        max: time,
        ..Series::default()
    };
    let (tool, title) = ("hackbench".into(), "hackbench".into());
    Ok(Imported { tool, title, series: vec![series], ..Imported::default() })
}
