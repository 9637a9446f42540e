//! What `latido check` finds: points with their weight and remedies, and a program at work.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// How much a finding weighs.
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
    /// A tuning of latido's, as a word: `throttle:off`.
    Tune(String),
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
    /// How much it weighs.
    pub severity: Severity,
    /// What was found.
    pub state: String,
    /// Why it matters.
    pub why: String,
    /// What to do, the best first.
    pub remedies: Vec<Remedy>,
    /// Whether the verdict cannot be told without it.
    pub decides: bool,
}

/// Whether the machine is fit for real-time measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// It is; warnings still show in the results.
    Fit,
    /// It is not.
    Unfit,
    /// A point that decides could not be read.
    Unknown,
}

impl Fitness {
    /// Of these points.
    pub fn of(points: &[Point]) -> Self {
        if points.iter().any(|point| point.severity == Severity::Unfit) {
            Self::Unfit
        } else if points.iter().any(|point| point.decides && point.severity == Severity::Unknown) {
            Self::Unknown
        } else {
            Self::Fit
        }
    }

    /// 0 fit, 2 unfit, 3 cannot tell.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fit => 0,
            Self::Unfit => 2,
            Self::Unknown => 3,
        }
    }
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// The kernel's name of it.
    pub name: String,
    /// Its command line; absent for a kernel thread.
    pub command: Option<String>,
    /// Whether it is a thread of the kernel, which has no memory of its own.
    pub kernel: bool,
    /// Locked memory, in KiB.
    pub locked_kib: Option<u64>,
    /// Memory present, in KiB.
    pub resident_kib: Option<u64>,
    /// Memory on the swap device, in KiB.
    pub swapped_kib: Option<u64>,
    /// Its threads, the first one first.
    pub threads: Vec<Thread>,
}

/// A thread; what cannot be read is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
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
