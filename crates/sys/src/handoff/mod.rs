//! One task waits and another wakes it: through a semaphore, a futex, a pipe or an eventfd, within a process or between two.

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

/// How the waiting task sleeps.
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

/// A word in a separate cache line: the two tasks may run on two CPUs.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CacheLine(pub AtomicU64);

/// The words that the two tasks exchange in addition to the handoff.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    /// The round that the waiting task will wait for next, from 1. The waiting task writes it.
    pub announced: CacheLine,
    /// The posting task's clock right before it posts, in ns. The posting task writes it.
    pub posted_ns: CacheLine,
    /// Not 0 once the waiting task has ended. The waiting task writes it.
    pub ended: CacheLine,
}

/// The memory that both tasks share.
#[derive(Debug)]
#[repr(C)]
struct Area {
    words: Words,
    semaphore: SharedSemaphore,
    futex: Futex,
}

// SAFETY: atomic words, for which all bytes are valid, and a semaphore. Only the C library interprets the bytes of a semaphore, and its
// functions accept any bytes as some count. The area contains no addresses (glibc: nptl/sem_init.c; musl: src/thread/sem_init.c).
unsafe impl Shareable for Area {}

/// Both ends of a handoff in one process.
#[derive(Debug)]
pub struct Handoff {
    way: Way,
    processes: bool,
    area: Shared<Area>,
    descriptors: Option<Descriptors>,
}

/// The numbers under which a child inherits a handoff: for the memory, the waiting end, and the posting end.
pub type Numbers = [Option<i32>; 3];

impl Handoff {
    /// Creates a handoff, for threads of this process or for two `processes`.
    ///
    /// # Errors
    /// The error of the kernel or the C library.
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

    /// Takes the handoff that this process inherited from its parent.
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

    /// Lets children inherit the handoff, and returns the numbers.
    ///
    /// # Errors
    /// None with a correct kernel.
    pub fn inherit(&self) -> Result<Numbers, Errno> {
        let memory = Some(descriptor::inherit(self.area.file())?);
        let Some(descriptors) = &self.descriptors else { return Ok([memory, None, None]) };
        let [reading, writing] = descriptors.ends();
        Ok([memory, Some(descriptor::inherit(reading)?), Some(descriptor::inherit(writing)?)])
    }

    /// Returns how the waiting task sleeps.
    pub fn way(&self) -> Way {
        self.way
    }

    /// Returns whether two processes share it.
    pub fn processes(&self) -> bool {
        self.processes
    }

    /// Returns the words that both tasks share.
    #[inline(always)]
    pub fn words(&self) -> &Words {
        &self.area.words
    }

    /// Returns the semaphore; only for [`Way::Semaphore`].
    #[inline(always)]
    pub fn semaphore(&self) -> &SharedSemaphore {
        &self.area.semaphore
    }

    /// Returns the futex; only for [`Way::Futex`].
    #[inline(always)]
    pub fn futex(&self) -> &Futex {
        &self.area.futex
    }

    /// Returns the descriptors of a pipe or an eventfd.
    pub fn descriptors(&self) -> Option<&Descriptors> {
        self.descriptors.as_ref()
    }
}

#[cfg(test)]
mod tests;
