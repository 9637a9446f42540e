//! `cyclictest`: the histogram as text (`-h`, `-H`, `--histfile`), of every version.

use crate::{
    cyclictest, doubt,
    floors::Floors,
    format::{Asked, Format},
    imported::{Ending, Imported, Series},
    status::{self, Smallest},
    table::{self, Table},
};
use anyhow::{Context, Result, ensure};

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

/// Checks the lines `T:`, which a run without `-q` also prints. They show the state of a thread at or before its end.
fn beside(bytes: &[u8], series: &[Series], unit: Floors) -> Result<()> {
    for status in status::read(bytes, Smallest::OfAll)? {
        let of = || {
            format!(
                "thread {}: its line `T:` and the histogram come from two runs: keep one run per file",
                status.thread
            )
        };
        let own = series.get(status.thread as usize).with_context(of)?;
        let [min, max] = [unit.interval(status.min)?, unit.interval(status.max)?];
        let fits = own.count.is_none_or(|count| status.cycles <= count)
            && own.min.is_none_or(|least| least.low <= min.low)
            && own.max.is_none_or(|most| max.low <= most.low);
        ensure!(status.cycles == 0 || fits, of());
    }
    Ok(())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let args = cyclictest::args(asked);
    let unit = cyclictest::unit(asked, bytes);
    let sum = args.as_ref().map(|args| args.has('H', "histofall"));
    let Table { threads, whole, broken, smis, doubts, remarks } = table::read(bytes, sum)?;
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
    imported.findings.extend(doubts.into_iter().map(doubt::note));
    beside(bytes, &imported.series, unit)?;
    imported.findings.extend(cyclictest::unit_taken(asked, bytes));
    imported.findings.extend(cyclictest::smis(&imported.series));
    imported.ending = match broken {
        Some((value, thread)) => {
            Ending::Stopped { value: unit.interval(value)?, thread: thread.and_then(|at| u32::try_from(at).ok()) }
        }
        None if whole => Ending::Complete,
        None => Ending::Interrupted("the file ends before the end of its footer".into()),
    };
    Ok(imported)
}
