//! A POSIX semaphore in memory that two threads or two processes share, see sem_overview(7).

use crate::Errno;
use std::{cell::UnsafeCell, fmt};

/// Of the C library; needs [`SharedSemaphore::set_up`] before its first use, by one side only.
#[repr(transparent)]
pub struct SharedSemaphore(UnsafeCell<libc::sem_t>);

// SAFETY: the C library's functions are made to be called from many threads on one semaphore.
unsafe impl Sync for SharedSemaphore {}

impl fmt::Debug for SharedSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Semaphore")
    }
}

impl SharedSemaphore {
    /// Sets it up at 0, for the threads of one process or for several processes.
    ///
    /// # Errors
    /// `ENOSYS` where the C library has none for several processes.
    pub(super) fn set_up(&self, processes: bool) -> Result<(), Errno> {
        // SAFETY: the memory is a semaphore's, and nobody uses it yet. It needs no undoing: the C library keeps
        // nothing of it elsewhere.
        Errno::check(unsafe { libc::sem_init(self.0.get(), i32::from(processes), 0) })?;
        Ok(())
    }

    /// Waits until it is above 0 and lowers it.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        // SAFETY: the semaphore is set up.
        Errno::check(unsafe { libc::sem_wait(self.0.get()) })?;
        Ok(())
    }

    /// Raises it by one.
    ///
    /// # Errors
    /// `EOVERFLOW` beyond the largest value.
    #[inline(always)]
    pub fn post(&self) -> Result<(), Errno> {
        // SAFETY: the semaphore is set up.
        Errno::check(unsafe { libc::sem_post(self.0.get()) })?;
        Ok(())
    }
}
