//! What mutex calls cost when no other thread wants the mutex: each call timed separately, or many together.

use crate::rounds::{
    self, Channel, Course, Monotonic, Pass, Passed, Refusal, Round, Rounds, Taken, Time, mean_ps, span,
};
use core::sync::atomic::AtomicBool;
use latido_sys::{
    Errno,
    memory::touch_code,
    mutex::{self, Mutexes},
};

/// Quantities per round. Each call separately: lock, unlock, trylock, empty. Many together: lock, unlock, trylock, and a pair of lock and
/// unlock.
pub const QUANTITIES: usize = 4;

/// Rounds of a dry run that times each call separately: the channels fill up twice.
const REHEARSED: u64 = (rounds::MANY as u64).saturating_mul(2);

/// Something to lock: a mutex, or a row of them.
pub trait Lockable {
    /// Proof that it is locked.
    type Locked<'a>
    where
        Self: 'a;

    /// Locks it.
    ///
    /// # Errors
    /// The error number that the C library returns.
    fn lock(&self) -> Result<Self::Locked<'_>, Errno>;

    /// Locks it unless it is locked.
    ///
    /// # Errors
    /// The error number that the C library returns.
    fn try_lock(&self) -> Result<Self::Locked<'_>, Errno>;

    /// Unlocks it.
    ///
    /// # Errors
    /// The error number that the C library returns.
    fn unlock(held: Self::Locked<'_>) -> Result<(), Errno>;
}

macro_rules! of_the_c_library {
    ($($lock:ty, $held:ident);*) => {$(
        impl Lockable for $lock {
            type Locked<'a> = mutex::$held<'a>;

            #[inline(always)]
            fn lock(&self) -> Result<Self::Locked<'_>, Errno> {
                <$lock>::lock(self)
            }

            #[inline(always)]
            fn try_lock(&self) -> Result<Self::Locked<'_>, Errno> {
                <$lock>::try_lock(self)
            }

            #[inline(always)]
            fn unlock(held: Self::Locked<'_>) -> Result<(), Errno> {
                held.unlock()
            }
        }
    )*};
}

of_the_c_library!(mutex::Mutex, Held; Mutexes, AllHeld);

/// Returns the five readings before, between and after lock, unlock, trylock and unlock.
#[inline(always)]
fn readings<L: Lockable>(time: &impl Time, lock: &L) -> Result<[u64; 5], Refusal> {
    let refused = |call| move |error| Refusal { call, error };
    let t0 = time.now();
    let held = lock.lock().map_err(refused("pthread_mutex_lock"))?;
    let t1 = time.now();
    L::unlock(held).map_err(refused("pthread_mutex_unlock"))?;
    let t2 = time.now();
    let held = lock.try_lock().map_err(refused("pthread_mutex_trylock"))?;
    let t3 = time.now();
    L::unlock(held).map_err(refused("pthread_mutex_unlock"))?;
    Ok([t0, t1, t2, t3, time.now()])
}

/// Each call between two readings of the clock; samples in ns, including the cost of one reading.
#[derive(Debug)]
pub struct Calls<L = mutex::Mutex, T = Monotonic> {
    /// The mutex.
    pub mutex: L,
    /// The clock.
    pub time: T,
}

impl<L: Lockable, T: Time> Round<QUANTITIES> for Calls<L, T> {
    #[inline(always)]
    fn round(&mut self) -> Result<Option<Taken<QUANTITIES>>, Refusal> {
        let [t0, t1, t2, t3, t4] = readings(&self.time, &self.mutex)?;
        let t5 = self.time.now();
        let values = [span(t0, t1) as i64, span(t1, t2) as i64, span(t2, t3) as i64, span(t4, t5) as i64];
        Ok(Some(Taken { values, at: t5 }))
    }
}

/// Many calls between two readings of the clock; samples are means in ps, without the cost of the clock.
#[derive(Debug)]
pub struct CallBatch<A = Mutexes, L = mutex::Mutex, T = Monotonic> {
    /// The row of mutexes: the loop locks all, unlocks all, tries to lock all, and unlocks all.
    pub all: A,
    /// A single mutex, which the loop locks and unlocks `count` times.
    pub one: L,
    /// The number of mutexes in the row.
    pub count: u64,
    /// What one reading of the clock costs, in ps.
    pub cost_ps: u64,
    /// The clock.
    pub time: T,
}

impl<A: Lockable, L: Lockable, T: Time> Round<QUANTITIES> for CallBatch<A, L, T> {
    #[inline(always)]
    fn round(&mut self) -> Result<Option<Taken<QUANTITIES>>, Refusal> {
        let [t0, t1, t2, t3, t4] = readings(&self.time, &self.all)?;
        let refused = |call| move |error| Refusal { call, error };
        for _ in 0..self.count {
            let held = self.one.lock().map_err(refused("pthread_mutex_lock"))?;
            L::unlock(held).map_err(refused("pthread_mutex_unlock"))?;
        }
        let t5 = self.time.now();
        let mean = |from, to| mean_ps(span(from, to), self.cost_ps, self.count);
        Ok(Some(Taken { values: [mean(t0, t1), mean(t1, t2), mean(t2, t3), mean(t4, t5)], at: t5 }))
    }
}

/// Runs the loop over the kinds, with one channel each, timing each call separately, until its end.
pub fn run_each(
    kinds: &mut [Calls],
    course: &Course,
    stop: &AtomicBool,
    channels: &mut [Channel<QUANTITIES>],
) -> Rounds {
    rounds::drive(course, channels, &Monotonic, |pass, channels| each(kinds, channels, pass, stop))
}

/// Runs the loop over the kinds, with one channel each, timing many calls together, until its end.
pub fn run_batch(
    kinds: &mut [CallBatch],
    course: &Course,
    stop: &AtomicBool,
    channels: &mut [Channel<QUANTITIES>],
) -> Rounds {
    rounds::drive(course, channels, &Monotonic, |pass, channels| batch(kinds, channels, pass, stop))
}

/// Runs every cold path of [`run_each`] once, then clears the recorders.
///
/// The C library remembers the policy that the thread has when it first locks a mutex with a priority ceiling. The thread must therefore
/// already have the policy that it will run with.
pub fn rehearse_each(kinds: &mut [Calls], channels: &mut [Channel<QUANTITIES>]) {
    let stop = AtomicBool::new(false);
    rounds::rehearse(channels, REHEARSED, &Monotonic, |pass, channels| each(kinds, channels, pass, &stop));
    touch_code(&[run_each as *const () as usize]);
}

/// Runs every cold path of [`run_batch`] once, like [`rehearse_each`].
pub fn rehearse_batch(kinds: &mut [CallBatch], channels: &mut [Channel<QUANTITIES>]) {
    let stop = AtomicBool::new(false);
    rounds::rehearse(channels, 4, &Monotonic, |pass, channels| batch(kinds, channels, pass, &stop));
    touch_code(&[run_batch as *const () as usize]);
}

#[inline(never)]
fn each(kinds: &mut [Calls], channels: &mut [Channel<QUANTITIES>], pass: &Pass, stop: &AtomicBool) -> Passed {
    rounds::sweep(kinds, channels, pass, stop)
}

#[inline(never)]
fn batch(kinds: &mut [CallBatch], channels: &mut [Channel<QUANTITIES>], pass: &Pass, stop: &AtomicBool) -> Passed {
    rounds::sweep(kinds, channels, pass, stop)
}

#[cfg(test)]
mod tests;
