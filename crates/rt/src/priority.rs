//! What it costs a thread to change its own priority: pthread_setschedparam and pthread_setschedprio, between two levels.
//!
//! Every call changes the level. When the loop times each call separately, the two calls take turns in going first, so that each of them
//! lowers as often as it raises.

use crate::{
    end::End,
    rounds::{self, Channel, Course, Monotonic, Pass, Passed, Refusal, Round, Rounds, Taken, Time, mean_ps, span},
};
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    memory::touch_code,
    priority::{Own, Realtime},
};

/// Something whose priority can be set; tests provide another.
pub trait Levels {
    /// Sets the priority like pthread_setschedparam.
    ///
    /// # Errors
    /// The error number that the C library returns.
    fn set_param(&self, prio: u8) -> Result<(), Errno>;

    /// Sets the priority like pthread_setschedprio.
    ///
    /// # Errors
    /// The error number that the C library returns.
    fn set_prio(&self, prio: u8) -> Result<(), Errno>;
}

/// The calling thread under a policy.
#[derive(Debug)]
pub struct OwnThread {
    /// The thread.
    pub own: Own,
    /// Its policy.
    pub policy: Realtime,
}

impl Levels for OwnThread {
    #[inline(always)]
    fn set_param(&self, prio: u8) -> Result<(), Errno> {
        self.own.set_param(self.policy, prio)
    }

    #[inline(always)]
    fn set_prio(&self, prio: u8) -> Result<(), Errno> {
        self.own.set_prio(prio)
    }
}

/// A thread that alternates between two levels.
#[derive(Debug)]
pub struct Alternating<L = OwnThread> {
    thread: L,
    levels: [u8; 2],
    /// Whether the next call sets the second level.
    next: bool,
}

impl<L: Levels> Alternating<L> {
    /// Creates it for a thread that runs at `own`. The first change goes to `other`.
    pub fn new(thread: L, own: u8, other: u8) -> Self {
        Self { thread, levels: [own, other], next: true }
    }

    #[inline(always)]
    fn turn(&mut self) -> u8 {
        let [own, other] = self.levels;
        let level = if self.next { other } else { own };
        self.next = !self.next;
        level
    }

    #[inline(always)]
    fn set_param(&mut self) -> Result<(), Refusal> {
        let level = self.turn();
        self.thread.set_param(level).map_err(|error| Refusal { call: "pthread_setschedparam", error })
    }

    #[inline(always)]
    fn set_prio(&mut self) -> Result<(), Refusal> {
        let level = self.turn();
        self.thread.set_prio(level).map_err(|error| Refusal { call: "pthread_setschedprio", error })
    }

    /// Restores the thread's own level.
    ///
    /// # Errors
    /// The error number that the C library returns.
    pub fn restore(&mut self) -> Result<(), Errno> {
        self.next = true;
        let [own, _] = self.levels;
        self.thread.set_param(own)
    }
}

/// Each call between two readings of the clock; samples in ns: setschedparam, setschedprio, empty.
#[derive(Debug)]
pub struct Changes<L = OwnThread, T = Monotonic> {
    thread: Alternating<L>,
    time: T,
    /// Whether pthread_setschedprio comes first in the next round.
    turned: bool,
}

impl<L: Levels, T: Time> Round<3> for Changes<L, T> {
    #[inline(always)]
    fn round(&mut self) -> Result<Option<Taken<3>>, Refusal> {
        let turned = self.turned;
        self.turned = !turned;
        let (t0, t1, t2);
        if turned {
            t0 = self.time.now();
            self.thread.set_prio()?;
            t1 = self.time.now();
            self.thread.set_param()?;
            t2 = self.time.now();
        } else {
            t0 = self.time.now();
            self.thread.set_param()?;
            t1 = self.time.now();
            self.thread.set_prio()?;
            t2 = self.time.now();
        }
        let t3 = self.time.now();
        let (first, second) = (span(t0, t1) as i64, span(t1, t2) as i64);
        let (param, prio) = if turned { (second, first) } else { (first, second) };
        Ok(Some(Taken { values: [param, prio, span(t2, t3) as i64], at: t3 }))
    }
}

