//! How long a sleep of a given length really takes: clock_nanosleep with a relative and with an absolute time.

use crate::rounds::{self, Channel, Course, Monotonic, Pass, Passed, Refusal, Round, Rounds, Taken, Time, span};
use core::sync::atomic::AtomicBool;
use latido_sys::{Errno, clock::Clock, memory::touch_code};

/// How the loop passes the length to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepMode {
    /// A relative time: the kernel adds it to the time at which the call reaches it.
    Relative,
    /// An absolute time: the first reading plus the length.
    Absolute,
    /// An absolute time: a separate reading before the first one, plus the length. The time between the two readings is missing from the
    /// measured length.
    TargetFirst,
}

/// A clock that a thread can sleep on; tests provide another.
pub trait Sleeper: Time {
    /// Sleeps for `ns` nanoseconds.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupts it.
    fn sleep_for(&self, ns: u64) -> Result<(), Errno>;

    /// Sleeps until `at_ns`.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupts it.
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno>;
}

impl Sleeper for Monotonic {
    #[inline(always)]
    fn sleep_for(&self, ns: u64) -> Result<(), Errno> {
        Clock::Monotonic.sleep_for(ns)
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        Clock::Monotonic.sleep_until(at_ns)
    }
}

/// Sleeps of one length; samples in ns: the measured length, and by how much it exceeds the requested length.
#[derive(Debug)]
pub struct Sleeps<S = Monotonic> {
    /// The clock.
    pub sleeper: S,
    /// The mode.
    pub mode: SleepMode,
    /// The requested length, in ns.
    pub length_ns: u64,
}

impl<S: Sleeper> Round<2> for Sleeps<S> {
    #[inline(always)]
    fn round(&mut self) -> Result<Option<Taken<2>>, Refusal> {
        let target = match self.mode {
            SleepMode::TargetFirst => self.sleeper.now().wrapping_add(self.length_ns),
            SleepMode::Relative | SleepMode::Absolute => 0,
        };
        let t0 = self.sleeper.now();
        let slept = match self.mode {
            SleepMode::Relative => self.sleeper.sleep_for(self.length_ns),
            SleepMode::Absolute => self.sleeper.sleep_until(t0.wrapping_add(self.length_ns)),
            SleepMode::TargetFirst => self.sleeper.sleep_until(target),
        };
        let t1 = self.sleeper.now();
        match slept {
            Ok(()) => {
                let length = span(t0, t1) as i64;
                let values = [length, length.wrapping_sub(self.length_ns as i64)];
                Ok(Some(Taken { values, at: t1 }))
            }
            Err(Errno::EINTR) => Ok(None),
            Err(error) => Err(Refusal { call: "clock_nanosleep", error }),
        }
    }
}

/// Runs the loop over the modes, one channel each, until its end. A sleep that a signal interrupts gives no sample, and the recorder counts
/// it ([`rounds::LEFT_OUT`]); the loop then checks the stop flag.
pub fn run(modes: &mut [Sleeps], course: &Course, stop: &AtomicBool, channels: &mut [Channel<2>]) -> Rounds {
    rounds::drive(course, channels, &Monotonic, |pass, channels| sleeping(modes, channels, pass, stop))
}

/// Runs every cold path once (this takes a few ms), then clears the recorders.
pub fn rehearse(channels: &mut [Channel<2>]) {
    let stop = AtomicBool::new(false);
    let short = |mode| Sleeps { sleeper: Monotonic, mode, length_ns: 20_000 };
    for absolute in [SleepMode::Absolute, SleepMode::TargetFirst] {
        let mut short = [SleepMode::Relative, absolute].map(short);
        rounds::rehearse(channels, 10, &Monotonic, |pass, channels| sleeping(&mut short, channels, pass, &stop));
    }
    touch_code(&[run as *const () as usize]);
}

#[inline(never)]
fn sleeping(modes: &mut [Sleeps], channels: &mut [Channel<2>], pass: &Pass, stop: &AtomicBool) -> Passed {
    rounds::sweep(modes, channels, pass, stop)
}

#[cfg(test)]
mod tests;
