//! Why a cell has its verdict: typed, to be phrased once.

use super::{cause::Cause, finding::Finding};
use latido_model::consistency::Contradiction;

/// One reason for a cell's verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The record cannot be true.
    Contradiction {
        /// Of a cell in parts, in which of how many.
        part: Option<(usize, usize)>,
        /// What contradicts itself.
        what: Contradiction,
    },
    /// A trust check that weighs.
    Doubt(Finding),
    /// The cell was not started.
    NotStarted,
    /// It was started and there is no record.
    NeverFinished,
    /// The infrastructure failed: what it said.
    Broken(String),
    /// The cell cannot be had here: why.
    Skipped(String),
    /// What is left of a cell that was never finished.
    Checkpoint,
    /// Measured for less than it was to be.
    Interrupted {
        /// How long, ns.
        after_ns: u64,
    },
    /// Nothing was sampled.
    NoSamples,
    /// Sampled, with nothing that a limit could be held against.
    Sampled {
        /// Number of samples.
        count: u64,
        /// Whether the cell has a limit all the same.
        limited: bool,
    },
    /// No limit was given.
    Unlimited {
        /// The largest sample.
        worst: Worst,
        /// Number of samples of its quantity, where that is known.
        count: Option<u64>,
    },
    /// Every sample kept the limit.
    Within {
        /// The largest sample.
        worst: Worst,
        /// Number of samples of its quantity, where that is known.
        count: Option<u64>,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// What another tool has counted reaches across the limit.
    Coarse {
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
        /// Whether nothing bounds it above.
        open: bool,
    },
    /// Samples of which no largest is known.
    NoMaximum {
        /// How many.
        count: u64,
    },
    /// At least one did not.
    Above {
        /// How many, where the bands tell.
        above: Option<u64>,
        /// Number of samples of its quantity, where that is known.
        count: Option<u64>,
        /// The limit, ns.
        limit_ns: i64,
        /// The largest sample.
        worst: Worst,
        /// Other quantities with samples above it.
        also: Vec<String>,
        /// Those of them that are foreign though the failure stands.
        foreign: Option<ForeignBeside>,
        /// What within the system under test made how many of them large, as far as it is known.
        named: Vec<(Cause, u64)>,
        /// Of a watched program: its slots without a job.
        without_job: Option<WithoutJob>,
    },
    /// No sample is above the limit, of slots that are longer than the program's own period.
    OtherPeriod {
        /// How far apart the kernel woke it, ns.
        every_ns: u64,
        /// Number of samples.
        count: u64,
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// No sample is above the limit that the program's own period sets, and yet slots had no job.
    WithoutJob {
        /// How many.
        slots: WithoutJob,
        /// Number of samples.
        count: u64,
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// No sample is above the limit that the program's own period sets, and some jobs may have ended later than they seem to.
    MayBeLate {
        /// How many.
        slots: u64,
        /// Number of samples.
        count: u64,
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// It was cut and the rest measured later: its figures are pooled from these parts.
    InParts(Vec<String>),
    /// The largest samples could not be read, so that nothing foreign can explain them: why.
    Unread(String),
}

/// The samples above a limit that are foreign, beside a failure that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignBeside {
    /// How many are foreign.
    pub foreign: u64,
    /// Of how many that the record holds each by itself: slots that a late sample missed are not among them.
    pub of: u64,
    /// The largest that is not foreign, ns.
    pub own_ns: i64,
    /// Whether a trace shows it; else it is what may have been, by what was counted second by second.
    pub traced: bool,
}

/// Slots of a watched program in which no job began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithoutJob {
    /// How many.
    pub slots: u64,
    /// Those of them of which no event tells whether an earlier job did their work too.
    pub unclear: u64,
}

impl WithoutJob {
    /// How many had none for certain.
    pub fn certain(self) -> u64 {
        self.slots.saturating_sub(self.unclear)
    }
}

/// The largest sample of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Its length, ns.
    pub value_ns: i64,
    /// From where on it lies, ns, where another tool has counted in bins; absent where it is exact.
    pub from_ns: Option<i64>,
    /// The quantity that it is of.
    pub quantity: String,
    /// The CPU, where the thread was pinned.
    pub cpu: Option<u32>,
    /// When, since the first slot, ns; absent where no stored sample is as long.
    pub at_ns: Option<u64>,
}
