//! The stage for a probe in the measuring process: its cell, its measuring threads, and where its series go.

mod crew;
mod lookout;
mod warm_up;
mod watching;

use super::{
    assignment::Assignment,
    clocks::Clocks,
    freeze::Freezer,
    gathered::Gathered,
    looped::{Interval, Loop},
    out_of_band,
    reporter::{Attachment, Reporter},
    series::OpenSeries,
    wanted::Stamped,
};
use crate::{
    journal::{Instance, Marked},
    machine::isolated::Entry,
};
use anyhow::{Context, Result};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    protocol::{Phase, Progress},
    quantity::{Measurand, Quantity},
    record::{BAND_EDGES, Evidence, Skip, ThreadEvidence},
};
use latido_rt::{Config, Recorder, recorder};
use latido_sys::{clock::Clock, tsc};
use lookout::{LOOK, Lookout};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

/// A thread that will be started: what it does, and the series that can be read meanwhile.
struct MeasuringThread {
    cpu: Option<u32>,
    scheduling: Option<Scheduling>,
    series: Vec<OpenSeries>,
    rehearse: Box<dyn FnOnce() -> Loop + Send>,
}

/// The kernel's evidence about threads in other processes, by the index of the local thread that represents each. It must be inserted
/// before the local thread ends. Then it goes into the record instead of the local thread's evidence.
pub type StandIns = Arc<Mutex<BTreeMap<u32, ThreadEvidence>>>;

/// What a thread sends at its end.
struct Finished {
    thread: usize,
    interval: Result<Interval>,
    evidence: ThreadEvidence,
}

/// The measuring process as a probe sees it.
pub struct Stage<'a> {
    /// The cell; its CPUs are known.
    pub cell: Cell,
    /// The entries to isolated CPUs.
    pub entries: Vec<Entry>,
    /// The mark of a program's processes, if the probe starts a program.
    pub program: Option<Marked>,
    /// The evidence for the trust checks.
    pub evidence: Evidence,
    /// What was not available.
    pub skipped: Vec<Skip>,
    measurand: Measurand,
    threads: Vec<MeasuringThread>,
    /// The flag that ends all loops. The host, a sample above `stop_on`, or a failure sets it.
    stop: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
    /// The first refusal that a thread met, known before its loop starts.
    refused: Arc<Mutex<Option<String>>>,
    stand_ins: StandIns,
    /// Every CPU on which a thread may run.
    usable: CpuSet,
    /// Freezes the kernel's trace at a sample above `stop_on`.
    freezer: Option<Arc<Freezer>>,
    /// The instance in which a tracer runs.
    instance: Option<Instance>,
    /// The recorded event of a handler, or why there is none.
    stamped: Option<Result<Stamped, String>>,
    reporter: &'a mut Reporter,
    clocks: Clocks,
}

impl<'a> Stage<'a> {
    /// Makes the stage for one cell. The host sets `interrupted` when it requests a stop.
    pub fn new(
        assignment: Assignment,
        measurand: Measurand,
        interrupted: Arc<AtomicBool>,
        reporter: &'a mut Reporter,
    ) -> Self {
        Self {
            cell: assignment.cell,
            entries: assignment.entries,
            program: assignment.program,
            evidence: Evidence { housekeeping: assignment.housekeeping, ..Evidence::default() },
            skipped: Vec::new(),
            measurand,
            threads: Vec::new(),
            stop: Arc::default(),
            interrupted,
            refused: Arc::default(),
            stand_ins: Arc::default(),
            usable: assignment.usable,
            freezer: None,
            instance: assignment.instance,
            stamped: assignment.stamped,
            reporter,
            clocks: Clocks::now(),
        }
    }

    /// Notes a refusal that a thread of another process met.
    pub fn refuse(&self, why: String) {
        lock(&self.refused).get_or_insert(why);
    }

