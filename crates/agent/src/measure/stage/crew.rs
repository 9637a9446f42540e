//! The measuring threads from their start to their end, as the main thread sees them.

use super::{Finished, MeasuringThread, Stage, lock, lookout::Lookout, warm_up::Schedstats};
use crate::machine::isolated::Entry;
use crate::measure::{
    freeze::Freezer,
    looped::{Loop, carry_out},
    series::OpenSeries,
    threads,
};
use anyhow::{Context, Result, bail};
use latido_model::cell::Scheduling;
use latido_rt::recorder::StopSign;
use latido_sys::{memory, procfs::SchedStatFile, sched, signal};
use std::{
    sync::{
        Arc, Barrier, Mutex, OnceLock,
        atomic::{AtomicI32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// Room for what the main thread allocates while the loops run, in bytes. Only the used part becomes resident.
const ROOM: usize = 16 << 20;

/// The signal that wakes a sleeping loop, so that it checks its stop flag.
const INTERRUPT: i32 = signal_hook::consts::SIGUSR1;

/// How long a thread of a real-time core may sleep on before a signal wakes it. The signal takes the thread in-band, which contaminates the
/// cell, so a thread with an ordinary period ends without one.
const GRACE: Duration = Duration::from_secs(1);

/// The measuring threads, started: they prepare themselves, and measure from the gate on.
pub struct Crew {
    meeting: Meeting,
    finished: Receiver<Finished>,
    tids: Vec<Arc<AtomicI32>>,
    /// The schedstat files of the threads, for the reading at the end of the warm-up.
    pub schedstats: Schedstats,
    /// The series into which each thread records.
    pub series: Vec<Vec<OpenSeries>>,
}

/// Where all threads meet, the main thread among them.
#[derive(Clone)]
struct Meeting {
    gate: Arc<Barrier>,
    /// The end: a thread that ends unmaps its stack, so no thread may end while another still measures.
    over: Arc<Barrier>,
}

/// A thread at its start.
struct Member {
    thread: usize,
    cpu: Option<u32>,
    /// The CPUs on which it may run if it is not pinned.
    allowed: Vec<u32>,
    scheduling: Option<Scheduling>,
    helper: bool,
    entries: Vec<Entry>,
    rehearse: Box<dyn FnOnce() -> Loop + Send>,
    freezer: Option<Arc<Freezer>>,
    signs: Vec<StopSign>,
    tid: Arc<AtomicI32>,
    schedstat: Arc<OnceLock<SchedStatFile>>,
    refused: Arc<Mutex<Option<String>>>,
    meeting: Meeting,
    sender: Sender<Finished>,
}

impl Member {
    /// Does all work of the thread.
    fn work(self) {
        let number = u32::try_from(self.thread).unwrap_or(u32::MAX);
        let mut prepared = threads::prepare(number, self.cpu, &self.allowed, self.helper, &self.entries);
        prepared.enter(self.scheduling);
        let mut looped = (self.rehearse)();
        looped.touch_code();
        // This runs the code that reads the counters once before the measurement.
        prepared.count();
        self.tid.store(sched::gettid(), Ordering::Relaxed);
        if let Ok(own) = SchedStatFile::open() {
            let _ = self.schedstat.set(own);
        }
        self.meeting.gate.wait();
        let mut refused = |why| _ = lock(&self.refused).get_or_insert(why);
        let freezer = self.freezer.as_deref().map(|freezer| (freezer, self.cpu, self.signs.as_slice()));
        let (interval, evidence) = carry_out(prepared, &mut looped, self.scheduling, &mut refused, freezer);
        drop(looped);
        // The main thread receives until all have sent.
        let _ = self.sender.send(Finished { thread: self.thread, interval, evidence });
        self.meeting.over.wait();
    }
}

impl Crew {
    /// Opens the gate: all threads start at once. Memory for the main thread's later allocations is reserved before.
    pub fn let_go(&self) {
        let needs = self.series.iter().flatten().map(OpenSeries::needs).sum::<usize>();
        let _ = memory::reserve(needs + ROOM);
        self.meeting.gate.wait();
    }

    /// Lets all threads end, after their results were received.
    pub fn dismiss(&self) {
        self.meeting.over.wait();
    }

    /// Wakes a thread that sleeps until its next slot: a period of an hour would otherwise delay the end.
    fn wake(&self, thread: usize) {
        if let Some(tid) = self.tids.get(thread) {
            let _ = signal::send_to_thread(tid.load(Ordering::Relaxed), INTERRUPT);
        }
    }
}

impl Stage<'_> {
    /// Starts every measuring thread.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(super) fn start(&mut self) -> Result<Crew> {
        let measuring = std::mem::take(&mut self.threads);
        let barrier = || Arc::new(Barrier::new(measuring.len() + 1));
        let meeting = Meeting { gate: barrier(), over: barrier() };
        let (sender, finished) = channel();
        let mut crew = Crew { meeting, finished, tids: Vec::new(), schedstats: Vec::new(), series: Vec::new() };
        for (thread, MeasuringThread { cpu, scheduling, series, rehearse }) in measuring.into_iter().enumerate() {
            let member = Member {
                thread,
                cpu,
                allowed: self.unpinned(scheduling),
                scheduling,
                helper: series.is_empty(),
                entries: self.entries.clone(),
                rehearse,
                freezer: self.freezer.clone(),
                signs: series.iter().map(|series| series.reader.stop_sign()).collect(),
                tid: Arc::default(),
                schedstat: Arc::default(),
                refused: Arc::clone(&self.refused),
                meeting: crew.meeting.clone(),
                sender: sender.clone(),
            };
            crew.tids.push(Arc::clone(&member.tid));
            crew.schedstats.push(Arc::clone(&member.schedstat));
            crew.series.push(series);
            let name = cpu.map_or_else(|| format!("latido-{thread}"), |cpu| format!("latido/{cpu}"));
            let builder = thread::Builder::new().name(name).stack_size(threads::STACK);
            builder.spawn(move || member.work()).context("cannot start a measuring thread")?;
        }
        Ok(crew)
    }

    /// Receives from the threads until the last has finished. Meanwhile it reports progress, and passes on a request to stop.
    ///
    /// # Errors
    /// A thread died, or the supervisor is gone.
    pub(super) fn attend(&mut self, crew: &mut Crew, lookout: &mut Lookout) -> Result<Vec<Finished>> {
        let grace = if self.cell.scheduling.core().is_some() { GRACE } else { Duration::ZERO };
        let mut stopping = None;
        let mut results: Vec<Option<Finished>> = crew.series.iter().map(|_| None).collect();
        while results.iter().any(Option::is_none) {
            match crew.finished.recv_timeout(lookout.patience(&self.cell)) {
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
            if self.stop.load(Ordering::Relaxed) && stopping.get_or_insert_with(Instant::now).elapsed() >= grace {
                let at_work = results.iter().enumerate().filter(|(_, result)| result.is_none());
                at_work.for_each(|(thread, _)| crew.wake(thread));
            }
            self.look(lookout, &mut crew.series)?;
        }
        Ok(results.into_iter().flatten().collect())
    }
}
