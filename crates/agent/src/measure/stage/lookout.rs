//! What the main thread does while the loops run, and when they are over: progress, checkpoints, the record.

use super::{Finished, Stage, lock};
use crate::measure::series::OpenSeries;
use anyhow::{Context, Result};
use latido_model::{
    cell::Cell,
    machine::Machine,
    protocol::{Phase, Progress, ThreadProgress},
    record::{self, Anchors, Outcome, Record},
    units::Ns,
};
use latido_rt::Snapshot;
use latido_sys::clock::Clock;
use std::{
    collections::BTreeMap,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// How often the main thread looks: drains blocks, sends progress.
const LOOK: Duration = Duration::from_millis(200);

/// What the main thread remembers between two looks.
pub struct Lookout {
    armed_at: u64,
    checkpoint: Instant,
    phase: Phase,
}

impl Lookout {
    /// Of threads that were let go then, on CLOCK_MONOTONIC in ns.
    pub fn since(armed_at: u64) -> Self {
        Self { armed_at, checkpoint: Instant::now(), phase: Phase::WarmUp }
    }

    /// How long to wait: a look's time, shorter when the warm-up ends before, so that others learn of it.
    pub fn patience(&self, cell: &Cell) -> Duration {
        if self.phase == Phase::Measuring {
            return LOOK;
        }
        let until = self.armed_at.saturating_add(cell.conditions.warmup.0).saturating_add(1_000_000);
        Duration::from_nanos(until.saturating_sub(Clock::Monotonic.now())).clamp(Duration::from_millis(1), LOOK)
    }
}

impl Stage<'_> {
    /// Progress, and once a minute a checkpoint.
    pub(super) fn look(&mut self, lookout: &mut Lookout, series: &mut [Vec<OpenSeries>]) -> Result<()> {
        let elapsed =
            Clock::Monotonic.now().saturating_sub(lookout.armed_at).saturating_sub(self.cell.conditions.warmup.0);
        lookout.phase = if elapsed == 0 { Phase::WarmUp } else { Phase::Measuring };
        let mut progress = Progress {
            phase: lookout.phase,
            elapsed_ns: elapsed,
            total_ns: if self.measurand.counts_samples { 0 } else { self.cell.conditions.duration.0 },
            armed_at_ns: lookout.armed_at,
            threads: Vec::new(),
        };
        let mut due = lookout.checkpoint.elapsed() >= crate::fault::checkpoint_every();
        let mut parts = Vec::new();
        for (index, series) in series.iter_mut().flatten().enumerate() {
            let Some(snapshot) = series.reader.snapshot() else {
                series.reader.drain();
                // A checkpoint holds every series or is not made: the next look tries again.
                due = false;
                continue;
            };
            progress.threads.push(thread_progress(series, &snapshot, self.cell.conditions.limit));
            if due {
                parts.push(series.part(index, &snapshot, 0, BTreeMap::new())?);
            }
        }
        self.reporter.progress(progress)?;
        if due && elapsed > 0 {
            lookout.checkpoint = Instant::now();
            self.evidence.policy_refused = lock(&self.refused).clone();
            let anchors = self.clocks.anchors(lookout.armed_at + self.cell.conditions.warmup.0);
            self.reporter.record(self.record(Outcome::Checkpoint, elapsed, anchors), parts)?;
        }
        crate::fault::point("measure");
        Ok(())
    }

    /// The record of a measurement that is over.
    pub(super) fn conclude(&mut self, series: Vec<Vec<OpenSeries>>, results: Vec<Finished>) -> Result<()> {
        self.reporter.progress(Progress { phase: Phase::Finishing, ..Progress::default() })?;
        crate::fault::point("measure");
        self.evidence.policy_refused = lock(&self.refused).take();
        // A helper's times are of no interest: it was there before the first sample.
        let measured = results.iter().filter(|result| !result.evidence.helper);
        let intervals = || measured.clone().filter_map(|result| result.interval.as_ref().ok());
        let first = intervals().map(|interval| interval.first_slot_ns).min().unwrap_or(0);
        let ended = intervals().map(|interval| interval.ended_ns).max().unwrap_or(0);
        let mut outcome = Outcome::Complete;
        let mut parts = Vec::new();
        for (own, result) in series.into_iter().zip(results) {
            let interval = result.interval.context("the measuring loop failed")?;
            let stand_in = lock(&self.stand_ins).remove(&result.evidence.thread);
            self.evidence.threads.push(stand_in.unwrap_or(result.evidence));
            for mut series in own {
                let snapshot = series.reader.snapshot().context("the memory of a finished loop is not at rest")?;
                let mut facts = series.stated(&snapshot);
                self.evidence.throttle.throttle_like += facts.get("throttle_like").map_or(0, |n| n.unsigned_abs());
                let offset_ns = interval.first_slot_ns.saturating_sub(first);
                facts.insert("first_slot_ns".into(), i64::try_from(offset_ns).unwrap_or(i64::MAX));
                if let Some(stopped) = snapshot.stopped {
                    // Of several threads above it the first in time is the one that ended the cell.
                    let at_ns = stopped.at_ns + offset_ns;
                    if !matches!(outcome, Outcome::Stopped { at_ns: earlier, .. } if earlier <= at_ns) {
                        outcome = Outcome::Stopped { value_ns: stopped.value, cpu: series.cpu, at_ns };
                    }
                }
                self.evidence.clock.backwards += snapshot.plain.negative + snapshot.spin.backwards;
                parts.push(series.part(parts.len(), &snapshot, offset_ns, facts)?);
            }
        }
        // Who is interrupted after the last loop was over has measured all the same: the loops were not told to stop.
        let told = self.interrupted.load(Ordering::Relaxed) && self.stop.load(Ordering::Relaxed);
        if outcome == Outcome::Complete && told {
            outcome = Outcome::Interrupted;
        }
        self.evidence.clock.realtime_shift_ns = self.clocks.shift();
        self.evidence.clock.drift_ppb = self.clocks.drift_ppb();
        let anchors = self.clocks.anchors(first);
        let record = self.record(outcome, ended.saturating_sub(first), anchors);
        self.reporter.record(record, parts)
    }

    fn record(&self, outcome: Outcome, elapsed_ns: u64, anchors: Anchors) -> Record {
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
        }
    }
}

fn thread_progress(series: &OpenSeries, snapshot: &Snapshot, limit: Option<Ns>) -> ThreadProgress {
    let plain = &snapshot.plain;
    // Order statistic ceil(n p); none where fewer than 1/(1-p) samples support it.
    let quantile = |per_mille: u64| {
        let supported = plain.count >= 1000 / (1000 - per_mille);
        supported.then(|| plain.at_rank((plain.count * per_mille).div_ceil(1000)))?
    };
    let above = |sample: &&latido_rt::Sample| limit.is_some_and(|limit| sample.value > limit.0.cast_signed());
    let latest = snapshot.largest.iter().filter(above).max_by_key(|sample| sample.at_ns);
    ThreadProgress {
        cpu: series.cpu,
        count: plain.count,
        now: snapshot.last,
        p50: quantile(500),
        p999: quantile(999),
        max: plain.max,
        missed: snapshot.slots.missed,
        spike: latest.or(snapshot.largest.first()).map(|sample| (sample.value, sample.at_ns)),
        name: series.to_string(),
        unit: Some(series.quantity.unit.to_string()).filter(|unit| unit != "ns"),
        kept: series.reader.latest(),
    }
}
