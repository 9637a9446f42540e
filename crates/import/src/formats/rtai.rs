//! `rtai-latency`: RTAI's latency test: lines of the smallest and the largest value so far, in ns.

use crate::{
    format::{Asked, Format},
    imported::{Ending, Imported, Interval, Series},
    samples::decimal,
    text::{TORN, lines, plain, shown, torn},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format = Format { name: "rtai-latency", about: "RTAI's latency, kernel and user", recognise, read };

/// The number of its columns: smallest of the last second and of all, mean of the last second, largest of the last second and of all,
/// overruns.
const COLUMNS: usize = 6;

fn recognise(bytes: &[u8]) -> bool {
    is(bytes)
}

/// Tells whether a table is RTAI's: Xenomai's has decimals, and other columns.
pub fn is(bytes: &[u8]) -> bool {
    let own = |line: &[u8]| {
        let clean = plain(line);
        let text = String::from_utf8_lossy(&clean);
        let text = text.trim();
        text.starts_with("RTAI Testsuite")
            || text.starts_with("RTH|") && text.contains("ovl min")
            || row(text).is_some()
    };
    lines(bytes).any(|(_, line)| own(line))
}

/// Reads a line `RTD|` of whole numbers.
fn row(line: &str) -> Option<[i64; COLUMNS]> {
    let fields: Vec<i64> =
        line.strip_prefix("RTD|")?.split('|').map(|field| decimal(field.trim(), 1)).collect::<Option<_>>()?;
    fields.try_into().ok()
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = torn(bytes);
    let mut imported = Imported {
        tool: "RTAI latency".into(),
        title: "rtai latency".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    let mut last: Option<[i64; COLUMNS]> = None;
    let mut period = None;
    for (at, raw) in lines(bytes).filter(|(at, _)| torn != Some(*at)) {
        let clean = plain(raw);
        let text = String::from_utf8_lossy(&clean);
        let line = text.trim();
        let line = line.strip_prefix("^C").unwrap_or(line);
        if let Some(text) = line.strip_prefix("# period =") {
            period = text.split_once("(ns)").and_then(|(ns, _)| decimal(ns.trim(), 1)).filter(|ns| *ns > 0);
        } else if line.starts_with("RTD|") {
            let now =
                row(line).with_context(|| format!("line {at}: not six whole numbers: `{}`", shown(line.as_bytes())))?;
            let [min, least, _, max, most, overruns] = now;
            ensure!(least <= min && min <= max && max <= most, "line {at}: the smallest value is above the largest");
            let follows =
                last.is_none_or(|[_, before, _, _, top, lost]| least <= before && top <= most && lost <= overruns);
            ensure!(follows, "line {at}: a second run: keep one run per file");
            last = Some(now);
        }
    }
    let [_, least, _, _, most, overruns] = last.context("no line RTD with figures")?;
    imported
        .notes
        .push("a live screen: latido read the last line, without its mean, which covers only the last second".into());
    if let Some(at) = torn {
        imported.ending = Ending::Interrupted(format!("line {at} {TORN}"));
    }
    let facts = [("overruns", Some(overruns)), ("period_ns", period)];
    imported.series.push(Series {
        quantity: "latency".into(),
        heading: "Wake-up latency".into(),
        cpu: asked.cpus.first().copied(),
        unit: "ns",
        min: Some(Interval::exactly(least)),
        max: Some(Interval::exactly(most)),
        facts: facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
        ..Series::default()
    });
    Ok(imported)
}
