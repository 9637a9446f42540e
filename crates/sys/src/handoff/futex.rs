//! A counting semaphore made of one word and two system calls, see futex(2): the layer below the C library's semaphores.

use crate::Errno;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

/// The tokens that were posted and not yet taken.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Futex(AtomicU32);

// futex(2), include/uapi/linux/futex.h: a word of 32 bits, aligned to four bytes, for 64 and 32 bits.
const _: () = assert!(size_of::<Futex>() == 4 && align_of::<Futex>() == 4);

impl Futex {
    /// Waits for a token and takes it. `processes` is whether another process may post.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran.
    #[inline(always)]
    pub fn wait(&self, processes: bool) -> Result<(), Errno> {
        loop {
            let tokens = self.0.load(Relaxed);
            if tokens > 0 {
                if self.0.compare_exchange(tokens, tokens.wrapping_sub(1), Acquire, Relaxed).is_ok() {
                    return Ok(());
                }
                continue;
            }
            match self.call(libc::FUTEX_WAIT, processes, 0) {
                // EAGAIN: a token came just before the call.
                Ok(()) | Err(Errno::EAGAIN) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Posts a token and wakes one waiting task.
    ///
    /// # Errors
    /// None with a correct kernel.
    #[inline(always)]
    pub fn post(&self, processes: bool) -> Result<(), Errno> {
        self.0.fetch_add(1, Release);
        self.call(libc::FUTEX_WAKE, processes, 1)
    }

    #[inline(always)]
    fn call(&self, operation: libc::c_int, processes: bool, value: u32) -> Result<(), Errno> {
        let operation = if processes { operation } else { operation | libc::FUTEX_PRIVATE_FLAG };
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word lives during the call, and the kernel only reads it.
        Errno::check_long(unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, value, forever) })?;
        Ok(())
    }
}
