//! A probe that watches passively: the machine runs as usual, the kernel records it, and the samples are taken from the recording.

use super::{LOOK, Stage};
use crate::{
    machine::tracefs::Tracefs,
    measure::{gathered::Gathered, looped::Interval, reporter::ANSWER, wanted::Stamped},
};
use anyhow::{Context, Result, anyhow};
use latido_model::{
    protocol::{Phase, Progress},
    record::{Outcome, TRACE},
};
use latido_sys::{clock::Clock, mapped::Mapped};
use std::{
    fs::{self, File},
    path::PathBuf,
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

/// The interval at which the process checks for the supervisor's file.
const ROUND: Duration = Duration::from_millis(5);

impl Stage<'_> {
    /// Watches for the duration of the cell. Calls `meanwhile` five times per second, and stops if it returns false.
    ///
    /// # Errors
    /// `meanwhile` failed, or the supervisor is gone.
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

    /// Returns the directory of the trace that is being recorded. The caller must keep the returned tracefs while it uses the directory.
    ///
    /// # Errors
    /// Nothing is recorded, or tracefs is not available.
    pub fn instance(&self) -> Result<(Tracefs, PathBuf)> {
        self.instance.as_ref().context("no tracer runs")?.dir()
    }

    /// Ends the recording, if there is one: what follows is not part of the measurement. The trace is kept with the record.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn end_recording(&mut self) -> Result<()> {
        self.reporter.wants_trace()
    }

    /// Returns the recording, which starts before the interval and ends after it.
    ///
    /// # Errors
    /// The supervisor is gone, or the trace cannot be read.
    pub fn recorded(&mut self) -> Result<Mapped> {
        self.reporter.wants_trace()?;
        let path = self.reporter.spooled(TRACE);
        // If there will be no trace, the supervisor ends this process.
        while !path.exists() {
            thread::sleep(ROUND);
        }
        let file = File::open(&path).with_context(|| format!("opening {}", path.display()))?;
        Mapped::of(&file).with_context(|| format!("reading {}", path.display()))
    }

    /// Returns the recorded event of the handler that the probe requested, or why there is none; `None` if it requested none.
    pub fn stamped(&self) -> Option<Result<Stamped, String>> {
        self.stamped.clone()
    }

    /// Gives the threads of an interrupt a priority, from here to the end of the cell.
    ///
    /// # Errors
    /// There are no such threads, the kernel refuses it, or the supervisor is gone.
    pub fn raise(&mut self, line: &str, prio: u8) -> Result<()> {
        self.reporter.wants_priority(line, prio)?;
        let path = self.reporter.spooled(ANSWER);
        while !path.exists() {
            thread::sleep(ROUND);
        }
        let text = fs::read(&path).with_context(|| format!("{}", path.display()))?;
        let raised: Result<(), String> = serde_json::from_slice(&text).context("the supervisor's answer")?;
        raised.map_err(|why| anyhow!("irq_prio={prio}: {why}"))
    }

    /// Sends the record of the gathered series.
    ///
    /// # Errors
    /// A count is too large for a file format, or the supervisor is gone.
    pub fn deliver(&mut self, gathered: Gathered) -> Result<()> {
        let outcome = if self.interrupted() { Outcome::Interrupted } else { Outcome::Complete };
        self.deliver_as(outcome, gathered)
    }

    /// Whether the host requested a stop.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Reports the progress of a measurement that does not run in latido's loops.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn tell(&mut self, progress: &Progress) -> Result<()> {
        self.reporter.progress(progress)
    }

    /// Reports the priority of the measuring threads, if that is not the cell's policy.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn ranks(&mut self, priority: Option<u8>) -> Result<()> {
        self.reporter.ranks(priority)
    }

    /// Sends the record as [`Stage::deliver`] does, with this outcome.
    ///
    /// # Errors
    /// As [`Stage::deliver`].
    pub fn deliver_as(&mut self, outcome: Outcome, gathered: Gathered) -> Result<()> {
        let interval = gathered.interval();
        self.evidence.clock.realtime_shift_ns = self.clocks.shift();
        self.evidence.clock.drift_ppb = self.clocks.drift_ppb();
        let anchors = self.clocks.anchors(interval.first_slot_ns);
        let elapsed = interval.ended_ns.saturating_sub(interval.first_slot_ns);
        let record = self.record(outcome, elapsed, anchors);
        self.reporter.record(record, gathered.parts(0))?;
        Ok(())
    }
}
