//! `cyclictest`: the histogram as text (`-h`, `-H`, `--histfile`), of every version.

use crate::{
    cyclictest,
    format::{Asked, Format},
    imported::{Ending, Imported},
    table::{self, Table},
};
use anyhow::{Context, Result};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "cyclictest",
    about: "cyclictest -h, -H or --histfile: the histogram as text, versions 0.84 to 2.10",
    recognise,
    read,
};

fn recognise(bytes: &[u8]) -> bool {
    table::has(bytes) && !cyclictest::is_json(bytes) && !cyclictest::is_deadline(bytes)
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let args = cyclictest::args(asked);
    let unit = cyclictest::unit(asked);
    let sum = args.as_ref().map(|args| args.has('H', "histofall"));
    let Table { threads, whole, broken, smis, remarks } = table::read(bytes, sum)?;
    let mut imported = Imported { notes: remarks, ..cyclictest::described("cyclictest", asked) };
    for (thread, mut figures) in (0..).zip(threads) {
        if let Some(bins) = args.as_ref().and_then(cyclictest::bins) {
            figures.end = figures.end.max(bins);
        }
        let series = unit.series(figures).with_context(|| format!("thread {thread}"))?;
        let mut series = cyclictest::series(series, thread, asked);
        if let Some(smis) = smis.get(thread as usize) {
            series.facts.insert("smi".into(), *smis);
        }
        imported.series.push(series);
    }
    imported.findings.extend(cyclictest::unit_taken("cyclictest", asked));
    imported.findings.extend(cyclictest::smis(&imported.series));
    imported.ending = match broken {
        Some((value, thread)) => {
            Ending::Stopped { value: unit.interval(value)?, thread: thread.and_then(|at| u32::try_from(at).ok()) }
        }
        None if whole => Ending::Complete,
        None => Ending::Interrupted("the file ends before its footer does".into()),
    };
    Ok(imported)
}
