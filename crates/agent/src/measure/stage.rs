//! What a probe finds in the measuring process: its cell, its threads, and where its series go.

use super::{
    assignment::Assignment,
    clocks::Clocks,
    reporter::Reporter,
    series::{Name, Placed, series},
    threads,
};
use crate::machine::door::Entry;
use anyhow::{Context, Result, bail};
use latido_model::{
    cell::{Cell, Scheduling},
    machine::Machine,
    protocol::{Phase, Progress, ThreadProgress},
    record::{self, Anchors, BAND_EDGES, Evidence, Outcome, Record, Skip, ThreadEvidence},
    units::Ns,
};
use latido_rt::{Reader, Snapshot};
use latido_sys::{clock::Clock, sched, signal, tsc};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Barrier, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI32, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How often the main thread looks: drains blocks, sends progress.
const LOOK: Duration = Duration::from_millis(200);

/// A series while it is being measured: the reading end of what one thread writes.
pub struct Tap {
    /// What it is called.
    pub name: Name,
    /// Whether slots are counted.
    pub periodic: bool,
    /// The reading end.
    pub reader: Reader,
    /// What the probe itself has to say of the result.
    pub facts: fn(&Snapshot) -> Facts,
}

/// Whole-numbered facts of a series.
pub type Facts = BTreeMap<String, i64>;

/// For series with nothing to add.
pub fn no_facts(_: &Snapshot) -> Facts {
    Facts::new()
}

/// What a thread's loop does; runs on the prepared thread.
pub type Loop = Box<dyn FnOnce() -> Done + Send>;

/// One measuring thread: what it does, and what can be read of it meanwhile.
pub struct Job {
    /// The CPU to pin to; `None` leaves it free.
    pub cpu: Option<u32>,
    /// The policy of the loop; `None` for a probe that needs none.
    pub scheduling: Option<Scheduling>,
    /// Its series; none for a helper.
    pub taps: Vec<Tap>,
    /// Runs on the thread before the policy is set and touches everything that the loop will touch.
    pub rehearse: Box<dyn FnOnce() -> Loop + Send>,
}

/// What a thread says when its loop is over.
#[derive(Debug, Default)]
pub struct Done {
    /// The first counted slot, or the start of the loop, on CLOCK_MONOTONIC.
    pub first_slot_ns: u64,
    /// When the loop ended, on the same clock.
    pub ended_ns: u64,
    /// Why it could not go on, if so.
    pub failed: Option<String>,
}

/// What the kernel says of threads in other processes, by the job that stands for each here: put in before that job
/// ends, it goes into the record instead of the job's own.
pub type StandIns = Arc<Mutex<BTreeMap<u32, ThreadEvidence>>>;

/// What a thread sends when it is over.
struct Finished {
    thread: usize,
    done: Done,
    evidence: ThreadEvidence,
}

/// The measuring process as a probe sees it.
pub struct Stage<'a> {
    /// The cell; its CPUs are known.
    pub cell: Cell,
    /// The doors to isolated CPUs.
    pub entries: Vec<Entry>,
    /// Set to end all loops: by the host, by a sample above `stop_on`, by a failure.
    pub stop: Arc<AtomicBool>,
    /// What the trust checks will look at.
    pub evidence: Evidence,
    /// What could not be had.
    pub skipped: Vec<Skip>,
    interrupted: Arc<AtomicBool>,
    /// The first refusal that a thread met, known before its loop begins.
    refused: Arc<Mutex<Option<String>>>,
    stand_ins: StandIns,
    reporter: &'a mut Reporter,
    clocks: Clocks,
}

impl<'a> Stage<'a> {
    /// A stage for one cell; `interrupted` is set when the host wants the end.
    pub fn new(assignment: Assignment, interrupted: Arc<AtomicBool>, reporter: &'a mut Reporter) -> Self {
        let evidence = Evidence { housekeeping: assignment.housekeeping, ..Evidence::default() };
        let stop = Arc::new(AtomicBool::new(false));
        let cell = assignment.cell;
        Self {
            cell,
            entries: assignment.entries,
            stop,
            evidence,
            skipped: Vec::new(),
            interrupted,
            refused: Arc::default(),
            stand_ins: Arc::default(),
            reporter,
            clocks: Clocks::now(),
        }
    }

    /// Notes what was refused to a thread of another process.
    pub fn refuse(&self, why: String) {
        lock(&self.refused).get_or_insert(why);
    }

    /// Where a job puts the evidence of the thread that it stands for.
    pub fn stand_ins(&self) -> StandIns {
        Arc::clone(&self.stand_ins)
    }

    /// The CPUs to measure, ascending.
    pub fn cpus(&self) -> Vec<u32> {
        self.cell.conditions.cpus.iter().flat_map(|cpus| cpus.iter()).collect()
    }

    /// Every CPU this process may use: the measured ones and those left for the rest.
    fn allowed(&self) -> Vec<u32> {
        let rest = self.evidence.housekeeping.iter().flat_map(|cpus| cpus.iter());
        self.cpus().into_iter().chain(rest).collect()
    }

