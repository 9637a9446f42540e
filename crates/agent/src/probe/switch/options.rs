//! What the options of `switch` choose between.

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
