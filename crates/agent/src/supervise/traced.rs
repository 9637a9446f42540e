//! The trace of a cell: recorded while it is measured, a file beside its record.

use super::outgoing::Parcel;
use crate::{
    capture::{Capture, Spec, Time},
    journal::Journal,
    measure::assignment::Assignment,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{Cell, Conditions},
    record::{Freeze, Sample, Series},
    run::{codec, late},
};
use std::fs::{self, File};

/// Begins the trace that a cell wants, on all CPUs; its readers stay off the measured ones.
///
/// # Errors
/// What is missing and how to get it.
pub(super) fn recording(assignment: &Assignment, journal: &mut Journal) -> Result<Option<Capture>> {
    let cell = &assignment.cell;
    let Some((events, explaining)) = cell.conditions.recorded() else { return Ok(None) };
    let quiet = cell.conditions.cpus.clone().unwrap_or_default();
    let spec = Spec { events: events.to_vec(), explaining, quiet, ..Spec::default() };
    Capture::start(&spec, journal).with_context(|| asked(&cell.conditions)).map(Some)
}

/// Who wants a trace.
pub(super) fn asked(conditions: &Conditions) -> &'static str {
    if conditions.trace.is_some() {
        "a trace is to be recorded (--trace)"
    } else {
        "samples are to be explained (--explain)"
    }
}

/// How many of the largest samples a trace is for; none where all of it is wanted.
fn explained(cell: &Cell) -> Option<u32> {
    cell.conditions.explain.filter(|_| cell.conditions.trace.is_none())
}

/// Gives up what no sample of a checkpoint needs, so that a trace that is there to explain a few samples stays small
/// however long is measured.
///
/// # Errors
/// What the checkpoint tells of its largest samples cannot be read.
pub(super) fn checkpoint(parcel: &Parcel, capture: &mut Capture) -> Result<()> {
    let Some(worst) = explained(&parcel.record.cell) else { return Ok(()) };
    let told = parcel.record.anchors.monotonic_ns.saturating_add(parcel.record.elapsed_ns);
    capture.keep(&times(parcel, worst)?, told);
    Ok(())
}

/// The times of the samples that are explained.
fn times(parcel: &Parcel, worst: u32) -> Result<Vec<Time>> {
    let largest = |series: &Series| -> Result<Vec<Sample>> {
        let Some(name) = &series.files.largest else { return Ok(Vec::new()) };
        codec::decode_largest(&fs::read(parcel.dir.join(name)).with_context(|| name.clone())?)
    };
    let chosen = late::late(&parcel.record, worst, largest)?;
    Ok(chosen.samples.iter().map(|one| (one.end_ns.saturating_sub(one.ns), one.end_ns)).collect())
}

/// The name of a trace beside its record.
const TRACE: &str = "trace.dat";

/// Ends a trace and puts it beside the record's other files.
///
/// # Errors
/// It cannot be read or written.
pub(super) fn enclose(parcel: &mut Parcel, capture: Capture) -> Result<()> {
    let instance = capture.instance().to_owned();
    let path = parcel.dir.join(TRACE);
    let file = File::create_new(&path).with_context(|| format!("{}", path.display()))?;
    let stopped = match explained(&parcel.record.cell) {
        Some(worst) => capture.stop_around(&times(parcel, worst)?)?,
        None => capture.stop()?,
    };
    let trace = stopped.write(file)?;
    let record = &mut parcel.record;
    // It is gone: nobody need switch it on again.
    if let Some(Freeze::Frozen { switches, .. }) = &mut record.quality.freeze {
        switches.retain(|switch| !switch.contains(&instance));
    }
    parcel.files.push((TRACE.into(), trace.bytes));
    record.attachments.push(TRACE.into());
    record.quality.trace = Some(trace);
    Ok(())
}
