//! What the probes share that take their samples from a trace.

use anyhow::{Result, ensure};
use latido_model::cell::Cell;
use latido_trace::{
    file::Trace,
    pairing::{Definition, Met, Pairing, Sink, pair},
};

/// Refuses what nobody can do who only looks on.
///
/// # Errors
/// The reason.
pub fn check(probe: &str, cell: &Cell) -> Result<()> {
    ensure!(
        cell.conditions.stop_on.is_none(),
        "the probe `{probe}` takes its samples from a trace when all is over: no sample can stop it; leave --stop-on away, or \
         use `wakeup`"
    );
    Ok(())
}

/// Pairs the events of a trace.
pub fn paired(trace: &Trace<'_>, sink: &mut impl Sink) -> Met {
    // A trace of our own has one buffer.
    trace
        .buffers
        .first()
        .map_or_else(Met::default, |buffer| pair(trace, buffer, &mut Pairing::of(Definition::Waking), sink))
}
