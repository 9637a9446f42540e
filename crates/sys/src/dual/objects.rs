//! Semaphores and mutexes of the core. Several threads of the process can use one; the threads that wait must be members.

use super::{Installed, Of};
use crate::{Errno, cobalt, evl};
use std::{marker::PhantomData, mem};

/// A counting semaphore of the core.
#[derive(Debug)]
pub struct Semaphore(Counter);

#[derive(Debug)]
enum Counter {
    Evl(evl::Semaphore),
    Cobalt(cobalt::Semaphore),
}

impl Semaphore {
    /// Creates a semaphore with an initial count. The calling thread may be no member; a member goes in-band for EVL.
    ///
    /// # Errors
    /// `EINVAL` for a count above 2^31 - 1, `EPERM`, `ENOMEM` and `EAGAIN` when the core has no room.
    pub fn new(installed: &Installed, initial: u32) -> Result<Self, Errno> {
        Ok(Self(match &installed.0 {
            Of::Evl(evl) => Counter::Evl(evl::Semaphore::new(evl, initial)?),
            Of::Cobalt(cobalt) => Counter::Cobalt(cobalt::Semaphore::new(cobalt, initial)?),
        }))
    }

    /// Takes one from the count, and waits while it is 0. One call of the core.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran, `EPERM` for a thread that is no member.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        match &self.0 {
            Counter::Evl(semaphore) => semaphore.wait(),
            Counter::Cobalt(semaphore) => semaphore.wait(),
        }
    }

    /// Adds one to the count, and wakes the first waiting thread. One call of the core.
    ///
    /// # Errors
    /// `EPERM` for a thread that is no member of EVL.
    #[inline(always)]
    pub fn post(&self) -> Result<(), Errno> {
        match &self.0 {
            Counter::Evl(semaphore) => semaphore.post(),
            Counter::Cobalt(semaphore) => semaphore.post(),
        }
    }
}

/// A mutex of the core with priority inheritance.
#[derive(Debug)]
pub struct Mutex(Lock);

#[derive(Debug)]
enum Lock {
    Evl(evl::Gate),
    Cobalt(cobalt::Mutex),
}

/// Proof that this thread has locked a mutex; unlocks it when dropped.
#[must_use]
#[derive(Debug)]
pub struct Held<'a> {
    mutex: &'a Mutex,
    /// Only the thread that locked may unlock.
    stays: PhantomData<*const ()>,
}

impl Mutex {
    /// Creates an unlocked mutex. The calling thread may be no member; a member goes in-band for EVL.
    ///
    /// # Errors
    /// As [`Semaphore::new`].
    pub fn new(installed: &Installed) -> Result<Self, Errno> {
        Ok(Self(match &installed.0 {
            Of::Evl(evl) => Lock::Evl(evl::Gate::new(evl)?),
            Of::Cobalt(cobalt) => Lock::Cobalt(cobalt::Mutex::new(cobalt)?),
        }))
    }

    /// Locks the mutex. One call of the core.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran, `EPERM` for a thread that is no member. For a thread that has already locked the mutex, EVL
    /// returns `EDEADLK`, and Cobalt never returns.
    #[inline(always)]
    pub fn lock(&self) -> Result<Held<'_>, Errno> {
        match &self.0 {
            Lock::Evl(gate) => gate.enter()?,
            Lock::Cobalt(mutex) => mutex.lock()?,
        }
        Ok(Held { mutex: self, stays: PhantomData })
    }

    #[inline(always)]
    fn unlock(&self) -> Result<(), Errno> {
        match &self.0 {
            Lock::Evl(gate) => gate.exit(),
            Lock::Cobalt(mutex) => mutex.unlock(),
        }
    }
}

impl Held<'_> {
    /// Unlocks the mutex. One call of the core.
    ///
    /// # Errors
    /// A correct core returns no error here.
    #[inline(always)]
    pub fn unlock(self) -> Result<(), Errno> {
        let unlocked = self.mutex.unlock();
        mem::forget(self);
        unlocked
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // A drop cannot return the error; the mutex then stays locked.
        let _refused = self.mutex.unlock();
    }
}
