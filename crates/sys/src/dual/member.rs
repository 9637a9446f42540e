//! The calling thread as a member of the core, and a timer for it.

use super::{Counts, Installed, Of};
use crate::{Errno, cobalt, evl};
use std::marker::PhantomData;

/// The calling thread as a member of the core. When it is dropped, the thread leaves the core.
#[derive(Debug)]
pub struct Member<'a> {
    of: Which<'a>,
    /// Only the thread that entered may leave.
    stays: PhantomData<*const ()>,
}

#[derive(Debug)]
enum Which<'a> {
    Evl(evl::Thread<'a>),
    Cobalt(cobalt::Thread<'a>),
}

impl<'a> Member<'a> {
    pub(super) fn enter(installed: &'a Installed, prio: u8) -> Result<Self, Errno> {
        let of = match &installed.0 {
            Of::Evl(evl) => Which::Evl(evl::Thread::enter(evl, prio)?),
            Of::Cobalt(cobalt) => Which::Cobalt(cobalt::Thread::enter(cobalt, prio)?),
        };
        Ok(Self { of, stays: PhantomData })
    }
}

impl Member<'_> {
    /// Lets the core send SIGDEBUG when the thread goes in-band, or not. The thread is out of band afterwards.
    ///
    /// # Errors
    /// A correct core returns no error here.
    pub fn warn(&self, on: bool) -> Result<(), Errno> {
        match &self.of {
            Which::Evl(thread) => thread.warn(on),
            Which::Cobalt(thread) => thread.warn(on),
        }
    }

    /// Takes the thread out of band again.
    ///
    /// # Errors
    /// `EINTR` when a signal of Linux is pending.
    #[inline(always)]
    pub fn harden(&self) -> Result<(), Errno> {
        match &self.of {
            Which::Evl(thread) => thread.harden(),
            Which::Cobalt(thread) => thread.harden(),
        }
    }

    /// Returns whether the thread runs out of band. It stays where it is: EVL writes this to shared memory, and Cobalt has a call that does
    /// not switch.
    ///
    /// # Errors
    /// A correct core returns no error here.
    pub fn is_out_of_band(&self) -> Result<bool, Errno> {
        match &self.of {
            Which::Evl(thread) => Ok(thread.is_out_of_band()),
            Which::Cobalt(thread) => thread.is_out_of_band(),
        }
    }

    /// Returns what the core counted for the thread. The thread stays where it is.
    ///
    /// # Errors
    /// `EOPNOTSUPP` when the core was built without statistics (CONFIG_EVL_RUNSTATS, CONFIG_XENO_OPT_STATS): its zeros would say that
    /// nothing happened.
    pub fn counts(&self) -> Result<Counts, Errno> {
        match &self.of {
            Which::Evl(thread) => thread.counts(),
            Which::Cobalt(thread) => thread.counts(),
        }
    }

    /// Sleeps until a time of CLOCK_MONOTONIC in ns, or returns at once if it has passed. One call of the core.
    ///
    /// The core wakes the thread earlier by its gravity, unless that is 0.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran: the thread is then in-band, and the next sleep can return `EINTR` at once.
    #[inline(always)]
    pub fn sleep_until(&self, at_ns: u64) -> Result<(), Errno> {
        match &self.of {
            Which::Evl(thread) => thread.sleep_until(at_ns),
            Which::Cobalt(thread) => thread.sleep_until(at_ns),
        }
    }

    /// Creates a timer of the core, not set. This call, and dropping the timer, take the thread in-band.
    ///
    /// # Errors
    /// `EMFILE` and `ENOMEM`, as for every descriptor.
    pub fn timer(&self) -> Result<Timer, Errno> {
        let of = match &self.of {
            Which::Evl(thread) => Ticking::Evl(thread.timer()?),
            Which::Cobalt(thread) => Ticking::Cobalt(thread.timer()?),
        };
        Ok(Timer { of, stays: PhantomData })
    }

    /// Gives the thread another FIFO priority in the core, 1 to 99. One call of the core.
    ///
    /// # Errors
    /// `EINVAL` for an impossible priority.
    #[inline(always)]
    pub fn set_priority(&self, prio: u8) -> Result<(), Errno> {
        match &self.of {
            Which::Evl(thread) => thread.set_priority(prio),
            Which::Cobalt(thread) => thread.set_priority(prio),
        }
    }

    /// Stops the warnings and leaves the core. The thread is then in-band.
    ///
    /// Cobalt has no call that ends a membership: the thread only stays in-band, where it is a thread of Linux, until it ends.
    ///
    /// # Errors
    /// The first error of the core. The thread has left as far as the core allowed.
    pub fn leave(self) -> Result<(), Errno> {
        match self.of {
            Which::Evl(thread) => thread.leave(),
            Which::Cobalt(thread) => thread.leave(),
        }
    }
}

/// A timer of the core on CLOCK_MONOTONIC, for the member that created it. When that thread has left the core, the core refuses its calls.
#[derive(Debug)]
pub struct Timer {
    of: Ticking,
    /// Only the thread that created it may use it.
    stays: PhantomData<*const ()>,
}

#[derive(Debug)]
enum Ticking {
    Evl(evl::Timer),
    Cobalt(cobalt::Timer),
}

impl Timer {
    /// Sets the timer to expire once, at a time in ns. A time that has passed expires at once. One call of the core.
    ///
    /// A wait must follow each set: neither core forgets an earlier expiry.
    ///
    /// # Errors
    /// A correct core returns no error here.
    #[inline(always)]
    pub fn set(&self, at_ns: u64) -> Result<(), Errno> {
        match &self.of {
            Ticking::Evl(timer) => timer.set(at_ns),
            Ticking::Cobalt(timer) => timer.set(at_ns),
        }
    }

    /// Waits until the timer has expired. Returns how often it expired. One call of the core, or none if Cobalt refused
    /// a time that had passed.
    ///
    /// # Errors
    /// `EINTR` when a signal handler ran: the thread is then in-band.
    #[inline(always)]
    pub fn wait(&self) -> Result<u64, Errno> {
        match &self.of {
            Ticking::Evl(timer) => timer.wait(),
            Ticking::Cobalt(timer) => timer.wait(),
        }
    }
}
