//! `jitterdebugger`: its raw records of 28 or 20 bytes, also from its datagrams, and the CSV of jittersamples.

use crate::{
    format::{Asked, Format, Unit},
    imported::{Ending, Imported},
    samples::{Key, Samples, decimal},
    text::{self, TORN, lines, shown},
};
use anyhow::{Context, Result, bail, ensure};

/// The raw records.
pub const RAW: Format = Format {
    name: "jitterdebugger-raw",
    about: "jitterdebugger's samples.raw, or its datagrams one after the other",
    recognise: |bytes| raw(bytes).is_some(),
    read: read_raw,
};
/// The CSV that jittersamples makes of them.
pub const CSV: Format = Format {
    name: "jitterdebugger-csv",
    about: "jittersamples -f csv: `0;5457.507117074;32`",
    recognise: csv,
    read: read_csv,
};
/// HDF5, which loses its last block: refused.
pub const HDF5: Format = Format {
    name: "jitterdebugger-hdf5",
    about: "jittersamples -f hdf5: refused, import samples.raw",
    recognise: |bytes| bytes.starts_with(b"\x89HDF\r\n\x1a\n"),
    read: |_, _| {
        bail!("latido does not read HDF5: its writer drops the last block of up to 10,000 samples. Import samples.raw")
    },
};

/// A record: thread, seconds and nanoseconds of CLOCK_MONOTONIC at the wake-up, value in its tool's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The thread's index.
    pub thread: u32,
    /// The time of the wake-up, in ns.
    pub at_ns: i64,
    /// The value.
    pub value: i64,
}

/// Reads a packed record of 28 bytes, or of 20 if seconds have 32 bits. `swapped` means big-endian instead of little-endian. Returns `None`
/// if it cannot be a record.
pub fn record(bytes: &[u8], swapped: bool) -> Option<Record> {
    let word = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if swapped { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) })
    };
    let long = |at: usize| {
        let eight: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(if swapped { i64::from_be_bytes(eight) } else { i64::from_le_bytes(eight) })
    };
    let (seconds, ns, value) = match bytes.len() {
        28 => (long(4)?, long(12)?, long(20)?),
        20 => (i64::from(word(4)?), i64::from(word(8)?), long(12)?),
        _ => return None,
    };
    let thread = word(0).filter(|thread| *thread < 8192)?;
    let sound = (0..1 << 33).contains(&seconds) && (0..1_000_000_000).contains(&ns) && (0..1 << 53).contains(&value);
    sound.then(|| Record { thread, at_ns: seconds * 1_000_000_000 + ns, value })
}

/// Returns the size of the records and whether their bytes are swapped, if the first ones are records.
fn raw(bytes: &[u8]) -> Option<(usize, bool)> {
    // With less than two records of the larger kind, latido cannot distinguish the kinds.
    if bytes.len() < 56 {
        return None;
    }
    let mut found = [(28, false), (20, false), (28, true), (20, true)].into_iter().filter(|(size, swapped)| {
        let mut records = bytes.chunks_exact(*size).take(64).map(|bytes| record(bytes, *swapped)).peekable();
        records.peek().is_some() && records.all(|record| record.is_some_and(|record| record.at_ns > 0))
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn csv(bytes: &[u8]) -> bool {
    lines(bytes).next().is_some_and(|(_, line)| row(line).is_some())
}

fn row(line: &[u8]) -> Option<Record> {
    let text = std::str::from_utf8(line).ok()?;
    let mut fields = text.split(';');
    let thread = fields.next()?.parse().ok().filter(|thread| *thread < 8192)?;
    let time = fields.next().filter(|time| time.split_once('.').is_some_and(|(_, ns)| ns.len() == 9))?;
    let at_ns = decimal(time, 1_000_000_000).filter(|at| *at >= 0)?;
    let value = fields.next().filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
    fields.next().is_none().then_some(Record { thread, at_ns, value })
}

/// Returns the import of the records, in us unless the user requests ns.
fn gathered(asked: &Asked, records: impl Iterator<Item = Result<Record>>) -> Result<Imported> {
    let unit = match asked.unit {
        Some(unit @ (Unit::Ns | Unit::Us)) => unit,
        None => Unit::Us,
        Some(_) => bail!("jitterdebugger counts in ns or us"),
    };
    let mut samples = Samples::default();
    for record in records {
        let Record { thread, at_ns, value } = record?;
        let ns = value.checked_mul(unit.ns()).context("a value beyond 2^63 ns")?;
        samples.add(&Key { thread: Some(thread), ..Key::default() }, ns, Some(at_ns))?;
    }
    ensure!(samples.count() > 0, "no sample");
    let mut series = samples.series(unit.ns())?;
    series.sort_by_key(|one| one.thread);
    for one in &mut series {
        one.heading = "Wake-up latency".into();
        one.cpu = asked.cpus.get(one.thread as usize).copied();
    }
    let mut imported = Imported {
        tool: "jitterdebugger".into(),
        title: "jitterdebugger".into(),
        command: asked.args.clone(),
        series,
        ..Imported::default()
    };
    if asked.unit.is_none() {
        imported.notes.push("the file does not state its unit: latido assumes us (use --unit ns after -N)".into());
    }
    imported.notes.push("the writer stops early: the last samples of a run may not be in it".into());
    Ok(imported)
}

fn read_raw(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let (size, swapped) = raw(bytes).context("no records of 28 or 20 bytes")?;
    let rest = bytes.len() % size;
    let records = bytes.chunks_exact(size).zip(1..).map(|(bytes, at): (_, u64)| {
        record(bytes, swapped).with_context(|| format!("record {at}: not a thread, time and value"))
    });
    let mut imported = gathered(asked, records)?;
    if rest > 0 {
        imported.ending = Ending::Interrupted(format!("its last record has {rest} of {size} bytes"));
    }
    Ok(imported)
}

fn read_csv(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let rows = lines(bytes)
        .filter(|(at, line)| !line.is_empty() && torn != Some(*at))
        .map(|(at, line)| row(line).with_context(|| format!("line {at}: not thread;seconds;value: `{}`", shown(line))));
    let mut imported = gathered(asked, rows)?;
    if let Some(at) = torn {
        imported.ending = Ending::Interrupted(format!("line {at} {TORN}"));
    }
    Ok(imported)
}
