//! What `latido check` finds: points with their severity and remedies, and the state of a running program.

use crate::{cpus::CpuSet, exit::Exit};
use serde::{Deserialize, Serialize};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Could be better.
    Advice,
    /// Could not be read.
    Unknown,
    /// Will show in the results.
    Warning,
    /// Results would not be those of a real-time system.
    Unfit,
}

/// One thing to do. A point's list begins with the best; what follows are alternatives and notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// A tuning of latido, as on the command line: `irqs:1`.
    Tune(String),
    /// A tuning that only a task that never sleeps needs, and that every other task pays for: `throttle:off`.
    TuneForBusy(String),
    /// A shell command.
    Run(String),
    /// A kernel boot parameter.
    Boot(String),
    /// Anything else, in words.
    Do(String),
}

/// A check with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The check's name.
    pub check: String,
    /// Its severity.
    pub severity: Severity,
    /// What was found.
    pub state: String,
    /// Why it matters.
    pub why: String,
    /// What to do, the best first.
    pub remedies: Vec<Remedy>,
    /// Whether latido needs this point for its verdict.
    pub decides: bool,
    /// The least demanding use that this point rules out if it is a warning. If the point is unknown, latido cannot judge that use. Absent
    /// if the point rules out no use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_out: Option<Purpose>,
}

/// What a machine may be good for; each demands more than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Comparing configurations of this machine with each other.
    Compare,
    /// Deadlines that may be missed now and then.
    SoftDeadlines,
    /// Deadlines that may never be missed.
    HardDeadlines,
}

impl Purpose {
    /// All purposes, the least demanding first.
    pub const ALL: [Self; 3] = [Self::Compare, Self::SoftDeadlines, Self::HardDeadlines];
}

/// Whether a machine is fit for a use, and what decides that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grade {
    /// The use.
    pub purpose: Purpose,
    /// Whether the machine is fit for it: fit means that no point rules it out.
    pub fitness: Fitness,
    /// The checks that rule the use out, or else the unknown ones that latido would need to judge it.
    pub because: Vec<String>,
}

impl Grade {
    /// Judges every use by these points. A point of severity [`Severity::Unfit`] rules out all of them.
    pub fn all(points: &[Point]) -> Vec<Self> {
        Purpose::ALL.into_iter().map(|purpose| Self::of(purpose, points)).collect()
    }

    fn of(purpose: Purpose, points: &[Point]) -> Self {
        let concerns = |point: &&Point| point.rules_out.is_some_and(|least| least <= purpose);
        let named = |wanted: &dyn Fn(&&Point) -> bool| {
            points.iter().filter(|point| wanted(point)).map(|point| point.check.clone()).collect::<Vec<_>>()
        };
        let out =
            named(&|point| point.severity == Severity::Unfit || point.severity == Severity::Warning && concerns(point));
        let dark = named(&|point| point.severity == Severity::Unknown && (point.decides || concerns(point)));
        let (fitness, because) = match (out.is_empty(), dark.is_empty()) {
            (false, _) => (Fitness::Unfit, out),
            (true, false) => (Fitness::Unknown, dark),
            (true, true) => (Fitness::Fit, Vec::new()),
        };
        Self { purpose, fitness, because }
    }
}

/// Whether the machine is fit for real-time measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// The machine is fit; warnings still show in the results.
    Fit,
    /// The machine is unfit.
    Unfit,
    /// latido could not read a point that decides.
    Unknown,
}

impl Fitness {
    /// Judges the machine by these points.
    pub fn of(points: &[Point]) -> Self {
        if points.iter().any(|point| point.severity == Severity::Unfit) {
            Self::Unfit
        } else if points.iter().any(|point| point.decides && point.severity == Severity::Unknown) {
            Self::Unknown
        } else {
            Self::Fit
        }
    }

    /// Returns the exit code: 0 fit, 2 unfit, 3 unknown.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fit => Exit::Done,
            Self::Unfit => Exit::Failed,
            Self::Unknown => Exit::Undecided,
        }
        .code()
    }
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its process ID.
    pub pid: u32,
    /// The kernel's name for it.
    pub name: String,
    /// Its command line; absent for a kernel thread.
    pub command: Option<String>,
    /// Whether it is a kernel thread, which has no memory that belongs to it alone.
    pub kernel: bool,
    /// Locked memory, in KiB.
    pub locked_kib: Option<u64>,
    /// Resident memory, in KiB.
    pub resident_kib: Option<u64>,
    /// Swapped-out memory, in KiB.
    pub swapped_kib: Option<u64>,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
}

/// A thread; what cannot be read is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its thread ID.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Policy and priority, for example `fifo 80`.
    pub policy: Option<String>,
    /// Whether that is a real-time policy.
    pub realtime: Option<bool>,
    /// Its priority, 1 to 99, where the policy has one.
    pub priority: Option<u8>,
    /// The CPUs that it may use.
    pub cpus: Option<CpuSet>,
    /// The CPU that it was last on.
    pub last_cpu: Option<u32>,
    /// Page faults so far without disk access.
    pub minor_faults: Option<u64>,
    /// Page faults so far with disk access.
    pub major_faults: Option<u64>,
    /// Times it slept so far.
    pub voluntary_switches: Option<u64>,
    /// Times it was preempted so far.
    pub involuntary_switches: Option<u64>,
    /// How late its timers may be, in ns.
    pub timer_slack_ns: Option<u64>,
    /// Its control groups, as /proc prints them.
    pub cgroup: Option<String>,
}
