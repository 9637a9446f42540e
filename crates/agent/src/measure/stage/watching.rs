//! A probe that looks on: the machine does what it does, the kernel records it, and the samples are taken from that.

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

    /// Ends the recording, where there is one: what follows is no part of the measurement. The trace stays beside the record.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn end_recording(&mut self) -> Result<()> {
        self.reporter.wants_trace()
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

    /// What is recorded of the handler that the probe asked for, or why nothing is; none where it did not ask.
    pub fn stamped(&self) -> Option<Result<Stamped, String>> {
        self.stamped.clone()
    }

    /// Has the threads of an interrupt run at a priority, from here to the end of the cell.
    ///
    /// # Errors
    /// There is none, the kernel refuses it, or the supervisor is gone.
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

    /// Delivers the record of what was gathered.
    ///
    /// # Errors
    /// A count that no file can hold, or the supervisor is gone.
    pub fn deliver(&mut self, gathered: Gathered) -> Result<()> {
        let outcome = if self.interrupted() { Outcome::Interrupted } else { Outcome::Complete };
        self.deliver_as(outcome, gathered)
    }

    /// Whether the host wants the end.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Tells how a measurement goes that no loop of ours makes.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn tell(&mut self, progress: &Progress) -> Result<()> {
        self.reporter.progress(progress)
    }

    /// Tells how high those rank that measure, where that is not the cell's policy.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn ranks(&mut self, priority: Option<u8>) -> Result<()> {
        self.reporter.ranks(priority)
    }

    /// As [`Stage::deliver`], of a measurement that ended so.
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
