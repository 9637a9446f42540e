//! What an expectation was held against: figures with their unit, the place, and why there are none.

use super::reason::Reason;
use std::fmt;

/// A figure in the unit in which it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    /// The figure.
    pub value: f64,
    /// What it is.
    pub dimension: Dimension,
}

/// What a figure counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Nanoseconds.
    Time,
    /// Nanoseconds, known to fractions of one: a mean of many calls.
    FineTime,
    /// A part of all samples.
    Share,
    /// Samples or slots.
    Number,
    /// Another unit: `urad`.
    Other(String),
}

/// Which thread of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The one pinned to this CPU.
    Cpu(u32),
    /// The one of this number, free to move.
    Thread(u32),
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(cpu) => write!(f, "CPU {cpu}"),
            Self::Thread(thread) => write!(f, "thread {thread}"),
        }
    }
}

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The quantity has no slots.
    NoSlots,
    /// So few samples support no such quantile.
    TooFew(u64),
    /// The data or the units do not allow it: why.
    Unfit(String),
}

/// What weakens a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum But {
    /// Its cell is doubtful, for this reason.
    Doubt(Option<Box<Reason>>),
    /// Everything above the bound lies in seconds with foreign time.
    ForeignSeconds,
    /// Everything of the larger side above this is foreign time.
    ForeignAbove {
        /// The larger side.
        side: String,
        /// The figure of the other, ns.
        above_ns: i64,
    },
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The levels in which it differs from the other: `isolated`.
    pub name: String,
    /// Its figure.
    pub amount: Amount,
    /// How many repeats it pools.
    pub repeats: usize,
}

/// What was measured at one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Nothing: the cell has no record, for this reason where one is known.
    Nothing(Option<String>),
    /// One thread's figure.
    Single {
        /// The thread.
        whose: Whose,
        /// The figure.
        amount: Result<Amount, Missing>,
        /// What weakens it.
        but: Option<But>,
    },
    /// Two figures side by side.
    Pair {
        /// The side that the expectation is about.
        own: Compared,
        /// What it is compared with.
        other: Compared,
        /// What weakens it.
        but: Option<But>,
    },
    /// A side of a comparison that has no figure.
    Sideless {
        /// The side.
        name: String,
        /// Why.
        why: Missing,
    },
}

/// What decides an expectation: the outcome at the place that weighs most.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The cell, and what tells the series from others of it: `wakeup, busy`, `mutex, idle, kind inherit`.
    pub place: String,
    /// What was measured there.
    pub measured: Measured,
    /// How many other places came to the same verdict.
    pub alike: usize,
}
