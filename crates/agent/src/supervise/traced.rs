//! The trace of a cell, which latido records during the measurement: as a file next to its record, or as the source of its probe's samples.

use super::outgoing::Parcel;
use crate::{
    capture::{Capture, Spec, Time},
    journal::{Instance, Journal},
    measure::{On, Stamped, Stamping, Wanted, assignment::Assignment},
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{Cell, Conditions},
    record::{Freeze, Sample, Series, TRACE, TraceRecord},
    run::{codec, late},
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

/// The recording of a cell's measurement.
pub(super) struct Recording {
    instance: Instance,
    stamped: Option<Stamped>,
    /// Whether there is no trace to read: its tracer keeps a value.
    maxima: bool,
    /// Whether the cell itself requested the trace.
    kept: bool,
    /// Whether its probe takes samples from it. Then latido needs all of it.
    whole: bool,
    state: State,
}

enum State {
    Runs(Box<Capture>),
    /// It is complete, and stored as a file.
    Lies(Box<TraceRecord>, PathBuf),
}

impl Recording {
    /// Begins the trace that a cell or its probe wants, on all CPUs. The reading threads stay off the measured CPUs.
    ///
    /// # Errors
    /// What is missing and how to get it.
    pub(super) fn begin(
        assignment: &Assignment,
        wanted: Option<Wanted>,
        journal: &mut Journal,
    ) -> Result<Option<Self>> {
        let cell = &assignment.cell;
        let recorded = cell.conditions.recorded();
        if recorded.is_none() && wanted.is_none() {
            return Ok(None);
        }
        let kept = recorded.is_some();
        // A probe that only watches passively has no CPU to keep the reader off. The wake-ups of the reader would be all that such a CPU
        // shows.
        let whole = wanted.is_some();
        let looks_on = wanted.as_ref().is_some_and(|wanted| !wanted.beside);
        let quiet = if looks_on { None } else { cell.conditions.cpus.clone() };
        let mut wanted = wanted.unwrap_or_default();
        let (mut maxima, mut cpus) = (false, None);
        if let Some(tracer) = &mut wanted.tracer {
            maxima = tracer.maxima;
            cpus = cell.conditions.cpus.clone().filter(|_| tracer.on != On::All);
            if let (On::Named(file), Some(cpus)) = (tracer.on, &cpus) {
                tracer.settings.push((file, cpus.to_string()));
            }
        }
        let (events, explaining) =
            recorded.map_or((None, false), |(events, explaining)| (Some(events.to_vec()), explaining));
        let (quiet, freezes) = (quiet.unwrap_or_default(), cell.conditions.stop_on.is_some());
        let spec = Spec { events, explaining, wanted, cpus, quiet, freezes, ..Spec::default() };
        let capture = Capture::start(&spec, journal).with_context(|| match kept {
            true => asked(&cell.conditions).into(),
            false => format!("the probe `{}` needs a trace", cell.probe.name),
        })?;
        let stamped = capture.stamped().cloned();
        Ok(Some(Self {
            instance: capture.instance().clone(),
            stamped,
            maxima,
            kept,
            whole,
            state: State::Runs(Box::new(capture)),
        }))
    }

    /// Begins the trace as [`Self::begin`] does, for a probe that can also measure without it. Returns what is recorded of its handler, or
    /// why that is not possible.
    ///
    /// # Errors
    /// latido cannot record what the cell itself requested.
    pub(super) fn begin_beside(
        assignment: &Assignment,
        wanted: Option<Wanted>,
        journal: &mut Journal,
    ) -> Result<(Option<Self>, Option<Stamping>)> {
        let stamps = wanted.as_ref().is_some_and(|wanted| wanted.beside);
        match Self::begin(assignment, wanted, journal) {
            Ok(recording) => {
                let stamped = recording.as_ref().and_then(|recording| recording.stamped.clone());
                Ok((recording, stamped.map(Ok)))
            }
            Err(error) if stamps && !error.is::<crate::journal::pulse::Stopped>() => {
                Ok((Self::begin(assignment, None, journal)?, Some(Err(format!("{error:#}")))))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the instance that records.
    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Ends the trace and puts it into the spool. It is complete as soon as it has its final name.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(super) fn hand_over(self, spool: &Path) -> Result<Self> {
        self.written(spool, None)
    }

    /// Does the same. Of a trace that only explains samples, it writes what is close to these.
    fn written(self, spool: &Path, around: Option<Vec<Time>>) -> Result<Self> {
        let State::Runs(capture) = self.state else { return Ok(self) };
        let (unfinished, path) = (spool.join("trace.part"), spool.join(TRACE));
        let file = File::create_new(&unfinished).with_context(|| format!("{}", unfinished.display()))?;
        let stopped = match around {
            Some(samples) => capture.stop_around(&samples)?,
            None => capture.stop()?,
        };
        let record = stopped.write(file)?;
        fs::rename(&unfinished, &path).with_context(|| format!("{}", path.display()))?;
        Ok(Self { state: State::Lies(Box::new(record), path), ..self })
    }

    /// Discards what no sample of a checkpoint needs. So a trace that explains a few samples stays small, however long the measurement
    /// takes.
    ///
    /// # Errors
    /// The checkpoint's data on its largest samples cannot be read.
    pub(super) fn checkpoint(&mut self, parcel: &Parcel) -> Result<()> {
        if self.whole {
            return Ok(());
        }
        let (State::Runs(capture), Some(worst)) = (&mut self.state, explained(&parcel.record.cell)) else {
            return Ok(());
        };
        let told = parcel.record.anchors.monotonic_ns.saturating_add(parcel.record.elapsed_ns);
        capture.keep(&times(parcel, worst)?, told);
        Ok(())
    }

    /// Ends the trace and notes it in the record. Puts it next to the record's other files if the cell requested it.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(super) fn enclose(self, spool: &Path, parcel: &mut Parcel) -> Result<()> {
        if self.maxima {
            return Ok(());
        }
        let around = explained(&parcel.record.cell).map(|worst| times(parcel, worst)).transpose()?;
        let Self { instance, kept, state: State::Lies(trace, path), .. } = self.written(spool, around)? else {
            return Ok(());
        };
        let record = &mut parcel.record;
        // The trace is gone: no user needs to switch it on again.
        if let Some(Freeze::Frozen { switches, .. }) = &mut record.quality.freeze {
            switches.retain(|switch| !switch.contains(instance.name()));
        }
        if kept {
            fs::rename(&path, parcel.dir.join(TRACE)).with_context(|| format!("{}", path.display()))?;
            parcel.files.push((TRACE.into(), trace.bytes));
            record.attachments.push(TRACE.into());
        }
        record.quality.trace = Some(*trace);
        Ok(())
    }
}

/// Returns, in words, which option requested a trace.
pub(super) fn asked(conditions: &Conditions) -> &'static str {
    if conditions.trace.is_some() { "cannot record a trace (--trace)" } else { "cannot explain samples (--explain)" }
}

/// Returns how many of the largest samples the trace explains; `None` if all of it is wanted.
fn explained(cell: &Cell) -> Option<u32> {
    cell.conditions.explain.filter(|_| cell.conditions.trace.is_none())
}

/// Returns the times of the samples that the trace explains.
fn times(parcel: &Parcel, worst: u32) -> Result<Vec<Time>> {
    let largest = |series: &Series| -> Result<Vec<Sample>> {
        let Some(name) = &series.files.largest else { return Ok(Vec::new()) };
        codec::decode_largest(&fs::read(parcel.dir.join(name)).with_context(|| name.clone())?)
    };
    let chosen = late::late(&parcel.record, worst, largest)?;
    Ok(chosen.samples.iter().map(|one| (one.end_ns.saturating_sub(one.ns), one.end_ns)).collect())
}
