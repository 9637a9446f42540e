//! Signals: the overrun signal of a measuring thread's budget, and signals that interrupt a thread's waiting.

pub mod debug;

use crate::Errno;
use std::sync::atomic::{AtomicU64, Ordering};

std::thread_local! {
    // Constant-initialised and without a destructor: reading it is one instruction, also in a signal handler.
    static OVERRUNS: AtomicU64 = const { AtomicU64::new(0) };
}

/// Returns how often the calling thread has overrun its SCHED_DEADLINE budget since [`catch_overruns`].
#[inline(always)]
pub fn overruns() -> u64 {
    OVERRUNS.with(|count| count.load(Ordering::Relaxed))
}

/// Handles SIGXCPU. A signal that a real-time core marked as its own is no overrun.
extern "C" fn on_xcpu(_signal: libc::c_int, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    // SAFETY: the kernel passes a whole structure, because the handler has SA_SIGINFO. It has zeros where a signal has no value.
    let value = unsafe { (*info).si_value() };
    // SAFETY: the value is as large as a pointer, and its first bytes are its integer (`sival_int`).
    let value = unsafe { (&raw const value).cast::<u32>().read() };
    if !debug::counted(value) {
        OVERRUNS.with(|count| count.fetch_add(1, Ordering::Relaxed));
    }
}

/// Counts SIGXCPU signals. The kernel sends one for a thread with the overrun flag when the thread's budget is exhausted.
/// [`debug::counts`] has those that a real-time core sent.
///
/// The kernel sends the signal to the process, and prefers the thread that overran unless that thread blocks the signal.
///
/// # Errors
/// A correct kernel returns no error here.
pub fn catch_overruns() -> Result<(), Errno> {
    // SAFETY: all-zero is a valid sigaction (no flags, empty mask).
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_flags = libc::SA_SIGINFO;
    action.sa_sigaction =
        on_xcpu as extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void) as libc::sighandler_t;
    // SAFETY: the handler touches only atomics: statics, and a constant-initialised thread-local. It is async-signal-safe.
    Errno::check(unsafe { libc::sigaction(libc::SIGXCPU, &action, std::ptr::null_mut()) })?;
    Ok(())
}

/// Makes a signal only interrupt blocking calls (EINTR), so that a thread checks its stop flag.
///
/// # Errors
/// `EINVAL` for a signal that cannot be caught.
pub fn interrupt_only(signal: i32) -> Result<(), Errno> {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // SAFETY: all-zero is a valid sigaction; without SA_RESTART calls return EINTR.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the handler does nothing.
    Errno::check(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) })?;
    Ok(())
}

/// Sends a signal to one thread of this process.
///
/// # Errors
/// `ESRCH` when the thread has ended.
pub fn send_to_thread(tid: i32, signal: i32) -> Result<(), Errno> {
    // SAFETY: tgkill takes numbers only.
    Errno::check_long(unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), tid, signal) })?;
    Ok(())
}

/// SIGXFSZ: a file would grow beyond the limit of this process. If the process catches the signal, the write itself fails with `EFBIG`, so
/// the error shows which file.
pub const SIGXFSZ: i32 = libc::SIGXFSZ;
/// SIGUSR1.
pub const SIGUSR1: i32 = libc::SIGUSR1;
/// SIGKILL.
pub const SIGKILL: i32 = libc::SIGKILL;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_counts_on_the_thread_that_got_it() {
        catch_overruns().unwrap();
        let before = overruns();
        send_to_thread(crate::sched::gettid(), libc::SIGXCPU).unwrap();
        assert_eq!(overruns(), before + 1);
        assert_eq!(std::thread::spawn(overruns).join().unwrap(), 0, "another thread has its own count");
    }
}
