//! The choices that the options of `switch` offer.

use latido_sys::handoff::Way;
use serde::{Deserialize, Serialize};

/// What the waiting task sleeps on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandoffBy {
    /// A POSIX semaphore.
    Semaphore,
    /// A futex.
    Futex,
    /// A pipe.
    Pipe,
    /// An eventfd.
    Eventfd,
}

impl From<HandoffBy> for Way {
    fn from(by: HandoffBy) -> Self {
        match by {
            HandoffBy::Semaphore => Self::Semaphore,
            HandoffBy::Futex => Self::Futex,
            HandoffBy::Pipe => Self::Pipe,
            HandoffBy::Eventfd => Self::Eventfd,
        }
    }
}

/// Whether the two tasks share a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Both in one process.
    Threads,
    /// One process each.
    Processes,
}

/// The CPUs of the two tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// Both on one CPU.
    Same,
    /// One CPU each.
    Other,
}

impl Across {
    /// Returns how many CPUs that takes.
    pub fn cpus(self) -> usize {
        match self {
            Self::Same => 1,
            Self::Other => 2,
        }
    }
}
