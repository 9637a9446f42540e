//! A priority inversion on one CPU: how long a high-priority thread ("high") waits for a mutex that a low-priority thread ("low") holds,
//! while a third thread between them ("middle") also wants the CPU.
//!
//! Low conducts. It locks the mutex and wakes high. High preempts low, requests the mutex and blocks. Low runs again, checks whether high
//! has requested the mutex, wakes middle, stays in its critical section for a while and unlocks. Without inheritance middle runs first, for
//! its whole busy time, and high waits for both; with inheritance low has the priority of high until it unlocks. A round whose stamps do
//! not confirm this order makes no sample; the recorder counts it. Rounds never overlap: low waits until the others have finished one
//! before it begins the next.

mod conductor;
mod stamps;

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase},
    rounds::{Course, Refusal, Rounds},
};
use alloc::boxed::Box;
use conductor::Conductor;
use core::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use latido_sys::{Errno, clock::Clock::Monotonic, memory::touch_code, mutex::Mutex, semaphore::Semaphore};
use stamps::{Stamps, take};

/// The tally in which a recorder counts the rounds without a sample: their stamps do not confirm the order.
pub const UNCONFIRMED: usize = 0;
/// The tally in which a recorder counts the confirmed rounds where middle ran between request and acquisition.
pub const INVERTED: usize = 1;

/// The parameters of low.
#[derive(Clone, Copy, Debug)]
pub struct InversionTimes {
    /// How many rounds low runs with each mutex, and for how long.
    pub course: Course,
    /// Time from one round to the next, in ns; longer when a round takes longer.
    pub interval_ns: u64,
    /// How long low stays in its critical section after it wakes middle, in ns.
    pub hold_ns: u64,
    /// How long middle is busy, in ns.
    pub busy_ns: u64,
}

/// The state that the three threads share. Low writes a round's number before it wakes the others. They store this number when they have
/// finished the round, which publishes their stamps.
#[derive(Debug)]
pub struct Scene {
    /// One mutex per kind; low uses them in turn.
    mutexes: Box<[Mutex]>,
    for_high: Semaphore,
    for_middle: Semaphore,
    /// How many of the other two threads have started and wait for their first round.
    ready: AtomicU64,
    /// The number of the round. It keeps counting through warm-up, commands and measurement.
    number: AtomicU64,
    /// The index of the round's mutex, or [`FORGET`].
    command: AtomicU64,
    locked: AtomicU64,
    seen: AtomicBool,
    posted: AtomicU64,
    release: AtomicU64,
    /// The last round for which high has requested the mutex.
    requested: AtomicU64,
    /// The last round that high has finished.
    high_done: AtomicU64,
    began: AtomicU64,
    ended: AtomicU64,
    /// The last round that middle has finished.
    middle_done: AtomicU64,
    /// When counting began, in ns on CLOCK_MONOTONIC; 0 before.
    first_ns: AtomicU64,
    over: AtomicBool,
    /// Whether all three threads have the priorities that they should have.
    ranked: AtomicBool,
}

/// The command to clear what the recorders contain from the warm-up.
const FORGET: u64 = u64::MAX;

impl Scene {
    /// Creates a scene with these mutexes, one per kind.
    ///
    /// # Errors
    /// The C library cannot create the semaphores.
    pub fn new(mutexes: Box<[Mutex]>) -> Result<Self, Errno> {
        Ok(Self {
            mutexes,
            for_high: Semaphore::new()?,
            for_middle: Semaphore::new()?,
            ready: AtomicU64::new(0),
            number: AtomicU64::new(0),
            command: AtomicU64::new(FORGET),
            locked: AtomicU64::new(0),
            seen: AtomicBool::new(false),
            posted: AtomicU64::new(0),
            release: AtomicU64::new(0),
            requested: AtomicU64::new(0),
            high_done: AtomicU64::new(0),
            began: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            middle_done: AtomicU64::new(0),
            first_ns: AtomicU64::new(0),
            over: AtomicBool::new(false),
            ranked: AtomicBool::new(true),
        })
    }

    /// Waits for the next round. Returns false when the measurement is over.
    #[inline(always)]
    fn next(&self, semaphore: &Semaphore) -> Result<bool, Refusal> {
        loop {
            let woken = semaphore.wait();
            if self.over.load(Acquire) {
                return Ok(false);
            }
            match woken {
                Ok(()) => return Ok(true),
                // Low checks the stop flag and ends the other threads.
                Err(Errno::EINTR) => {}
                Err(error) => return Err(Refusal { call: "sem_wait", error }),
            }
        }
    }

    /// Records that one of the three threads did not get its priority: then no round is a valid measurement, in whatever order it goes.
    pub fn without_ranks(&self) {
        self.ranked.store(false, Release);
    }

    /// Returns when counting began, in ns; 0 before.
    fn first_ns(&self) -> u64 {
        self.first_ns.load(Acquire)
    }

    fn outcome(&self, ended: Result<End<Refusal>, Refusal>, rounds: u64) -> Rounds {
        let ended_ns = Monotonic.now();
        let first_ns = Some(self.first_ns()).filter(|first| *first > 0).unwrap_or(ended_ns);
        Rounds { end: ended.unwrap_or_else(End::Failed), rounds, first_ns, ended_ns }
    }
}

