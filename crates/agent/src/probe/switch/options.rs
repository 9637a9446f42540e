//! What the options of `switch` choose between.

use latido_sys::handoff::Way;
use serde::{Deserialize, Serialize};

/// What the waiting task sleeps on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A POSIX semaphore.
    Semaphore,
    /// A futex.
    Futex,
    /// A pipe.
    Pipe,
    /// An eventfd.
    Eventfd,
}

impl From<By> for Way {
    fn from(by: By) -> Self {
        match by {
            By::Semaphore => Self::Semaphore,
            By::Futex => Self::Futex,
            By::Pipe => Self::Pipe,
            By::Eventfd => Self::Eventfd,
        }
    }
}

/// Whose tasks hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Of one process.
    Threads,
    /// One each.
    Processes,
}

/// The CPUs of the two tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Across {
    /// Both on it.
    Same,
    /// One each.
    Other,
}

impl Across {
    /// How many.
    pub fn cpus(self) -> usize {
        match self {
            Self::Same => 1,
            Self::Other => 2,
        }
    }
}
