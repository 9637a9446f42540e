//! What the two loops of a handoff need of the machine.

use latido_sys::{Errno, clock::Clock::Monotonic, usage};

/// What either task needs of the machine; tests bring their own.
pub trait HandoffCalls {
    /// CLOCK_MONOTONIC, in ns.
    fn now(&self) -> u64;

    /// Sleeps until then, or less when interrupted.
    ///
    /// # Errors
    /// `EINTR` when interrupted.
    fn sleep_until(&self, at_ns: u64) -> Result<(), Errno>;

    /// How often the calling task has given up its CPU.
    fn voluntary_switches(&self) -> u64;

    /// Sleeps until the other task posts.
    ///
    /// # Errors
    /// `EINTR` when a signal interrupted it: nothing was taken then.
    fn wait(&self) -> Result<(), Errno>;

    /// Wakes the other task.
    ///
    /// # Errors
    /// What the kernel says.
    fn post(&self) -> Result<(), Errno>;
}

/// The machine itself, with a way to wait and to post.
pub struct Real<W, P> {
    /// Waits.
    pub wait: W,
    /// Posts.
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
