//! How the low thread steps from round to round and waits for the other two.

use super::{FORGET, InversionTimes, Scene, be_busy};
use crate::{end::End, rounds::Refusal};
use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};
use latido_sys::{Errno, clock::Clock::Monotonic, mutex::Mutex};

/// The state of the low thread.
pub(super) struct Conductor<'a> {
    pub scene: &'a Scene,
    pub stop: &'a AtomicBool,
    pub times: &'a InversionTimes,
    /// When the next round begins, in ns on CLOCK_MONOTONIC.
    pub due: u64,
    pub number: u64,
    pub rounds: u64,
}

impl Conductor<'_> {
    #[inline(always)]
    pub fn conduct(&mut self) -> Result<End<Refusal>, Refusal> {
        let (scene, course) = (self.scene, &self.times.course);
        while scene.ready.load(Acquire) < 2 {
            if !self.sleep(Monotonic.now().saturating_add(self.times.interval_ns))? {
                return Ok(End::Stopped);
            }
        }
        self.due = Monotonic.now();
        let warmup = if course.warmup_ns > 0 { u64::MAX } else { 0 };
        if !self.repeat(warmup, course.warmup_ns)? {
            return Ok(End::Stopped);
        }
        self.begin(FORGET);
        scene.for_high.post().map_err(|error| Refusal { call: "sem_post", error })?;
        if !self.wait(false)? {
            return Ok(End::Stopped);
        }
        self.rounds = 0;
        let complete = self.repeat(course.rounds, course.duration_ns)?;
        Ok(if complete { End::Complete } else { End::Stopped })
    }

    /// Runs rounds, one with each mutex in turn, until the number or the duration is reached. Returns false if the stop flag was set.
    #[inline(always)]
    fn repeat(&mut self, rounds: u64, duration_ns: u64) -> Result<bool, Refusal> {
        let until = Monotonic.now().saturating_add(duration_ns);
        self.rounds = 0;
        while self.rounds < rounds && Monotonic.now() < until {
            for (kind, mutex) in (0u64..).zip(&self.scene.mutexes) {
                if !self.sleep(self.due)? {
                    return Ok(false);
                }
                // After a round that took longer than the interval, there is still a pause before the next one.
                self.due = self.due.saturating_add(self.times.interval_ns).max(Monotonic.now());
                self.begin(kind);
                self.round(mutex)?;
                if !self.wait(true)? {
                    return Ok(false);
                }
                if self.due <= Monotonic.now() {
                    self.due = Monotonic.now().saturating_add(self.times.interval_ns);
                }
            }
            self.rounds = self.rounds.wrapping_add(1);
        }
        Ok(true)
    }

    #[inline(always)]
    fn begin(&mut self, command: u64) {
        self.number = self.number.wrapping_add(1);
        self.scene.command.store(command, Release);
        self.scene.number.store(self.number, Release);
    }

    #[inline(always)]
    fn round(&self, mutex: &Mutex) -> Result<(), Refusal> {
        let scene = self.scene;
        let held = mutex.lock().map_err(|error| Refusal { call: "pthread_mutex_lock", error })?;
        scene.locked.store(Monotonic.now(), Release);
        scene.for_high.post().map_err(|error| Refusal { call: "sem_post", error })?;
        scene.seen.store(scene.requested.load(Acquire) == self.number, Release);
        scene.posted.store(Monotonic.now(), Release);
        scene.for_middle.post().map_err(|error| Refusal { call: "sem_post", error })?;
        be_busy(self.times.hold_ns);
        scene.release.store(Monotonic.now(), Release);
        held.unlock().map_err(|error| Refusal { call: "pthread_mutex_unlock", error })
    }

    /// Waits until the high thread has finished the round, and the middle one too if `with_middle`. Returns false if the stop flag was set.
    #[inline(always)]
    fn wait(&self, with_middle: bool) -> Result<bool, Refusal> {
        let scene = self.scene;
        loop {
            let middle = !with_middle || scene.middle_done.load(Acquire) == self.number;
            if middle && scene.high_done.load(Acquire) == self.number {
                return Ok(true);
            }
            if !self.sleep(Monotonic.now().saturating_add(self.times.interval_ns))? {
                return Ok(false);
            }
        }
    }

    /// Sleeps until `at_ns`. Returns false if the stop flag was set.
    #[inline(always)]
    fn sleep(&self, at_ns: u64) -> Result<bool, Refusal> {
        while !self.stop.load(Relaxed) {
            match Monotonic.sleep_until(at_ns) {
                Ok(()) => return Ok(!self.stop.load(Relaxed)),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(Refusal { call: "clock_nanosleep", error }),
            }
        }
        Ok(false)
    }
}
