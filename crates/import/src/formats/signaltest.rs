//! `signaltest`: how long signals take that are passed around a ring of threads, as text and as JSON.

use crate::{
    cyclictest,
    floors::{Figures, Floors},
    format::{Asked, Format, Unit},
    imported::{Imported, Series},
    rt_json,
    status::{self, Smallest},
    text::{contains, lines},
};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "signaltest",
    about: "signaltest, text and --json: extremes and mean of signals that go round among threads",
    recognise,
    read,
};

#[derive(Deserialize)]
struct Thread {
    cycles: u64,
    min: i64,
    max: i64,
    avg: Option<f64>,
    cpu: Option<u32>,
}

fn recognise(bytes: &[u8]) -> bool {
    let lacks = ["node", "freq", "sender", "histogram"];
    if rt_json::is_any(bytes) {
        return rt_json::is_of(bytes, "signaltest", &["cycles", "cpu"], &lacks);
    }
    let own = |line: &[u8]| status::is(line) && contains(line, b" P:") && !contains(line, b" I:");
    lines(bytes).any(|(_, line)| own(line))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = Floors::of(asked.unit.unwrap_or(Unit::Us));
    if !rt_json::is_any(bytes) {
        let all = status::read(bytes, Smallest::OfAll)?;
        ensure!(!all.is_empty(), "no line `T:`");
        let mut imported = cyclictest::described("signaltest", asked);
        for status in &all {
            imported.series.push(series(status.series(unit)?, status.thread, asked));
        }
        imported.notes.extend(status::live(bytes, &all));
        cyclictest::policy_of(&mut imported, &all);
        return Ok(imported);
    }
    let (document, notes) = rt_json::read::<Thread>(bytes)?;
    let mut imported = document.imported("signaltest", notes, asked);
    for (thread, one) in document.thread.0 {
        let thread = u32::try_from(thread).context("a thread's index")?;
        let figures = Figures {
            min: Some(one.min),
            max: Some(one.max),
            mean: one.avg.map(|avg| [avg - 0.005, avg + 0.005]),
            count: Some(one.cycles),
            over: Some(0),
            ..Figures::default()
        };
        let told = unit.series(figures).with_context(|| format!("thread {thread}"))?;
        imported.series.push(series(Series { cpu: one.cpu, ..told }, thread, asked));
    }
    Ok(imported)
}

fn series(series: Series, thread: u32, asked: &Asked) -> Series {
    let own = cyclictest::series(series, thread, asked);
    Series { quantity: "signal".into(), heading: "Signals round the threads".into(), ..own }
}
