//! The real-time core beside Linux, where the kernel has one: EVL or Cobalt. latido drives it by its calls alone, without its library.
//!
//! A thread that enters the core runs out of band: the core schedules it, and Linux cannot delay it. Any call of Linux takes the thread
//! in-band until it hardens itself again.

mod member;
mod objects;

use crate::{Errno, cobalt::Cobalt, evl::Evl};
use std::path::Path;

pub use crate::cokernel::{Core, Counts, Refused};
pub use member::{Member, Timer};
pub use objects::{Held, Mutex, Semaphore};

/// An installed core, opened by this process. All measuring threads share it. A child of the process must look for the core anew.
#[derive(Debug)]
pub struct Installed(Of);

#[derive(Debug)]
enum Of {
    Evl(Evl),
    Cobalt(Cobalt),
}

impl Installed {
    /// Looks for a core: `Ok(None)` on an ordinary kernel.
    ///
    /// # Errors
    /// Why latido cannot use the core that is there.
    pub fn find() -> Result<Option<Self>, Refused> {
        Self::find_under(Path::new("/"))
    }

    /// Looks for a core whose devices and state files lie below a root directory, for tests. Cobalt has no devices: its calls decide.
    ///
    /// # Errors
    /// As [`Installed::find`].
    pub fn find_under(root: &Path) -> Result<Option<Self>, Refused> {
        // A kernel has at most one of them, because both replace the same part of it.
        if let Some(evl) = Evl::find(root)? {
            return Ok(Some(Self(Of::Evl(evl))));
        }
        Ok(Cobalt::find(root)?.map(|cobalt| Self(Of::Cobalt(cobalt))))
    }

    /// Returns which core it is.
    pub fn core(&self) -> Core {
        match self.0 {
            Of::Evl(_) => Core::Evl,
            Of::Cobalt(_) => Core::Cobalt,
        }
    }

    /// Returns the ABI that latido speaks with the core.
    pub fn abi(&self) -> u32 {
        match &self.0 {
            Of::Evl(evl) => evl.abi(),
            Of::Cobalt(cobalt) => cobalt.abi(),
        }
    }

    /// Makes the calling thread a member with this FIFO priority, 1 to 99, in the core's own scheduler. The thread is then out of band.
    ///
    /// Before that, the process locks its memory (mlockall(2) with `MCL_FUTURE`) and catches SIGDEBUG
    /// ([`debug::catch`](crate::signal::debug::catch)), and the thread has its CPU and its policy of Linux. EVL gives the thread another
    /// name (`thread%N`).
    ///
    /// # Errors
    /// `EPERM` without the permission, `EINVAL` for an impossible priority or memory that is not locked, `EBUSY` when the thread is already
    /// a member of EVL, `ENXIO` when EVL does not run.
    pub fn enter(&self, prio: u8) -> Result<Member<'_>, Errno> {
        Member::enter(self, prio)
    }
}

#[cfg(test)]
mod tests;
