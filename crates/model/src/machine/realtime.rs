//! What the kernel grants to real-time tasks: throttle, fair server, group budgets.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The limits of real-time tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RealTime {
    /// /proc/sys/kernel/sched_rt_runtime_us; -1 is unlimited.
    pub runtime_us: Option<i64>,
    /// /proc/sys/kernel/sched_rt_period_us.
    pub period_us: Option<i64>,
    /// The deadline server that gives time-sharing tasks their share.
    pub fair_server: FairServer,
    /// Whether each control group needs its own real-time budget (RT_GROUP_SCHED, and not switched off at boot).
    pub group_scheduling: Option<bool>,
    /// The budget of this process's group in us, where groups need one.
    pub group_budget: Option<GroupBudget>,
    /// Whether each session is its own scheduling group.
    pub autogroup: Option<bool>,
    /// How late the kernel may wake this process's time-sharing threads, in ns.
    pub timer_slack_ns: Option<u64>,
}

/// The real-time budget of a control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupBudget {
    /// In us per second by default; with 0 the kernel refuses real-time policies even to root.
    pub runtime_us: i64,
    /// The file that contains it, or the group that cannot have one (control groups version 2).
    pub group: String,
}

/// The deadline fair server (since Linux 6.12, Documentation/scheduler/sched-deadline.rst).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FairServer {
    /// The kernel is older than the fair server.
    Absent,
    /// Its budgets, one entry for each set of CPUs with the same budget.
    Known {
        /// In ascending order of the first CPU.
        budgets: Vec<FairBudget>,
    },
    /// latido could not read it.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// The fair server's budget on some CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FairBudget {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Time it may take per period, in ns; 0 is off.
    pub runtime_ns: u64,
    /// Its period, in ns.
    pub period_ns: u64,
}

impl Default for FairServer {
    fn default() -> Self {
        Self::Unknown { reason: "not read".into() }
    }
}

impl FairServer {
    /// A reason that disappears when debugfs is mounted.
    pub const NOT_MOUNTED: &'static str = "debugfs is not mounted";
    /// A reason that does not apply to root.
    pub const ONLY_ROOT: &'static str = "only root may read debugfs";

    /// Whether it may take time from real-time tasks on any of these CPUs.
    pub fn touches(&self, measured: &CpuSet) -> Option<bool> {
        match self {
            Self::Known { budgets } => {
                let there = |budget: &FairBudget| budget.cpus.iter().any(|cpu| measured.contains(cpu));
                Some(budgets.iter().any(|budget| budget.runtime_ns > 0 && there(budget)))
            }
            Self::Absent | Self::Unknown { .. } => self.is_active(),
        }
    }

    /// Whether it takes time from real-time tasks anywhere.
    pub fn is_active(&self) -> Option<bool> {
        match self {
            Self::Absent => Some(false),
            Self::Known { budgets } => Some(budgets.iter().any(|budget| budget.runtime_ns > 0)),
            Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for FairServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("none in this kernel"),
            Self::Unknown { reason } => write!(f, "unknown ({reason})"),
            Self::Known { budgets } => {
                for (index, FairBudget { cpus, runtime_ns, period_ns }) in budgets.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    match runtime_ns {
                        0 => write!(f, "{separator}off on CPUs {cpus}")?,
                        _ => {
                            let (runtime, period) = (crate::units::Ns(*runtime_ns), crate::units::Ns(*period_ns));
                            write!(f, "{separator}{runtime} of {period} on CPUs {cpus}")?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

impl RealTime {
    /// Whether the throttle can stop a FIFO task. Since 6.12 it does so only where groups have budgets; elsewhere the
    /// fair server took its place (commit 5f6bd380c7bd, "sched/rt: Remove default bandwidth control").
    pub fn throttles(&self, release: &str) -> Option<bool> {
        let (runtime, period) = (self.runtime_us?, self.period_us?);
        if runtime < 0 || runtime >= period {
            return Some(false);
        }
        if at_least(release, 6, 12)? { self.group_scheduling } else { Some(true) }
    }
}

/// Whether a release such as `6.12.3-rt` is at least this version.
pub fn at_least(release: &str, major: u32, minor: u32) -> Option<bool> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(a)), Some(Ok(b))) = (numbers.next(), numbers.next()) else { return None };
    Some((a, b) >= (major, minor))
}