/// Runs every cold path of the recorders of high once, then clears them. For a dry run of what the C library does when threads wait for
/// each other, the caller uses a separate scene.
pub fn rehearse(recorders: &mut [Recorder]) {
    for recorder in recorders {
        recorder.reset();
        recorder.rehearse();
        recorder.tally(UNCONFIRMED);
        recorder.finish(Monotonic.now());
        recorder.reset();
    }
    touch_code(&[high as *const () as usize, middle as *const () as usize, low as *const () as usize]);
}

/// Runs high, with one recorder per mutex. It ends when low does.
#[inline(never)]
pub fn high(scene: &Scene, stop: &AtomicBool, recorders: &mut [Recorder]) -> Rounds {
    for recorder in recorders.iter_mut() {
        recorder.enter(RecorderPhase::WarmUp);
    }
    let ended = waits(scene, stop, recorders);
    if ended.is_err() {
        stop.store(true, Relaxed);
    }
    let outcome = scene.outcome(ended, scene.number.load(Relaxed));
    for recorder in recorders.iter_mut() {
        recorder.finish(outcome.ended_ns);
        recorder.enter(RecorderPhase::Ended);
    }
    outcome
}

#[inline(always)]
fn waits(scene: &Scene, stop: &AtomicBool, recorders: &mut [Recorder]) -> Result<End<Refusal>, Refusal> {
    let mut end = End::Complete;
    let mut counting = false;
    scene.ready.fetch_add(1, Release);
    while scene.next(&scene.for_high)? {
        let number = scene.number.load(Acquire);
        let kind = usize::try_from(scene.command.load(Acquire)).unwrap_or(usize::MAX);
        if let (Some(mutex), Some(recorder)) = (scene.mutexes.get(kind), recorders.get_mut(kind)) {
            let request = Monotonic.now();
            scene.requested.store(number, Release);
            let held = mutex.lock().map_err(|error| Refusal { call: "pthread_mutex_lock", error })?;
            let acquired = Monotonic.now();
            held.unlock().map_err(|error| Refusal { call: "pthread_mutex_unlock", error })?;
            let ran = scene.middle_done.load(Acquire) == number;
            let stamps = Stamps {
                locked: scene.locked.load(Acquire),
                request,
                seen: scene.seen.load(Acquire) && scene.ranked.load(Acquire),
                posted: scene.posted.load(Acquire),
                release: scene.release.load(Acquire),
                acquired,
                middle: ran.then(|| (scene.began.load(Acquire), scene.ended.load(Acquire))),
            };
            if take(recorder, &stamps) && counting {
                end = End::Sample;
                stop.store(true, Relaxed);
            }
        } else {
            forget(scene, recorders);
            counting = true;
        }
        scene.high_done.store(number, Release);
    }
    Ok(end)
}

/// Clears what the recorders contain from the warm-up: from now on rounds count.
#[cold]
#[inline(never)]
fn forget(scene: &Scene, recorders: &mut [Recorder]) {
    for recorder in recorders.iter_mut() {
        recorder.reset();
    }
    let first = Monotonic.now();
    for recorder in recorders.iter_mut() {
        recorder.start_at(first);
        recorder.enter(RecorderPhase::Counting);
    }
    scene.first_ns.store(first, Release);
}

/// Runs middle: it is busy for a while whenever low wakes it. It ends when low does.
#[inline(never)]
pub fn middle(scene: &Scene, stop: &AtomicBool, times: &InversionTimes) -> Rounds {
    let ended = disturbs(scene, times);
    if ended.is_err() {
        stop.store(true, Relaxed);
    }
    scene.outcome(ended, scene.number.load(Relaxed))
}

#[inline(always)]
fn disturbs(scene: &Scene, times: &InversionTimes) -> Result<End<Refusal>, Refusal> {
    scene.ready.fetch_add(1, Release);
    while scene.next(&scene.for_middle)? {
        let number = scene.number.load(Acquire);
        let (began, ended) = be_busy(times.busy_ns);
        scene.began.store(began, Release);
        scene.ended.store(ended, Release);
        scene.middle_done.store(number, Release);
    }
    Ok(End::Complete)
}

/// Reads the clock until `ns` nanoseconds have passed. Returns the first and the last reading.
#[inline(always)]
fn be_busy(ns: u64) -> (u64, u64) {
    let began = Monotonic.now();
    loop {
        let now = Monotonic.now();
        if now.wrapping_sub(began) >= ns {
            return (began, now);
        }
    }
}

/// Runs low: it conducts the rounds until their end, and then ends the other threads. The outcome contains the number of counted rounds per
/// mutex.
#[inline(never)]
pub fn low(scene: &Scene, stop: &AtomicBool, times: &InversionTimes) -> Rounds {
    let mut conductor = Conductor { scene, stop, times, due: 0, number: 0, rounds: 0 };
    let ended = conductor.conduct();
    scene.over.store(true, Release);
    let posted = scene.for_high.post().and(scene.for_middle.post());
    let posted = posted.map_err(|error| Refusal { call: "sem_post", error });
    scene.outcome(ended.and_then(|end| posted.map(|()| end)), conductor.rounds)
}

#[cfg(test)]
mod tests;
