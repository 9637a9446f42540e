//! Why a cell has its verdict, as typed data; one place puts it into words.

use super::{cause::Cause, finding::Finding};
use latido_model::consistency::Contradiction;

/// One reason for a cell's verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The record cannot be true.
    Contradiction {
        /// For a cell in parts: the number of the part, and the number of parts.
        part: Option<(usize, usize)>,
        /// What contradicts itself.
        what: Contradiction,
    },
    /// A trust check with a weighty finding.
    Doubt(Finding),
    /// The cell was not started.
    NotStarted,
    /// The cell was started, but there is no record.
    NeverFinished,
    /// The infrastructure failed, with this message.
    Broken(String),
    /// The cell cannot be measured here, for this reason.
    Skipped(String),
    /// The record is a checkpoint of a cell that was never finished.
    Checkpoint,
    /// The cell was measured for less time than planned.
    Interrupted {
        /// The measured time, ns.
        after_ns: u64,
    },
    /// Nothing was sampled.
    NoSamples,
    /// There are samples, but none to which a limit applies.
    Sampled {
        /// Number of samples.
        count: u64,
        /// Whether the cell nevertheless has a limit.
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
    /// Another tool counted it, and the range of its maximum contains the limit.
    Coarse {
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
        /// Whether the range has no upper end.
        open: bool,
    },
    /// There are samples, but their maximum is not known.
    NoMaximum {
        /// The number of samples.
        count: u64,
    },
    /// At least one sample exceeded the limit.
    Above {
        /// The number of samples above the limit, if the bands give it.
        above: Option<u64>,
        /// Number of samples of its quantity, where that is known.
        count: Option<u64>,
        /// The limit, ns.
        limit_ns: i64,
        /// The largest sample.
        worst: Worst,
        /// Other quantities with samples above it.
        also: Vec<String>,
        /// The samples among them that come from outside, although the failure stands.
        foreign: Option<ForeignBeside>,
        /// The causes within the system under test, as far as known, each with the number of samples that it made large.
        named: Vec<(Cause, u64)>,
        /// For a watched program: its slots without a job.
        without_job: Option<WithoutJob>,
    },
    /// No sample is above the limit, but the slots are longer than the program's own period.
    OtherPeriod {
        /// The interval at which the kernel woke it, ns.
        every_ns: u64,
        /// Number of samples.
        count: u64,
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// No sample is above the limit, which is the program's own period, but some slots had no job.
    WithoutJob {
        /// The slots without a job.
        slots: WithoutJob,
        /// Number of samples.
        count: u64,
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// No sample is above the limit, which is the program's own period, but some jobs may have ended later than recorded.
    MayBeLate {
        /// The number of these jobs.
        slots: u64,
        /// Number of samples.
        count: u64,
        /// The largest sample.
        worst: Worst,
        /// The limit, ns.
        limit_ns: i64,
    },
    /// The cell was cut and continued later: its figures are pooled from these parts.
    InParts(Vec<String>),
    /// The largest samples could not be read, for this reason, so no cause from outside can explain them.
    Unread(String),
}

/// The samples above a limit that come from other programs or the hypervisor, although the failure stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignBeside {
    /// The number of samples from outside.
    pub foreign: u64,
    /// The number of samples above the limit that the record stores; slots that a late sample missed are not included.
    pub of: u64,
    /// The largest sample that does not come from outside, ns.
    pub own_ns: i64,
    /// Whether a trace shows it; otherwise the counts per second only show that it is possible.
    pub traced: bool,
}

/// Slots of a watched program in which no job started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithoutJob {
    /// The number of these slots.
    pub slots: u64,
    /// Missed slots whose work an earlier job may have done: latido cannot distinguish.
    pub unclear: u64,
}

impl WithoutJob {
    /// Returns how many certainly had no job.
    pub fn certain(self) -> u64 {
        self.slots.saturating_sub(self.unclear)
    }
}

/// The largest sample of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Its length, ns.
    pub value_ns: i64,
    /// The lower end of its range, ns, where another tool counted in bins; absent where the value is exact.
    pub from_ns: Option<i64>,
    /// Its quantity.
    pub quantity: String,
    /// The CPU, if the thread was pinned.
    pub cpu: Option<u32>,
    /// When it occurred, ns since the first slot; absent where no stored sample has this length.
    pub at_ns: Option<u64>,
}
