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
    /// How many in so much: `per hour`.
    Rate(&'static str),
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
    /// Another tool has counted it in bins, and the bound lies within: from where to where it may be.
    Coarse(Amount, Option<Amount>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The levels in which it differs from the other: `isolated`.
    pub name: String,
    /// The median of its repeats; absent where none counts.
    pub amount: Option<Amount>,
    /// How many repeats count.
    pub repeats: usize,
}

/// By how much the side that an expectation is about lies from the other: Hodges and Lehmann's estimate.
#[derive(Clone, Debug, PartialEq)]
pub enum Apart {
    /// So many times the other.
    Ratio {
        /// The estimate.
        value: f64,
        /// Its 95 % interval; absent with too few repeats.
        interval: Option<(f64, f64)>,
    },
    /// So much more than the other, where zeros occur or a distance was asked for.
    Difference {
        /// The estimate.
        value: Amount,
        /// As of the ratio.
        interval: Option<(Amount, Amount)>,
    },
}

/// What the repeats of two sides say of what was expected.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// The difference is real, and in this direction or in the other one.
    Decided,
    /// The difference lies within this part, which the plan calls none.
    Equivalent(f64),
    /// So many repeats cannot reach 5 %, whatever they are; so many a side can.
    TooFew(Option<u64>),
    /// The difference may be chance.
    Chance,
    /// Too few repeats are left: this side has none.
    NoneLeft(String),
}

/// Why repeats do not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfit {
    /// A cell is doubtful, for this reason.
    Doubt(Option<Box<Reason>>),
    /// All of it above the other side's figure, ns, is foreign time.
    ForeignAbove(i64),
    /// It is a copy of another: of emulated members that came out identical one counts.
    Copy,
    /// It has no figure.
    Missing(Missing),
}

/// Repeats that do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The side.
    pub side: String,
    /// How many of it.
    pub repeats: usize,
    /// Why the first of them does not.
    pub why: Unfit,
}

/// Two sides compared, repeat by repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The side that the expectation is about.
    pub own: Compared,
    /// What it is compared with.
    pub other: Compared,
    /// How far they lie apart; absent where a side has no repeat.
    pub apart: Option<Apart>,
    /// The p of Mann and Whitney's test after Holm, and of how many comparisons of the plan this is one.
    pub p: Option<(f64, usize)>,
    /// What follows.
    pub ruling: Ruling,
    /// What does not count.
    pub left_out: Vec<LeftOut>,
    /// The figure of each repeat that counts, of this side and of the other one: its evidence.
    pub each: [Vec<f64>; 2],
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
    /// Two sides.
    Pair(Box<Pair>),
    /// What so short a measurement says nothing of: a maximum or a count at this part of the size.
    Scaled(f64),
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