    /// Returns where a local thread puts the evidence of the thread that it represents.
    pub fn stand_ins(&self) -> StandIns {
        Arc::clone(&self.stand_ins)
    }

    /// Returns the flag that ends all loops. Every loop checks it, and sets it when it cannot continue.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Starts another file of the cell, which its record names. Call it before or after the loops.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn attach(&mut self, name: &str) -> Result<Attachment> {
        self.reporter.attach(name)
    }

    /// Returns the CPUs to measure, in ascending order.
    pub fn cpus(&self) -> Vec<u32> {
        self.cell.conditions.cpus.iter().flat_map(|cpus| cpus.iter()).collect()
    }

    /// Returns the CPUs of a thread that is not pinned: the measured CPUs and those for everything else. A deadline thread gets every
    /// usable CPU, because the kernel refuses it less than its whole root domain.
    fn unpinned(&self, scheduling: Option<Scheduling>) -> Vec<u32> {
        let deadline = matches!(scheduling, Some(Scheduling::Deadline { .. }));
        let rest = if deadline { Some(&self.usable) } else { self.evidence.housekeeping.as_ref() };
        self.cpus().into_iter().chain(rest.into_iter().flat_map(CpuSet::iter)).collect()
    }

    /// Makes both ends of a series of one of the probe's quantities: the recorder for the loop, and the series for its thread.
    ///
    /// # Errors
    /// The probe declares no such quantity.
    pub fn series(&self, quantity: &str) -> Result<(Recorder, OpenSeries)> {
        self.series_with(quantity, |config| config)
    }

    /// Makes a series like [`Stage::series`], with an adjusted configuration of the recorder.
    ///
    /// # Errors
    /// As [`Stage::series`], or the configuration is invalid.
    pub fn series_with(&self, quantity: &str, adjust: impl FnOnce(Config) -> Config) -> Result<(Recorder, OpenSeries)> {
        let declared = self.measurand.quantity(quantity);
        let declared = declared.with_context(|| format!("the probe declares no quantity `{quantity}`"))?;
        let (recorder, reader) = recorder::new(&adjust(self.config(declared)))?;
        Ok((recorder, OpenSeries::new(declared.clone(), reader)))
    }

    /// Makes both ends of a series of a quantity that only the measurement reveals.
    ///
    /// # Errors
    /// The configuration of the recorder is invalid.
    pub fn series_of(&self, quantity: Quantity) -> Result<(Recorder, OpenSeries)> {
        let (recorder, reader) = recorder::new(&self.config(&quantity))?;
        Ok((recorder, OpenSeries::new(quantity, reader)))
    }

    /// Returns what a recorder keeps: the slots of a periodic quantity, and counts at the studies' band edges and at the cell's limit, if
    /// the quantity is a time. It obeys `stop_on` if the quantity is judged.
    fn config(&self, quantity: &Quantity) -> Config {
        let limit = self.cell.conditions.limit.map(|limit| limit.0).filter(|ns| *ns <= latido_rt::buckets::HIGHEST);
        let edges = BAND_EDGES.iter().filter_map(|edge| u64::try_from(*edge).ok()).chain(limit);
        let edges = edges.collect::<BTreeSet<u64>>().into_iter();
        let edges = match quantity.unit.as_ref() {
            "ns" => edges.collect(),
            "ps" => edges.map(|ns| ns.saturating_mul(1_000)).filter(|ps| *ps <= latido_rt::buckets::HIGHEST).collect(),
            _ => Vec::new(),
        };
        let stop_on_ns = self.cell.conditions.stop_on.filter(|_| quantity.judged).map(|limit| limit.0);
        Config { edges, periodic: quantity.periodic, stop_on_ns, ..Config::default() }
    }

    /// Declares that a counter stamps the samples: an instant before the loop, and the counter's scale.
    pub fn stamp_by(&mut self, instant: tsc::Instant, scale: tsc::Scale) {
        self.clocks.counter = Some((instant, scale));
        self.evidence.clock.tsc_hz = Some(scale.hz());
    }

    /// Adds a measuring thread with its series, under the cell's policy and pinned to the CPU; `None` leaves it free.
    ///
    /// `rehearse` is the dry run. It runs on the thread before its policy is set, touches everything that the loop will touch, and returns
    /// the loop. After it this thread may not allocate.
    pub fn thread<L: FnMut() -> Result<Interval> + 'static>(
        &mut self,
        cpu: impl Into<Option<u32>>,
        series: impl IntoIterator<Item = OpenSeries>,
        rehearse: impl FnOnce() -> L + Send + 'static,
    ) {
        self.thread_under(Some(self.cell.scheduling), cpu, series, rehearse);
    }

    /// Adds a thread like [`Stage::thread`], under another policy; `None` sets none. A thread without series is a helper.
    pub fn thread_under<L: FnMut() -> Result<Interval> + 'static>(
        &mut self,
        scheduling: Option<Scheduling>,
        cpu: impl Into<Option<u32>>,
        series: impl IntoIterator<Item = OpenSeries>,
        rehearse: impl FnOnce() -> L + Send + 'static,
    ) {
        // The kernel refuses to pin a deadline thread: it is admitted for its whole root domain.
        let pinned = !matches!(scheduling, Some(Scheduling::Deadline { .. }));
        let cpu = cpu.into().filter(|_| pinned);
        let thread = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        let series = series.into_iter().map(|series| series.on(thread, cpu)).collect();
        let rehearse = Box::new(move || Loop::new(rehearse()));
        self.threads.push(MeasuringThread { cpu, scheduling, series, rehearse });
    }

    /// Opens the files that freeze the kernel's trace, if `stop_on` is set.
    fn arm(&mut self) {
        if self.cell.conditions.stop_on.is_some() {
            let armed = Freezer::arm(&crate::fault::tracing_root()).map(Arc::new);
            self.evidence.freeze = Some(armed.as_ref().map_or_else(Clone::clone, |freezer| freezer.told()));
            self.freezer = armed.ok();
        }
    }

    /// Measures: starts the threads together, reports progress until they end, and sends the record.
    ///
    /// # Errors
    /// A thread cannot be started, a loop failed, or the supervisor is gone.
    pub fn run(&mut self) -> Result<()> {
        self.run_then(|_, _| Ok(None))
    }

    /// Measures like [`Stage::run`]. When the loops are over, `after` may add series to theirs.
    ///
    /// # Errors
    /// As [`Stage::run`], or `after` failed.
    pub fn run_then(&mut self, after: impl FnOnce(&mut Self, Interval) -> Result<Option<Gathered>>) -> Result<()> {
        self.arm();
        out_of_band::prepare(self.cell.scheduling)?;
        let mut crew = self.start()?;
        crew.let_go();
        crate::fault::point("measure");
        let schedstats = std::mem::take(&mut crew.schedstats);
        let mut lookout = Lookout::new(Clock::Monotonic.now(), self, &crew.series, schedstats);
        let results = self.attend(&mut crew, &mut lookout)?;
        self.evidence.core = out_of_band::record(self.cell.scheduling);
        self.reporter.progress(&Progress::of(Phase::Finishing))?;
        crew.dismiss();
        let gathered = after(self, interval(&results))?;
        self.conclude(&lookout, crew.series, results, gathered)
    }
}

/// Returns the interval from the first counted slot of any thread to the end of the last thread.
fn interval(results: &[Finished]) -> Interval {
    // A helper's times do not matter: it started before the first sample.
    let measured = results.iter().filter(|result| !result.evidence.helper);
    let intervals = || measured.clone().filter_map(|result| result.interval.as_ref().ok());
    Interval {
        first_slot_ns: intervals().map(|interval| interval.first_slot_ns).min().unwrap_or(0),
        ended_ns: intervals().map(|interval| interval.ended_ns).max().unwrap_or(0),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
