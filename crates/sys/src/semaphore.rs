//! A semaphore between the threads of a process; see sem_overview(7).

use crate::Errno;
use std::{cell::UnsafeCell, fmt, mem::MaybeUninit};

/// A counting semaphore that starts at 0, in separately allocated memory.
pub struct Semaphore {
    raw: Box<UnsafeCell<libc::sem_t>>,
}

// SAFETY: a semaphore may be used from any thread; that is what it is for.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Semaphore")
    }
}

impl Semaphore {
    /// Creates a semaphore for the threads of this process.
    ///
    /// # Errors
    /// A correct C library returns no error here.
    pub fn new() -> Result<Self, Errno> {
        // SAFETY: all-zero is a valid place for sem_init to write to.
        let raw = Box::new(UnsafeCell::new(unsafe { MaybeUninit::<libc::sem_t>::zeroed().assume_init() }));
        // SAFETY: writable memory that does not move until the semaphore is destroyed.
        Errno::check(unsafe { libc::sem_init(raw.get(), 0, 0) })?;
        Ok(Self { raw })
    }

    /// Calls sem_post(3): wakes one waiting thread.
    ///
    /// # Errors
    /// `EOVERFLOW` after 2^31 posts that no thread waited for.
    #[inline(always)]
    pub fn post(&self) -> Result<(), Errno> {
        // SAFETY: initialised, and not moved since.
        outcome(unsafe { libc::sem_post(self.raw.get()) })
    }

    /// Calls sem_wait(3).
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran: the caller checks its stop flag and waits again.
    #[inline(always)]
    pub fn wait(&self) -> Result<(), Errno> {
        // SAFETY: initialised, and not moved since.
        outcome(unsafe { libc::sem_wait(self.raw.get()) })
    }
}

#[inline(always)]
fn outcome(result: libc::c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(refusal()) }
}

/// Reads the thread's error number with the C library alone, because real-time loops wait on this semaphore.
#[cold]
#[inline(never)]
fn refusal() -> Errno {
    // SAFETY: the address of the calling thread's own number is always readable.
    Errno::from_raw(unsafe { *libc::__errno_location() })
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: initialised. A waiting thread borrows the semaphore, so no thread waits at this point.
        unsafe { libc::sem_destroy(self.raw.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sched, signal};
    use std::sync::atomic::{AtomicI32, Ordering};

    #[test]
    fn each_post_lets_one_through() {
        let (there, back) = (Semaphore::new().unwrap(), Semaphore::new().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100 {
                    there.wait().unwrap();
                    back.post().unwrap();
                }
            });
            for _ in 0..100 {
                there.post().unwrap();
                back.wait().unwrap();
            }
        });
        for semaphore in [&there, &back] {
            // SAFETY: initialised, and not moved since.
            assert_eq!(unsafe { libc::sem_trywait(semaphore.raw.get()) }, -1, "a wait ended without a post");
        }
    }

    #[test]
    fn a_signal_ends_the_wait() {
        signal::interrupt_only(signal::SIGUSR1).unwrap();
        let (semaphore, tid) = (Semaphore::new().unwrap(), AtomicI32::new(0));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                tid.store(sched::gettid(), Ordering::SeqCst);
                semaphore.wait()
            });
            while !waiter.is_finished() {
                if tid.load(Ordering::SeqCst) != 0 {
                    let _gone = signal::send_to_thread(tid.load(Ordering::SeqCst), signal::SIGUSR1);
                }
                std::thread::yield_now();
            }
            assert_eq!(waiter.join().unwrap(), Err(Errno::EINTR));
        });
    }
}