    /// The band edges of the studies with the cell's limit, for a recorder.
    pub fn edges(&self) -> Vec<u64> {
        let limit = self.cell.conditions.limit.map(|limit| limit.0).filter(|ns| *ns <= latido_rt::histogram::HIGHEST);
        let edges = BAND_EDGES.iter().filter_map(|edge| u64::try_from(*edge).ok()).chain(limit);
        edges.collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// What a recorder of this cell keeps; `periodic` for a loop with slots.
    pub fn config(&self, periodic: bool) -> latido_rt::Config {
        latido_rt::Config {
            edges: self.edges(),
            periodic,
            stop_on_ns: self.cell.conditions.stop_on.map(|limit| limit.0),
            ..latido_rt::Config::default()
        }
    }

    /// The samples are stamped by a counter: what it is worth, from an instant before the loop.
    pub fn stamp_by(&mut self, instant: tsc::Instant, scale: tsc::Scale) {
        self.clocks.counter = Some((instant, scale));
        self.evidence.clock.tsc_hz = Some(scale.hz());
    }

    /// Measures: starts the threads together, waits for their end, reports meanwhile, and sends the record.
    ///
    /// # Errors
    /// A thread cannot be started, a loop failed, or the supervisor is gone.
    pub fn run(&mut self, jobs: Vec<Job>, counts_samples: bool) -> Result<()> {
        let gate = Arc::new(Barrier::new(jobs.len() + 1));
        let (sender, finished) = channel();
        let mut taps = Vec::new();
        let mut tids = Vec::new();
        for (thread, job) in jobs.into_iter().enumerate() {
            let tid = Arc::new(AtomicI32::new(0));
            tids.push(Arc::clone(&tid));
            let (gate, sender, cpu, allowed) = (Arc::clone(&gate), sender.clone(), job.cpu, self.allowed());
            let entries = self.entries.clone();
            let helper = job.taps.is_empty();
            taps.push(job.taps);
            let (scheduling, rehearse, refused) = (job.scheduling, job.rehearse, Arc::clone(&self.refused));
            let body = move || {
                let number = u32::try_from(thread).unwrap_or(u32::MAX);
                let mut prepared = threads::prepare(number, cpu, &allowed, helper, &entries);
                let body = rehearse();
                tid.store(sched::gettid(), Ordering::Relaxed);
                gate.wait();
                prepared.go(scheduling, |why| {
                    lock(&refused).get_or_insert(why);
                });
                let done = body();
                let evidence = prepared.finish();
                // The main thread listens until all have sent.
                let _ = sender.send(Finished { thread, done, evidence });
            };
            let name = cpu.map_or_else(|| format!("latido-{thread}"), |cpu| format!("latido/{cpu}"));
            let builder = thread::Builder::new().name(name).stack_size(threads::STACK);
            builder.spawn(body).context("cannot start a measuring thread")?;
        }
        drop(sender);
        gate.wait();
        crate::fault::point("measure");
        let armed_at = Clock::Monotonic.now();
        let mut view = View { armed_at, counts_samples, checkpoint: Instant::now(), phase: Phase::WarmUp };
        let mut results: Vec<Option<Finished>> = taps.iter().map(|_| None).collect();
        while results.iter().any(Option::is_none) {
            match finished.recv_timeout(view.patience(&self.cell)) {
                Ok(result) => {
                    if let Some(slot) = results.get_mut(result.thread) {
                        *slot = Some(result);
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("a measuring thread ended without a result"),
            }
            if self.interrupted.load(Ordering::Relaxed) {
                self.stop.store(true, Ordering::Relaxed);
            }
            if self.stop.load(Ordering::Relaxed) {
                // A thread that sleeps to its next slot is woken, or a period of an hour would hold up the end.
                for (tid, _) in tids.iter().zip(&results).filter(|(_, result)| result.is_none()) {
                    let _ = signal::send_to_thread(tid.load(Ordering::Relaxed), INTERRUPT);
                }
            }
            self.look(&mut view, &mut taps)?;
        }
        self.reporter.progress(Progress { phase: Phase::Finishing, ..Progress::default() })?;
        crate::fault::point("measure");
        self.conclude(taps, results.into_iter().flatten().collect())
    }

    /// Progress, and once a minute a checkpoint.
    fn look(&mut self, view: &mut View, taps: &mut [Vec<Tap>]) -> Result<()> {
        let elapsed =
            Clock::Monotonic.now().saturating_sub(view.armed_at).saturating_sub(self.cell.conditions.warmup.0);
        view.phase = if elapsed == 0 { Phase::WarmUp } else { Phase::Measuring };
        let mut progress = Progress {
            phase: view.phase,
            elapsed_ns: elapsed,
            total_ns: if view.counts_samples { 0 } else { self.cell.conditions.duration.0 },
            armed_at_ns: view.armed_at,
            threads: Vec::new(),
        };
        let mut due = view.checkpoint.elapsed() >= crate::fault::checkpoint_every();
        let mut parts = Vec::new();
        for (index, tap) in taps.iter_mut().flatten().enumerate() {
            let Some(snapshot) = tap.reader.snapshot() else {
                tap.reader.drain();
                // A checkpoint holds every series or is not made: the next look tries again.
                due = false;
                continue;
            };
            progress.threads.push(thread_progress(tap, &snapshot, self.cell.conditions.limit));
            if due {
                let blocks = tap.reader.blocks_with(&snapshot);
                parts.push(series(
                    index,
                    &tap.name,
                    &snapshot,
                    &blocks,
                    tap.periodic,
                    Placed { samples: tap.reader.ordered(), ..Placed::default() },
                )?);
            }
        }
        self.reporter.progress(progress)?;
        if due && elapsed > 0 {
            view.checkpoint = Instant::now();
            self.evidence.policy_refused = lock(&self.refused).clone();
            let anchors = self.clocks.anchors(view.armed_at + self.cell.conditions.warmup.0);
            self.reporter.record(self.record(Outcome::Checkpoint, elapsed, anchors), parts)?;
        }
        crate::fault::point("measure");
        Ok(())
    }

    /// The record of a measurement that is over.
    fn conclude(&mut self, taps: Vec<Vec<Tap>>, results: Vec<Finished>) -> Result<()> {
        self.evidence.policy_refused = lock(&self.refused).take();
        // A helper's times are of no interest: it was there before the first sample.
        let measured = || results.iter().filter(|result| !result.evidence.helper).map(|result| &result.done);
        let first = measured().map(|done| done.first_slot_ns).min().unwrap_or(0);
        let ended = measured().map(|done| done.ended_ns).max().unwrap_or(0);
        let mut outcome = Outcome::Complete;
        let mut parts = Vec::new();
        for (thread_taps, result) in taps.into_iter().zip(results) {
            if let Some(failure) = result.done.failed {
                bail!("the measuring loop failed: {failure}");
            }
            let stand_in = lock(&self.stand_ins).remove(&result.evidence.thread);
            self.evidence.threads.push(stand_in.unwrap_or(result.evidence));
            for mut tap in thread_taps {
                let snapshot = tap.reader.snapshot().context("the memory of a finished loop is not at rest")?;
                let blocks = tap.reader.blocks_with(&snapshot);
                let mut facts = (tap.facts)(&snapshot);
                self.evidence.throttle.throttle_like += facts.get("throttle_like").map_or(0, |n| n.unsigned_abs());
                let offset_ns = result.done.first_slot_ns.saturating_sub(first);
                facts.insert("first_slot_ns".into(), i64::try_from(offset_ns).unwrap_or(i64::MAX));
                if let Some(stopped) = snapshot.stopped {
                    // Of several threads above it the first in time is the one that ended the cell.
                    let at_ns = stopped.at_ns + offset_ns;
                    if !matches!(outcome, Outcome::Stopped { at_ns: earlier, .. } if earlier <= at_ns) {
                        outcome = Outcome::Stopped { value_ns: stopped.value, cpu: tap.name.cpu, at_ns };
                    }
                }
                self.evidence.clock.backwards += snapshot.plain.negative + snapshot.spin.backwards;
                parts.push(series(
                    parts.len(),
                    &tap.name,
                    &snapshot,
                    &blocks,
                    tap.periodic,
                    Placed { offset_ns, facts, samples: tap.reader.ordered() },
                )?);
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
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the main thread remembers between two looks.
struct View {
    armed_at: u64,
    counts_samples: bool,
    checkpoint: Instant,
    phase: Phase,
}

impl View {
    /// How long to wait: a look's time, shorter when the warm-up ends before, so that others learn of it.
    fn patience(&self, cell: &Cell) -> Duration {
        if self.phase == Phase::Measuring {
            return LOOK;
        }
        let until = self.armed_at.saturating_add(cell.conditions.warmup.0).saturating_add(1_000_000);
        Duration::from_nanos(until.saturating_sub(Clock::Monotonic.now())).clamp(Duration::from_millis(1), LOOK)
    }
}

fn thread_progress(tap: &Tap, snapshot: &Snapshot, limit: Option<Ns>) -> ThreadProgress {
    let plain = &snapshot.plain;
    // Order statistic ceil(n p); none where fewer than 1/(1-p) samples support it.
    let quantile = |per_mille: u64| {
        let supported = plain.count >= 1000 / (1000 - per_mille);
        supported.then(|| plain.at_rank((plain.count * per_mille).div_ceil(1000)))?
    };
    let above = |sample: &&latido_rt::Sample| limit.is_some_and(|limit| sample.value > limit.0.cast_signed());
    let latest = snapshot.largest.iter().filter(above).max_by_key(|sample| sample.at_ns);
    ThreadProgress {
        cpu: tap.name.cpu,
        count: plain.count,
        now: snapshot.last,
        p50: quantile(500),
        p999: quantile(999),
        max: plain.max,
        missed: snapshot.slots.missed,
        spike: latest.or(snapshot.largest.first()).map(|sample| (sample.value, sample.at_ns)),
        name: tap.name.to_string(),
        unit: tap.name.unit.map(String::from),
        kept: tap.reader.latest(),
    }
}

/// The signal that wakes a sleeping loop, so that it looks at its stop flag.
const INTERRUPT: i32 = signal_hook::consts::SIGUSR1;
