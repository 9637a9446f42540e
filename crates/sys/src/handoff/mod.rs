//! One task waits, another wakes it: through a semaphore, a futex, a pipe or an eventfd, within a process or between
//! two.

mod fd;
mod futex;
mod semaphore;

use crate::{
    Errno, descriptor,
    shared::{Shareable, Shared},
};
use fd::Descriptors;
pub use futex::Futex;
pub use semaphore::SharedSemaphore;
use std::sync::atomic::AtomicU64;

/// What the waiting task sleeps on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// sem_wait(3) and sem_post(3).
    Semaphore,
    /// FUTEX_WAIT and FUTEX_WAKE.
    Futex,
    /// 8 bytes through a pipe.
    Pipe,
    /// An eventfd with EFD_SEMAPHORE.
    Eventfd,
}

/// A word in a cache line of its own: the two tasks may run on two CPUs.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CacheLine(pub AtomicU64);

/// What the two tasks tell each other besides handing over.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    /// The round that the waiting task is about to wait for, from 1; it writes this.
    pub announced: CacheLine,
    /// The posting task's clock right before it posts, in ns; it writes this.
    pub posted_ns: CacheLine,
    /// Not 0 once the waiting task has ended; it writes this.
    pub ended: CacheLine,
}

/// The memory that both tasks see.
#[derive(Debug)]
#[repr(C)]
struct Area {
    words: Words,
    semaphore: SharedSemaphore,
    futex: Futex,
}

// SAFETY: atomic words, for which all bytes are valid, and a semaphore, which is bytes to everybody but the C library;
// its functions take any bytes for some count. No addresses (glibc: nptl/sem_init.c; musl: src/thread/sem_init.c).
unsafe impl Shareable for Area {}

/// Both ends of a handoff, as one process sees them.
#[derive(Debug)]
pub struct Handoff {
    way: Way,
    processes: bool,
    area: Shared<Area>,
    descriptors: Option<Descriptors>,
}

/// The numbers under which a child inherits a handoff: the memory, the waiting end, the posting end.
pub type Numbers = [Option<i32>; 3];

impl Handoff {
    /// A new one, for threads of this process or for two `processes`.
    ///
    /// # Errors
    /// What the kernel or the C library refuses.
    pub fn create(way: Way, processes: bool) -> Result<Self, Errno> {
        let area = Shared::<Area>::create()?;
        let descriptors = match way {
            Way::Semaphore | Way::Futex => None,
            Way::Pipe => Some(Descriptors::pipe()?),
            Way::Eventfd => Some(Descriptors::eventfd()?),
        };
        area.semaphore.set_up(processes)?;
        Ok(Self { way, processes, area, descriptors })
    }

    /// The one that this process inherited from its parent.
    ///
    /// # Errors
    /// `EBADF` or `EINVAL` for numbers that are not such files.
    pub fn adopt(way: Way, numbers: Numbers) -> Result<Self, Errno> {
        let [memory, reading, writing] = numbers;
        let area = Shared::<Area>::adopt(memory.ok_or(Errno::EINVAL)?)?;
        let descriptors = match way {
            Way::Semaphore | Way::Futex => None,
            Way::Pipe | Way::Eventfd => {
                Some(Descriptors::adopt(reading.ok_or(Errno::EINVAL)?, writing.ok_or(Errno::EINVAL)?)?)
            }
        };
        Ok(Self { way, processes: true, area, descriptors })
    }

    /// Lets children inherit it under these numbers.
    ///
    /// # Errors
    /// None that a correct kernel gives.
    pub fn inherit(&self) -> Result<Numbers, Errno> {
        let memory = Some(descriptor::inherit(self.area.file())?);
        let Some(descriptors) = &self.descriptors else { return Ok([memory, None, None]) };
        let [reading, writing] = descriptors.ends();
        Ok([memory, Some(descriptor::inherit(reading)?), Some(descriptor::inherit(writing)?)])
    }

    /// What the waiting task sleeps on.
    pub fn way(&self) -> Way {
        self.way
    }

    /// Whether two processes share it.
    pub fn processes(&self) -> bool {
        self.processes
    }

    /// The words that both see.
    #[inline(always)]
    pub fn words(&self) -> &Words {
        &self.area.words
    }

    /// The semaphore; only for [`Way::Semaphore`].
    #[inline(always)]
    pub fn semaphore(&self) -> &SharedSemaphore {
        &self.area.semaphore
    }

    /// The futex; only for [`Way::Futex`].
    #[inline(always)]
    pub fn futex(&self) -> &Futex {
        &self.area.futex
    }

    /// The descriptors of a pipe or an eventfd.
    pub fn descriptors(&self) -> Option<&Descriptors> {
        self.descriptors.as_ref()
    }
}

#[cfg(test)]
mod tests;
