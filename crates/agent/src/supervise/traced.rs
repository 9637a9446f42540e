//! The trace of a cell: recorded while it is measured; a file beside its record, or what its probe takes samples from.

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

/// What is recorded while a cell is measured.
pub(super) struct Recording {
    instance: Instance,
    stamped: Option<Stamped>,
    /// Whether there is nothing to be read of it: its tracer keeps a value.
    maxima: bool,
    /// Whether the cell asked for the trace itself.
    kept: bool,
    /// Whether its probe takes samples from it: then all of it is needed.
    whole: bool,
    state: State,
}

enum State {
    Runs(Box<Capture>),
    /// It is over, and lies there as a file.
    Lies(Box<TraceRecord>, PathBuf),
}

impl Recording {
    /// Begins the trace that a cell or its probe wants, on all CPUs; its readers stay off the measured ones.
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
        // Who only looks on has no CPU to be kept off: what wakes the reader would be all that is there to be seen.
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

    /// The same where a probe measures without it too: what is recorded of its handler, or why that cannot be.
    ///
    /// # Errors
    /// What the cell itself asked for cannot be recorded.
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

    /// Where it is recorded.
    pub(super) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Ends it and puts it into the spool: whole, as soon as it has its name.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub(super) fn hand_over(self, spool: &Path) -> Result<Self> {
        self.written(spool, None)
    }

    /// The same; of a trace that is there to explain samples, what lies around these.
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

    /// Gives up what no sample of a checkpoint needs, so that a trace that is there to explain a few samples stays small
    /// however long is measured.
    ///
    /// # Errors
    /// What the checkpoint tells of its largest samples cannot be read.
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

    /// Ends it and tells of it in the record; beside the record's other files it lies where that was asked for.
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
        // It is gone: nobody need switch it on again.
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

/// The times of the samples that are explained.
fn times(parcel: &Parcel, worst: u32) -> Result<Vec<Time>> {
    let largest = |series: &Series| -> Result<Vec<Sample>> {
        let Some(name) = &series.files.largest else { return Ok(Vec::new()) };
        codec::decode_largest(&fs::read(parcel.dir.join(name)).with_context(|| name.clone())?)
    };
    let chosen = late::late(&parcel.record, worst, largest)?;
    Ok(chosen.samples.iter().map(|one| (one.end_ns.saturating_sub(one.ns), one.end_ns)).collect())
}
