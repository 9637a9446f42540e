//! Cobalt's semaphores, mutexes and timers. latido makes one call for each operation, and measures that call.

use super::{Cobalt, address, call, number};
use crate::{Errno, cokernel::Times, layout::layout};
use std::cell::Cell;

/// struct cobalt_sem_shadow: the number of a semaphore in the core. The core keeps no address of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct SemaphoreName {
    magic: u32,
    state: i32,
    handle: u32,
}

// include/cobalt/uapi/sem.h.
layout!(SemaphoreName: 12, align 4, { magic: 0, state: 4, handle: 8 });

/// A counting semaphore of the core.
#[derive(Debug)]
pub(crate) struct Semaphore(SemaphoreName);

impl Semaphore {
    /// A process that is bound to the core may create one.
    pub(crate) fn new(_bound: &Cobalt, initial: u32) -> Result<Self, Errno> {
        let mut name = SemaphoreName::default();
        // SAFETY: the core reads and writes the name, which is writable and lives through the call.
        unsafe { call(number::SEM_INIT, [address(&raw mut name), 0, initial.into(), 0, 0]) }?;
        Ok(Self(name))
    }

    #[inline(always)]
    pub(crate) fn wait(&self) -> Result<(), Errno> {
        // SAFETY: the core only reads the name.
        unsafe { call(number::SEM_WAIT, [address(&raw const self.0), 0, 0, 0, 0]) }.map(drop)
    }

    #[inline(always)]
    pub(crate) fn post(&self) -> Result<(), Errno> {
        // SAFETY: the core only reads the name.
        unsafe { call(number::SEM_POST, [address(&raw const self.0), 0, 0, 0, 0]) }.map(drop)
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: the core reads and writes the name. A waiting thread borrows the semaphore, so no thread waits at this point.
        let _refused = unsafe { call(number::SEM_DESTROY, [address(&raw mut self.0), 0, 0, 0, 0]) };
    }
}

/// struct cobalt_mutex_shadow: the number of a mutex in the core. The core keeps no address of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct MutexName {
    magic: u32,
    locked: u32,
    state: u32,
    handle: u32,
    attributes: u32,
}

// include/cobalt/uapi/mutex.h.
layout!(MutexName: 20, align 4, { magic: 0, locked: 4, state: 8, handle: 12, attributes: 16 });

/// struct cobalt_mutexattr: an ordinary mutex (0) with PTHREAD_PRIO_INHERIT (1) for the threads of one process (0). The type has three
/// bits, and the protocol has the three bits above them.
pub(super) const INHERITING: u32 = 1 << 3;

/// A mutex of the core with priority inheritance.
#[derive(Debug)]
pub(crate) struct Mutex(MutexName);

impl Mutex {
    /// A process that is bound to the core may create one.
    pub(crate) fn new(_bound: &Cobalt) -> Result<Self, Errno> {
        let (mut name, attributes) = (MutexName::default(), INHERITING);
        let arguments = [address(&raw mut name), address(&raw const attributes), 0, 0, 0];
        // SAFETY: the core reads both and writes the name, which is writable. Both live through the call.
        unsafe { call(number::MUTEX_INIT, arguments) }?;
        Ok(Self(name))
    }

    #[inline(always)]
    pub(crate) fn lock(&self) -> Result<(), Errno> {
        // SAFETY: the core only reads the name.
        unsafe { call(number::MUTEX_LOCK, [address(&raw const self.0), 0, 0, 0, 0]) }.map(drop)
    }

    #[inline(always)]
    pub(crate) fn unlock(&self) -> Result<(), Errno> {
        // SAFETY: the core only reads the name.
        unsafe { call(number::MUTEX_UNLOCK, [address(&raw const self.0), 0, 0, 0, 0]) }.map(drop)
    }
}

impl Drop for Mutex {
    fn drop(&mut self) {
        // SAFETY: the core reads and writes the name. It refuses to destroy a locked mutex.
        let _refused = unsafe { call(number::MUTEX_DESTROY, [address(&raw mut self.0), 0, 0, 0, 0]) };
    }
}

/// A timer of the core on its monotonic clock.
#[derive(Debug)]
pub(crate) struct Timer {
    descriptor: u64,
    set: u8,
    /// The time had passed when latido set the timer. The core then does not start it.
    has_passed: Cell<bool>,
}

impl Timer {
    /// Creates a timer, not set. The call is in-band.
    pub(super) fn new(cobalt: &Cobalt) -> Result<Self, Errno> {
        // SAFETY: takes numbers only.
        let descriptor = unsafe { call(number::TIMER_CREATE, [libc::CLOCK_MONOTONIC as u64, 0, 0, 0, 0]) }?;
        Ok(Self { descriptor, set: cobalt.spoken.set_timer, has_passed: Cell::new(false) })
    }

    /// Sets the timer to expire once, at a time in ns. A time that has passed expires at once.
    #[inline(always)]
    pub(crate) fn set(&self, at_ns: u64) -> Result<(), Errno> {
        let times = Times::once(at_ns);
        let arguments = [self.descriptor, libc::TFD_TIMER_ABSTIME as u64, address(&raw const times), 0, 0];
        // SAFETY: the core only reads the times, which live through the call. It returns no old times where it has no place for them.
        let set = unsafe { call(self.set, arguments) };
        // xntimer_start refuses a time that has passed, and leaves it to the caller.
        self.has_passed.set(set == Err(Errno::ETIMEDOUT));
        if self.has_passed.get() { Ok(()) } else { set.map(drop) }
    }

    /// Waits until the timer has expired. Returns how often it expired.
    #[inline(always)]
    pub(crate) fn wait(&self) -> Result<u64, Errno> {
        if self.has_passed.take() {
            return Ok(1);
        }
        let mut expired = 0u64;
        let arguments = [self.descriptor, address(&raw mut expired), size_of::<u64>() as u64, 0, 0];
        // SAFETY: the number is writable for its eight bytes.
        let got = unsafe { call(number::READ, arguments) }?;
        if got == size_of::<u64>() as u64 { Ok(expired) } else { Err(Errno::EINVAL) }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: takes a number only. The core closes its own descriptor and Linux's, and no other code has it.
        let _refused = unsafe { call(number::CLOSE, [self.descriptor, 0, 0, 0, 0]) };
    }
}
