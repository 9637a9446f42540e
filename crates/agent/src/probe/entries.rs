//! Entries that a tracer writes into the ring, decoded by the kernel's description (`events/ftrace/*/format`).

use super::looking_on::paired;
use crate::measure::{Gathered, Interval, Stage};
use anyhow::{Context, Result, ensure};
use latido_model::{cell::Cell, units::Ns};
use latido_trace::{
    bytes::Endian,
    file::Trace,
    format::Number,
    pairing::{Met, Sink},
};

/// An entry: its CPU, its time, and the requested fields.
pub struct Entry<const N: usize> {
    /// The CPU.
    pub cpu: u32,
    /// The time on CLOCK_MONOTONIC, ns.
    pub time: u64,
    /// The requested fields, in that order. A field that the kernel does not have is 0.
    pub fields: [u64; N],
}

impl<const N: usize> Entry<N> {
    /// Converts a field in microseconds to ns.
    pub fn us(&self, field: usize) -> u64 {
        self.fields.get(field).map_or(0, |us| us.saturating_mul(1000))
    }

    /// Returns a field as it is.
    pub fn field(&self, field: usize) -> u64 {
        self.fields.get(field).copied().unwrap_or(0)
    }
}

struct Entries<F, const N: usize> {
    id: u16,
    endian: Endian,
    fields: [Option<Number>; N],
    take: F,
}

impl<F: FnMut(Entry<N>), const N: usize> Sink for Entries<F, N> {
    fn event(&mut self, cpu: u32, time: u64, record: &[u8], _: Option<&latido_trace::events::Happened>) {
        if self.endian.u16(record, 0) == Some(self.id) {
            let value = |field: Option<Number>| field.and_then(|field| field.of(record)).map_or(0, i64::cast_unsigned);
            (self.take)(Entry { cpu, time, fields: self.fields.map(value) });
        }
    }
}

/// Passes each entry of a tracer to `take`.
///
/// # Errors
/// The trace does not describe the entries, or not the first of the fields.
pub fn each<const N: usize>(
    trace: &Trace<'_>,
    name: &str,
    fields: [&str; N],
    take: impl FnMut(Entry<N>),
) -> Result<Met> {
    let format = trace.formats.iter().map(|one| &one.format).find(|format| format.name == name);
    let format = format.with_context(|| format!("this kernel does not describe the entries of its tracer `{name}`"))?;
    let fields = fields.map(|field| format.number(field, trace.endian));
    ensure!(
        fields.first().is_some_and(Option::is_some),
        "this version of latido does not know the format of this kernel's tracer `{name}`"
    );
    Ok(paired(trace, &mut Entries { id: format.id, endian: trace.endian, fields, take }))
}

/// Formats a value in microseconds for a file.
///
/// # Errors
/// The value is not a whole number of microseconds, at least one.
pub fn us(name: &str, time: Ns) -> Result<String> {
    ensure!(time.0 >= 1000 && time.0.is_multiple_of(1000), "`{name}` must be whole microseconds");
    Ok((time.0 / 1000).to_string())
}

/// Watches passively, and passes the recording to a function that fills series.
///
/// # Errors
/// The stage or the function failed.
pub fn gather(
    stage: &mut Stage<'_>,
    fill: impl FnOnce(&Stage<'_>, &Trace<'_>, &mut Gathered) -> Result<Met>,
) -> Result<()> {
    let interval: Interval = stage.watch(|| Ok(true))?;
    let mapped = stage.recorded()?;
    let trace = Trace::open(&mapped)?;
    let mut gathered = Gathered::over(interval);
    let met = fill(stage, &trace, &mut gathered)?;
    gathered.met(&met);
    stage.deliver(gathered)
}

/// Refuses what a tracer with its own workload cannot do.
///
/// # Errors
/// The reason and the remedy.
pub fn check(probe: &str, cell: &Cell) -> Result<()> {
    super::looking_on::check(probe, cell)
}
