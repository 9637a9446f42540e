//! The calls that both loops of a handoff make.

use latido_sys::{Errno, clock::Clock::Monotonic, usage};

/// The calls of both tasks; tests provide others.
pub trait HandoffCalls {
    /// Reads CLOCK_MONOTONIC, in ns.
    fn now(&self) -> u64;

    /// Sleeps until `at_ns`, or less when a signal interrupts it.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupts it.
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno>;

    /// Returns how often the calling task has given up its CPU voluntarily.
    fn voluntary_switches(&self) -> u64;

    /// Sleeps until the other task posts.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupts it; the post is then still to come.
    fn wait(&self) -> Result<(), Errno>;

    /// Wakes the other task.
    ///
    /// # Errors
    /// The error that the kernel returns.
    fn post(&self) -> Result<(), Errno>;
}

/// The real machine, with functions to wait and to post.
pub struct Real<W, P> {
    /// The function that waits.
    pub wait: W,
    /// The function that posts.
    pub post: P,
}

impl<W: Fn() -> Result<(), Errno>, P: Fn() -> Result<(), Errno>> HandoffCalls for Real<W, P> {
    #[inline(always)]
    fn now(&self) -> u64 {
        Monotonic.now()
    }

    #[inline(always)]
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        Monotonic.sleep_until(at_ns)
    }

    #[inline(always)]
    fn voluntary_switches(&self) -> u64 {
        usage::voluntary_switches()
    }

    #[inline(always)]
    fn wait(&self) -> Result<(), Errno> {
        (self.wait)()
    }

    #[inline(always)]
    fn post(&self) -> Result<(), Errno> {
        (self.post)()
    }
}
