//! `cyclicdeadline`: wake-ups of threads under SCHED_DEADLINE: lines `T:`, histogram (from 2.7) and JSON.

use super::cyclictest_json;
use crate::{
    cyclictest,
    floors::{Figures, Floors},
    format::{Asked, Format, Unit},
    imported::{Ending, Imported, Interval, Series},
    rt_json,
    status::{self, Smallest},
    table::{self, Table},
    text::{contains, lines, many},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "cyclicdeadline",
    about: "cyclicdeadline: lines `T:`, --histogram (from 2.7) and --json",
    recognise,
    read,
};

fn recognise(bytes: &[u8]) -> bool {
    if rt_json::is_any(bytes) {
        // Without its name, the file looks like a cyclictest file with fewer keys.
        return rt_json::is_of(bytes, "cyclicdeadline", &[], &[]);
    }
    let own = |line: &[u8]| status::is(line) && contains(line, b" I:") && !contains(line, b" P:");
    table::has(bytes) && cyclictest::is_deadline(bytes) || lines(bytes).any(|(_, line)| own(line))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = Floors::of(asked.unit.unwrap_or(Unit::Us));
    let mut starved = None;
    let mut imported = if rt_json::is_any(bytes) {
        json(bytes, asked, unit)?
    } else if table::has(bytes) {
        histogram(bytes, asked, unit)?
    } else {
        let mut imported = cyclictest::described("cyclicdeadline", asked);
        let all = status::read(bytes, Smallest::SinceZero)?;
        for status in &all {
            imported.series.push(cyclictest::series(since_zero(status.series(unit)?), status.thread, asked));
        }
        starved = status::starved(&all);
        imported.notes.extend(status::live(bytes, &all));
        imported
    };
    ensure!(!imported.series.is_empty(), "no thread");
    // cyclicdeadline's -p is no priority, and its -m does not lock memory.
    imported.policy = None;
    imported.findings = starved.into_iter().collect();
    imported.notes.push("measured under SCHED_DEADLINE".into());
    Ok(imported)
}

fn histogram(bytes: &[u8], asked: &Asked, unit: Floors) -> Result<Imported> {
    let Table { threads, whole, remarks, doubts, .. } = table::read(bytes, Some(false))?;
    let mut imported = Imported { notes: remarks, ..cyclictest::described("cyclicdeadline", asked) };
    for (thread, figures) in (0..).zip(threads) {
        let figures = with_zeros(figures, thread, &mut imported);
        let series = unit.series(figures).with_context(|| format!("thread {thread}"))?;
        imported.series.push(cyclictest::series(series, thread, asked));
    }
    imported.notes.extend(doubts);
    if !whole {
        imported.ending = Ending::Interrupted("the file ends before the end of its footer".into());
    }
    Ok(imported)
}

/// Corrects the smallest value. A thread with samples of 0 prints the smallest of the others, but its rows show the zeros.
fn with_zeros(figures: Figures, thread: u32, imported: &mut Imported) -> Figures {
    let zeros = figures.rows.first().filter(|(value, _)| *value == 0).map(|(_, count)| *count);
    match (zeros, figures.min) {
        (Some(zeros), Some(min)) if min > 0 => {
            imported.notes.push(format!(
                "thread {thread}: it prints {min} as the smallest, but has {} of 0",
                many(zeros, "sample")
            ));
            Figures { min: Some(0), ..figures }
        }
        _ => figures,
    }
}

fn json(bytes: &[u8], asked: &Asked, unit: Floors) -> Result<Imported> {
    let (document, notes) = rt_json::read::<cyclictest_json::Thread>(bytes)?;
    let mut imported = document.imported("cyclicdeadline", notes, asked);
    let args = imported.command.as_deref().map(cyclictest::args_of);
    // cyclicdeadline's -h prints help.
    let bins = args.as_ref().and_then(|args| args.number('\0', "histogram"));
    for (thread, one) in document.thread.0 {
        let thread = u32::try_from(thread).context("a thread's index")?;
        let figures = cyclictest_json::figures(&one, bins, bins.is_some())?;
        let series = unit.series(with_zeros(figures, thread, &mut imported));
        let series = series.with_context(|| format!("thread {thread}"))?;
        imported.series.push(cyclictest::series(since_zero(series), thread, asked));
    }
    Ok(imported)
}

/// Extends the smallest value down to 0 if there are no rows: there may have been a 0 below the printed smallest value.
fn since_zero(series: Series) -> Series {
    let min = series.min.map(|min| if series.bins.is_empty() { Interval { low: 0, ..min } } else { min });
    Series { min, ..series }
}
