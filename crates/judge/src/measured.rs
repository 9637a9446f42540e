//! What an expectation was compared with: figures with their unit, the place, and why there are none.

use super::reason::Reason;
use std::fmt;

/// A figure in the unit in which it is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    /// The figure.
    pub value: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

/// The dimension of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Nanoseconds.
    Time,
    /// Nanoseconds with fractions: a mean of many calls.
    FineTime,
    /// A share of all samples.
    Share,
    /// A number of samples or slots.
    Number,
    /// A count per unit of exposure: `per hour`.
    Rate(&'static str),
    /// Another unit: `urad`.
    Other(String),
}

/// A thread of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The thread that is pinned to this CPU.
    Cpu(u32),
    /// The thread with this number, free to move.
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
    /// This number of samples is too small for the quantile.
    TooFew(u64),
    /// The data or the units do not allow a figure, for this reason.
    Unfit(String),
}

/// What makes a figure doubtful.
#[derive(Clone, Debug, PartialEq)]
pub enum But {
    /// Its cell is doubtful, for this reason.
    Doubt(Option<Box<Reason>>),
    /// Everything above the bound is in seconds in which other programs or the hypervisor took time.
    ForeignSeconds,
    /// Another tool counted it in bins, and the bound is inside the range from the first to the second value.
    Coarse(Amount, Option<Amount>),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The levels in which it differs from the other: `isolated`.
    pub name: String,
    /// The median of its repeats; absent where no repeat counts.
    pub amount: Option<Amount>,
    /// The number of repeats that count.
    pub repeats: usize,
}

/// The distance between the side that an expectation is about and the other side: the estimate of Hodges and Lehmann.
#[derive(Clone, Debug, PartialEq)]
pub enum Apart {
    /// The ratio to the other side.
    Ratio {
        /// The estimate.
        value: f64,
        /// Its 95 % interval; absent with too few repeats.
        interval: Option<(f64, f64)>,
    },
    /// The difference from the other side, where zeros occur or the expectation requests a distance.
    Difference {
        /// The estimate.
        value: Amount,
        /// Its 95 % interval; absent with too few repeats.
        interval: Option<(Amount, Amount)>,
    },
}

/// What the repeats of two sides show about the expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// The difference is real, in the expected direction or in the opposite one.
    Decided,
    /// The difference is within this relative margin, which the plan calls equal.
    Equivalent(f64),
    /// The repeats are too few to reach 5 %, whatever their values; this many per side could.
    TooFew(Option<u64>),
    /// The difference may be chance.
    Chance,
    /// This side has no repeat left.
    NoneLeft(String),
}

/// Why repeats do not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfit {
    /// A cell is doubtful, for this reason.
    Doubt(Option<Box<Reason>>),
    /// Everything above this figure of the other side, ns, is time of other programs or the hypervisor.
    ForeignAbove(i64),
    /// The repeat is a copy of another: of identical emulated replicates only one counts.
    Copy,
    /// It has no figure.
    Missing(Missing),
}

/// Repeats that do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The name of the side.
    pub side: String,
    /// The number of these repeats of the side.
    pub repeats: usize,
    /// Why the first of them does not count.
    pub why: Unfit,
}

/// Two sides compared, repeat by repeat.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The side that the expectation is about.
    pub own: Compared,
    /// The side that it is compared with.
    pub other: Compared,
    /// The distance between them; absent where a side has no repeat.
    pub apart: Option<Apart>,
    /// The p-value of the comparison after Holm's correction, and the number of comparisons in the plan.
    pub p: Option<(f64, usize)>,
    /// The ruling.
    pub ruling: Ruling,
    /// The repeats that do not count.
    pub left_out: Vec<LeftOut>,
    /// The figure of each repeat that counts, of this side and of the other: the evidence.
    pub each: [Vec<f64>; 2],
}

/// What was measured at one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// Nothing: the cell has no record, for this reason if it is known.
    Nothing(Option<String>),
    /// One thread's figure.
    Single {
        /// The thread.
        whose: Whose,
        /// The figure.
        amount: Result<Amount, Missing>,
        /// What makes it doubtful.
        but: Option<But>,
    },
    /// Two sides, compared.
    Pair(Box<Pair>),
    /// A measurement at this fraction of the size is too short for a maximum or a count.
    Scaled(f64),
    /// A side of a comparison that has no figure.
    Sideless {
        /// The side.
        name: String,
        /// Why it has none.
        why: Missing,
    },
}

/// What decides an expectation: the result at the place with the most severe verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The cell, and what distinguishes the series from others of the cell: `wakeup, busy`, `mutex, idle, kind inherit`.
    pub place: String,
    /// What was measured there.
    pub measured: Measured,
    /// How many other places have the same verdict.
    pub alike: usize,
}
