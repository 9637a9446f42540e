//! What the main thread does while the loops run, and afterwards: progress, checkpoints, the record.

mod outcome;
mod pace;

use super::{
    Finished, Stage, interval, lock,
    warm_up::{Schedstats, WarmUp},
};
use crate::measure::gathered::Gathered;
use crate::measure::looped::Interval;
use crate::measure::series::OpenSeries;
use anyhow::{Context, Result};
use latido_model::{
    cell::Cell,
    machine::Machine,
    protocol::{Phase, Progress, ThreadProgress},
    record::{self, Anchors, Outcome, Record, ThreadEvidence},
    units::Ns,
};
use latido_rt::recorder::RecorderPhase;
use latido_sys::clock::Clock;
pub use pace::LOOK;
use pace::{Checkpoints, Look, Looks};
use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// The state of the main thread between two checks.
pub struct Lookout {
    armed_at: u64,
    checkpoints: Checkpoints,
    looks: Looks,
    /// The last progress report. It is made once; then only its numbers change.
    progress: Progress,
    /// Each series' count of remarkable samples when its spike was last read.
    noted: Vec<u64>,
    warm_up: WarmUp,
}

impl Lookout {
    /// Starts for threads that were released at `armed_at`, on CLOCK_MONOTONIC in ns.
    pub fn new(armed_at: u64, stage: &Stage<'_>, series: &[Vec<OpenSeries>], schedstats: Schedstats) -> Self {
        let thread = |series: &OpenSeries| ThreadProgress {
            cpu: series.cpu,
            name: series.to_string(),
            unit: Some(series.quantity.unit.to_string()).filter(|unit| unit != "ns"),
            ..ThreadProgress::default()
        };
        let threads: Vec<_> = series.iter().flatten().map(thread).collect();
        let conditions = &stage.cell.conditions;
        Self {
            armed_at,
            checkpoints: Checkpoints::after(crate::fault::checkpoint_every(), Instant::now()),
            looks: Looks::of(threads.len()),
            noted: vec![u64::MAX; threads.len()],
            progress: Progress {
                phase: Phase::WarmUp,
                total_ns: if stage.measurand.counts_samples { 0 } else { conditions.duration.0 },
                armed_at_ns: armed_at,
                threads,
                ..Progress::default()
            },
            warm_up: WarmUp::begins(schedstats),
        }
    }

    /// Returns how long to wait for the next check, less if the warm-up ends before, so that this is reported soon.
    pub fn patience(&self, cell: &Cell) -> Duration {
        let warmup_ends_ns = self.armed_at.saturating_add(cell.conditions.warmup.0);
        pace::patience(self.progress.phase, warmup_ends_ns, Clock::Monotonic.now())
    }

    /// Updates the numbers. Returns whether to report them now.
    fn renew(&mut self, elapsed_ns: u64, limit: Option<Ns>, series: &mut [Vec<OpenSeries>]) -> bool {
        let phase = if elapsed_ns == 0 { Phase::WarmUp } else { Phase::Measuring };
        let turn = phase != self.progress.phase;
        (self.progress.phase, self.progress.elapsed_ns) = (phase, elapsed_ns);
        let Look { told, thorough } = self.looks.next(turn);
        let limit = limit.map(|limit| limit.0.cast_signed());
        let shown = self.progress.threads.iter_mut().zip(&mut self.noted);
        for (series, (thread, noted)) in series.iter_mut().flatten().zip(shown).filter(|_| told) {
            let glance = series.reader.glance();
            // What the warm-up recorded will be discarded, and its times have no origin yet.
            if glance.phase == RecorderPhase::WarmUp {
                continue;
            }
            (thread.count, thread.now, thread.max) = (glance.count, glance.last, glance.max);
            (thread.missed, thread.kept) = (glance.missed, series.reader.latest());
            if glance.noted != *noted
                && let Some(spike) = series.reader.spike(limit)
            {
                (*noted, thread.spike) = (glance.noted, Some((spike.value, spike.at_ns)));
            }
            if thorough {
                [thread.p50, thread.p999] = series.reader.quantiles([500, 999]);
                series.reader.drain();
            }
        }
        told
    }
}