/// Many calls between two readings of the clock; samples are means in ps, without the cost of the clock.
#[derive(Debug)]
pub struct ChangeBatch<L = OwnThread, T = Monotonic> {
    thread: Alternating<L>,
    time: T,
    count: u64,
    cost_ps: u64,
}

impl<L: Levels, T: Time> Round<2> for ChangeBatch<L, T> {
    #[inline(always)]
    fn round(&mut self) -> Result<Option<Taken<2>>, Refusal> {
        let t0 = self.time.now();
        for _ in 0..self.count {
            self.thread.set_param()?;
        }
        let t1 = self.time.now();
        for _ in 0..self.count {
            self.thread.set_prio()?;
        }
        let t2 = self.time.now();
        let mean = |from, to| mean_ps(span(from, to), self.cost_ps, self.count);
        Ok(Some(Taken { values: [mean(t0, t1), mean(t1, t2)], at: t2 }))
    }
}

impl Changes {
    /// Creates it for the calling thread.
    pub fn new(thread: Alternating) -> Self {
        Self { thread, time: Monotonic, turned: false }
    }

    /// Runs every cold path of [`Changes::run`] once, then clears the recorders. Afterwards the thread has the policy of the measurement,
    /// if the kernel allows it.
    pub fn rehearse(&mut self, channel: &mut Channel<3>) {
        let stop = AtomicBool::new(false);
        rounds::rehearse(core::slice::from_mut(channel), 64, &Monotonic, |pass, channels| {
            each(core::slice::from_mut(self), channels, pass, &stop)
        });
        touch_code(&[Self::run as *const () as usize]);
    }

    /// Runs the loop until its end, and restores the thread's own level.
    pub fn run(&mut self, course: &Course, stop: &AtomicBool, channel: &mut Channel<3>) -> Rounds {
        let outcome = rounds::drive(course, core::slice::from_mut(channel), &Monotonic, |pass, channels| {
            each(core::slice::from_mut(self), channels, pass, stop)
        });
        restored(outcome, self.thread.restore())
    }
}

impl ChangeBatch {
    /// Creates it for the calling thread, with `count` calls between two readings. `cost_ps` is the cost of one reading in ps.
    pub fn new(thread: Alternating, count: u64, cost_ps: u64) -> Self {
        Self { thread, time: Monotonic, count, cost_ps }
    }

    /// Does a dry run like [`Changes::rehearse`].
    pub fn rehearse(&mut self, channel: &mut Channel<2>) {
        let stop = AtomicBool::new(false);
        rounds::rehearse(core::slice::from_mut(channel), 2, &Monotonic, |pass, channels| {
            batch(core::slice::from_mut(self), channels, pass, &stop)
        });
        touch_code(&[Self::run as *const () as usize]);
    }

    /// Runs like [`Changes::run`].
    pub fn run(&mut self, course: &Course, stop: &AtomicBool, channel: &mut Channel<2>) -> Rounds {
        let outcome = rounds::drive(course, core::slice::from_mut(channel), &Monotonic, |pass, channels| {
            batch(core::slice::from_mut(self), channels, pass, stop)
        });
        restored(outcome, self.thread.restore())
    }
}

/// Makes the outcome a failure if the thread could not get its own level back.
fn restored(outcome: Rounds, result: Result<(), Errno>) -> Rounds {
    match (outcome.end, result) {
        (End::Failed(_), _) | (_, Ok(())) => outcome,
        (_, Err(error)) => {
            let refusal = Refusal { call: "pthread_setschedparam back to its own priority", error };
            Rounds { end: End::Failed(refusal), ..outcome }
        }
    }
}

#[inline(never)]
fn each(kinds: &mut [Changes], channels: &mut [Channel<3>], pass: &Pass, stop: &AtomicBool) -> Passed {
    rounds::sweep(kinds, channels, pass, stop)
}

#[inline(never)]
fn batch(kinds: &mut [ChangeBatch], channels: &mut [Channel<2>], pass: &Pass, stop: &AtomicBool) -> Passed {
    rounds::sweep(kinds, channels, pass, stop)
}

#[cfg(test)]
mod tests;
