//! A probe that looks on: the machine does what it does, the kernel records it, and the samples are taken from that.

use super::{LOOK, Stage};
use crate::{
    machine::tracefs::Tracefs,
    measure::{gathered::Gathered, looped::Interval},
};
use anyhow::{Context, Result};
use latido_model::{
    protocol::{Phase, Progress},
    record::Outcome,
};
use latido_sys::{clock::Clock, mapped::Mapped};
use std::{fs::File, path::PathBuf, sync::atomic::Ordering, thread, time::Duration};

/// The trace in the spool, from when it is whole.
pub const TRACE: &str = "trace.dat";

/// How often is looked whether it is.
const ROUND: Duration = Duration::from_millis(5);

impl Stage<'_> {
    /// Looks on for as long as the cell lasts. `meanwhile` is asked five times a second whether to go on.
    ///
    /// # Errors
    /// What `meanwhile` met, or the supervisor is gone.
    pub fn watch(&mut self, mut meanwhile: impl FnMut() -> Result<bool>) -> Result<Interval> {
        let conditions = &self.cell.conditions;
        let armed_at_ns = Clock::Monotonic.now();
        let first_slot_ns = armed_at_ns.saturating_add(conditions.warmup.0);
        let until = first_slot_ns.saturating_add(conditions.duration.0);
        let mut progress = Progress { total_ns: conditions.duration.0, armed_at_ns, ..Progress::of(Phase::WarmUp) };
        loop {
            let now = Clock::Monotonic.now();
            progress.elapsed_ns = now.saturating_sub(first_slot_ns);
            progress.phase = if now >= first_slot_ns { Phase::Measuring } else { Phase::WarmUp };
            self.reporter.progress(&progress)?;
            if now >= until || self.interrupted.load(Ordering::Relaxed) || !meanwhile()? {
                break;
            }
            let next = if now < first_slot_ns { first_slot_ns } else { until };
            thread::sleep(LOOK.min(Duration::from_nanos(next - now)));
        }
        self.reporter.progress(&Progress::of(Phase::Finishing))?;
        let ended_ns = Clock::Monotonic.now().clamp(first_slot_ns, until);
        crate::fault::point("measure");
        Ok(Interval { first_slot_ns, ended_ns })
    }

    /// The directory of the trace that is being recorded, as long as what comes with it is held.
    ///
    /// # Errors
    /// Nothing is recorded, or tracefs cannot be had.
    pub fn instance(&self) -> Result<(Tracefs, PathBuf)> {
        self.instance.as_ref().context("no tracer runs")?.dir()
    }

    /// What was recorded, from before the interval to behind it.
    ///
    /// # Errors
    /// The supervisor is gone, or the trace cannot be read.
    pub fn recorded(&mut self) -> Result<Mapped> {
        self.reporter.wants_trace()?;
        let path = self.reporter.spooled(TRACE);
        // The supervisor ends this process where there will be none.
        while !path.exists() {
            thread::sleep(ROUND);
        }
        let file = File::open(&path).with_context(|| format!("opening {}", path.display()))?;
        Mapped::of(&file).with_context(|| format!("reading {}", path.display()))
    }

    /// Delivers the record of what was gathered.
    ///
    /// # Errors
    /// A count that no file can hold, or the supervisor is gone.
    pub fn deliver(&mut self, mut gathered: Gathered) -> Result<()> {
        gathered.close();
        let interval = gathered.interval();
        let interrupted = self.interrupted.load(Ordering::Relaxed);
        let outcome = if interrupted { Outcome::Interrupted } else { Outcome::Complete };
        self.evidence.clock.realtime_shift_ns = self.clocks.shift();
        self.evidence.clock.drift_ppb = self.clocks.drift_ppb();
        let anchors = self.clocks.anchors(interval.first_slot_ns);
        let elapsed = interval.ended_ns.saturating_sub(interval.first_slot_ns);
        let record = self.record(outcome, elapsed, anchors);
        let parts = gathered.series.into_iter().enumerate().map(|(number, mut filled)| {
            let snapshot = filled.open.reader.snapshot().context("the memory of a finished series is not at rest")?;
            let mut facts = filled.open.stated(&snapshot);
            facts.append(&mut filled.facts);
            filled.open.part(number, &snapshot, 0, facts)
        });
        self.reporter.record(record, parts)?;
        Ok(())
    }
}
