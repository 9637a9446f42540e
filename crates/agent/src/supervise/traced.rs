//! The trace of a cell: recorded while it is measured, a file beside its record.

use super::outgoing::Parcel;
use crate::{
    capture::{Capture, Spec},
    journal::Journal,
    measure::assignment::Assignment,
};
use anyhow::{Context, Result};
use latido_model::record::Freeze;
use std::fs::File;

/// Begins the trace that a cell wants, on all CPUs; its readers stay off the measured ones.
///
/// # Errors
/// What is missing and how to get it.
pub(super) fn recording(assignment: &Assignment, journal: &mut Journal) -> Result<Option<Capture>> {
    let cell = &assignment.cell;
    let Some(events) = &cell.conditions.trace else { return Ok(None) };
    let spec =
        Spec { events: events.clone(), quiet: cell.conditions.cpus.clone().unwrap_or_default(), ..Spec::default() };
    Capture::start(&spec, journal).context("a trace is to be recorded (--trace)").map(Some)
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
    let trace = capture.stop()?.write(file)?;
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