impl Stage<'_> {
    /// Reports progress, and makes a checkpoint once per minute.
    pub(super) fn look(&mut self, lookout: &mut Lookout, series: &mut [Vec<OpenSeries>]) -> Result<()> {
        let warmup = self.cell.conditions.warmup.0;
        let elapsed = Clock::Monotonic.now().saturating_sub(lookout.armed_at).saturating_sub(warmup);
        if elapsed > 0 && warmup > 0 && lookout.progress.phase == Phase::WarmUp {
            lookout.warm_up.ends();
        }
        if lookout.renew(elapsed, self.cell.conditions.limit, series) {
            self.reporter.progress(&lookout.progress)?;
        }
        if lookout.checkpoints.is_due(Instant::now(), elapsed) {
            let every = crate::fault::checkpoint_every();
            let told = self.checkpoint(lookout.armed_at + warmup, elapsed, series)?;
            lookout.checkpoints.tried(told, every, Instant::now());
        }
        crate::fault::point("measure");
        Ok(())
    }

    /// Stores what was measured so far. A checkpoint contains every series or is not made.
    fn checkpoint(&mut self, from: u64, elapsed: u64, series: &mut [Vec<OpenSeries>]) -> Result<bool> {
        self.evidence.policy_refused = lock(&self.refused).clone();
        let record = self.record(Outcome::Checkpoint, elapsed, self.clocks.anchors(from));
        let parts = series.iter_mut().flatten().enumerate().map(|(index, series)| {
            let snapshot =
                series.reader.snapshot().context("the loop left no pause in which latido could copy its counts")?;
            let facts = series.stated(&snapshot);
            series.part(index, &snapshot, 0, facts)
        });
        self.reporter.record(record, parts)
    }

    /// Sends the record of a finished measurement.
    pub(super) fn conclude(
        &mut self,
        lookout: &Lookout,
        series: Vec<Vec<OpenSeries>>,
        results: Vec<Finished>,
        gathered: Option<Gathered>,
    ) -> Result<()> {
        crate::fault::point("measure");
        self.evidence.policy_refused = lock(&self.refused).take();
        if let Some(freezer) = &self.freezer {
            self.evidence.freeze = Some(freezer.told());
        }
        let Interval { first_slot_ns: first, ended_ns: ended } = interval(&results);
        let mut outcome = Outcome::Complete;
        let mut parts = Vec::new();
        for (own_series, result) in series.into_iter().zip(results) {
            let interval = result.interval.context("the measuring loop failed")?;
            let stand_in = lock(&self.stand_ins).remove(&result.evidence.thread);
            let own = ThreadEvidence { warmup_delay_ns: lookout.warm_up.delay_ns(result.thread), ..result.evidence };
            self.evidence.threads.push(stand_in.unwrap_or(own));
            for mut series in own_series {
                let snapshot = series.reader.snapshot().context("the memory of a finished loop is not at rest")?;
                let mut facts = series.stated(&snapshot);
                outcome::throttled(&mut self.evidence.throttle, &facts);
                let offset_ns = interval.first_slot_ns.saturating_sub(first);
                facts.insert("first_slot_ns".into(), i64::try_from(offset_ns).unwrap_or(i64::MAX));
                if let Some(stopped) = snapshot.stopped {
                    outcome::stopped(&mut outcome, stopped.value, series.cpu, stopped.at_ns + offset_ns);
                }
                // A core sets its timers early (gravity), so such a sample says nothing about the clock.
                let negative = self.cell.scheduling.core().map_or(snapshot.plain.negative, |_| 0);
                self.evidence.clock.backwards += negative + snapshot.spin.backwards;
                parts.push(series.part(parts.len(), &snapshot, offset_ns, facts)?);
            }
        }
        parts
            .extend(gathered.into_iter().flat_map(|gathered| gathered.parts(parts.len())).collect::<Result<Vec<_>>>()?);
        let interrupted = self.interrupted.load(Ordering::Relaxed);
        let outcome = outcome::concluded(outcome, interrupted, self.stop.load(Ordering::Relaxed));
        self.evidence.clock.realtime_shift_ns = self.clocks.shift();
        self.evidence.clock.drift_ppb = self.clocks.drift_ppb();
        let anchors = self.clocks.anchors(first);
        let record = self.record(outcome, ended.saturating_sub(first), anchors);
        self.reporter.record(record, parts.into_iter().map(Ok))?;
        Ok(())
    }

    pub(super) fn record(&self, outcome: Outcome, elapsed_ns: u64, anchors: Anchors) -> Record {
        Record {
            schema: record::SCHEMA,
            latido: env!("CARGO_PKG_VERSION").into(),
            probe: self.cell.probe.name.clone(),
            cell: self.cell.clone(),
            outcome,
            elapsed_ns,
            warmup_ns: self.cell.conditions.warmup.0,
            anchors,
            machine: Machine::default(),
            quality: self.evidence.clone(),
            load: Vec::new(),
            tunings: Vec::new(),
            series: Vec::new(),
            skipped: self.skipped.clone(),
            attachments: Vec::new(),
            source: None,
        }
    }
}
