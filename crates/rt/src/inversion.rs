//! A priority inversion on one CPU: how long a high-priority thread waits for a mutex that a low-priority one holds,
//! while a third between them wants the CPU.
//!
//! Low conducts. It locks the mutex and wakes high, which preempts it, asks for the mutex and blocks. Low runs again,
//! looks whether high has asked, wakes middle, stays in its critical section for a while and unlocks. Without
//! inheritance middle runs first, for as long as it likes, and high waits for both; with inheritance low has the
//! priority of high until it unlocks. A round whose stamps do not say that it went in this order makes no sample and is counted.
//! Rounds never overlap: low waits until the others have done with one before it begins the next.

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

/// The tally of a recorder that counts the rounds left out: not confirmed by their stamps.
pub const UNCONFIRMED: usize = 0;
/// The tally of a recorder that counts the confirmed rounds in which middle ran between request and acquisition.
pub const INVERTED: usize = 1;

/// What low is to do.
#[derive(Clone, Copy, Debug)]
pub struct InversionTimes {
    /// How many rounds with each mutex, and for how long.
    pub course: Course,
    /// From one round to the next, in ns; more when a round takes longer.
    pub interval_ns: u64,
    /// How long low stays in its critical section after waking middle, in ns.
    pub hold_ns: u64,
    /// How long middle is busy, in ns.
    pub busy_ns: u64,
}

/// What the three threads share. Low writes a round's number before it wakes the others; they store it when they have
/// done, which publishes their stamps.
#[derive(Debug)]
pub struct Scene {
    /// One per kind; they take turns.
    mutexes: Box<[Mutex]>,
    for_high: Semaphore,
    for_middle: Semaphore,
    /// How many of the others wait for their first round.
    ready: AtomicU64,
    /// The number of the round; counts on through warm-up and commands.
    number: AtomicU64,
    /// The mutex of the round, or [`FORGET`].
    command: AtomicU64,
    locked: AtomicU64,
    seen: AtomicBool,
    posted: AtomicU64,
    release: AtomicU64,
    /// The round for which high has asked, and when.
    requested: AtomicU64,
    /// The round that high has done.
    high_done: AtomicU64,
    began: AtomicU64,
    ended: AtomicU64,
    /// The round that middle has done.
    middle_done: AtomicU64,
    /// When counting began.
    first_ns: AtomicU64,
    over: AtomicBool,
    /// Whether the three have the priorities that they should have.
    ranked: AtomicBool,
}

/// The command to forget the warm-up.
const FORGET: u64 = u64::MAX;

impl Scene {
    /// A scene around these mutexes, one per kind.
    ///
    /// # Errors
    /// What the C library answers about the semaphores.
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

    /// Waits for the next round; false when all is over.
    #[inline(always)]
    fn next(&self, semaphore: &Semaphore) -> Result<bool, Refusal> {
        loop {
            let woken = semaphore.wait();
            if self.over.load(Acquire) {
                return Ok(false);
            }
            match woken {
                Ok(()) => return Ok(true),
                // Low hears of the stop flag and ends it all.
                Err(Errno::EINTR) => {}
                Err(error) => return Err(Refusal { call: "sem_wait", error }),
            }
        }
    }

    /// Says that one of the three was refused its priority: then no round is a measurement, in whatever order it goes.
    pub fn without_ranks(&self) {
        self.ranked.store(false, Release);
    }

    /// When counting began, in ns; 0 before.
    fn first_ns(&self) -> u64 {
        self.first_ns.load(Acquire)
    }

    fn outcome(&self, ended: Result<End<Refusal>, Refusal>, rounds: u64) -> Rounds {
        let ended_ns = Monotonic.now();
        let first_ns = Some(self.first_ns()).filter(|first| *first > 0).unwrap_or(ended_ns);
        Rounds { end: ended.unwrap_or_else(End::Failed), rounds, first_ns, ended_ns }
    }
}

/// Runs every cold path of the recorders of high once, then forgets what was recorded. What the C library does when
/// threads wait for each other is rehearsed by a scene of its own.
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

/// The part of high: one recorder per mutex. Ends when low does.
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

/// Forgets the warm-up: from now on rounds count.
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

/// The part of middle: busy for a while whenever it is woken. Ends when low does.
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

/// Looks at the clock until so many ns have passed; from when to when that was.
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

/// The part of low: conducts the rounds until their end, and then ends the others. The rounds of the outcome are those
/// that were counted, of each mutex.
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
