//! A POSIX semaphore in memory that two threads or two processes share, see sem_overview(7).

use crate::Errno;
use std::{cell::UnsafeCell, fmt};

/// A semaphore of the C library. One side must call [`SharedSemaphore::set_up`] before the first use.
#[repr(transparent)]
pub struct SharedSemaphore(UnsafeCell<libc::sem_t>);

// SAFETY: many threads may call the C library's functions on one semaphore.
unsafe impl Sync for SharedSemaphore {}

impl fmt::Debug for SharedSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Semaphore")
    }
}

impl SharedSemaphore {
    /// Initialises it to 0, for the threads of one process or for several processes.
    ///
    /// # Errors
    /// `ENOSYS` where the C library has no semaphores for several processes.
    pub(super) fn set_up(&self, processes: bool) -> Result<(), Errno> {
        // SAFETY: the memory belongs to a semaphore that is not in use yet. It needs no destructor: the C library keeps no other data about
        // it.
        Errno::check(unsafe { libc::sem_init(self.0.get(), i32::from(processes), 0) })?;
        Ok(())
    }

    /// Waits until it is above 0, and decrements it.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        // SAFETY: the semaphore is initialised.
        Errno::check(unsafe { libc::sem_wait(self.0.get()) })?;
        Ok(())
    }

    /// Increments it by one.
    ///
    /// # Errors
    /// `EOVERFLOW` beyond the largest value.
    #[inline(always)]
    pub fn post(&self) -> Result<(), Errno> {
        // SAFETY: the semaphore is initialised.
        Errno::check(unsafe { libc::sem_post(self.0.get()) })?;
        Ok(())
    }
}
