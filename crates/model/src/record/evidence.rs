//! The observed facts that support or contradict the figures of a cell; nothing is judged here.

use super::ThreadEvidence;
use serde::{Deserialize, Serialize};

/// The measured facts behind the trust checks (see the judgement for their thresholds). Absent means not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The kernel's answer to the requested policy; absent if it granted the policy.
    pub policy_refused: Option<String>,
    /// Why memory could not be locked; absent if it was locked.
    pub memory_unlocked: Option<String>,
    /// The clock that stamped the samples.
    pub clock: ClockEvidence,
    /// One entry per measuring thread.
    pub threads: Vec<ThreadEvidence>,
    /// Real-time throttling.
    pub throttle: ThrottleEvidence,
    /// Whether latido did not observe the machine while it measured: on a crowded CPU the supervisor may notice a short interval only when
    /// it is over. latido then knows nothing of other tasks, stops and steps of the clock. Older records do not contain this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwatched: bool,
    /// Stolen time of the measured CPUs while measured, in ns (10 ms steps).
    pub steal_ns: Option<u64>,
    /// System management interrupts while measured.
    pub smi: Option<u64>,
    /// Pages of any program that the kernel moved or tried to move while latido measured. A thread that touches such a page during the move
    /// gets a page fault. Absent if the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_pages: Option<u64>,
    /// Lowest and highest frequency seen on the measured CPUs, kHz.
    pub frequency_khz: Option<(u64, u64)>,
    /// Highest temperature seen and the lowest critical trip point, in millidegrees Celsius.
    pub temperature_mc: Option<(i64, Option<i64>)>,
    /// The overheating that ended the loads and the cell; absent if it did not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overheated: Option<Overheated>,
    /// Tasks other than the probe's, at or above its priority, that ran on the measured CPUs.
    pub foreign: Vec<Foreign>,
    /// Interrupts that occurred on the measured CPUs while measured; absent if they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Vec<Interrupt>>,
    /// What the other threads of the measured CPUs' cores did while measured; empty if there are no such threads, or they cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<Sibling>,
    /// Seconds in which something outside the measurement happened; the other seconds are left out.
    pub timeline: Vec<Second>,
    /// Timer slack of the measuring threads, in ns.
    pub timer_slack_ns: Option<u64>,
    /// Whether autogroup scheduling is on.
    pub autogroup: Option<bool>,
    /// The control groups of the measuring process, as /proc/self/cgroup prints them.
    pub cgroup: Option<String>,
    /// Whether latido held off idle states through /dev/cpu_dma_latency.
    pub dma_latency_held: bool,
    /// The CPUs left for everything except measuring; absent if all CPUs were measured.
    pub housekeeping: Option<crate::cpus::CpuSet>,
    /// What the user had applied with `latido tune apply`; empty if nothing was applied, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<ByHand>,
    /// The kernel's tracing; absent if latido did not check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<super::Tracing>,
    /// The result of freezing the trace for `stop_on`; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<super::Freeze>,
    /// The trace recorded during the cell, a file next to the record; absent if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<super::TraceRecord>,
    /// How a program reported the samples; absent if latido took them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<super::Reported>,
    /// The threads of the program that the probe `task` watched; empty for all other probes, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<super::WatchedThread>,
    /// Whether the measuring process was stopped during the measurement; absent if it was not, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// Steps of CLOCK_REALTIME against CLOCK_MONOTONIC, checked some ten times per second; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_steps: Option<WallSteps>,
    /// The real-time core that scheduled the measuring threads; absent if the kernel did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<super::CoreRecord>,
    /// How the kernel limited the measuring process's control groups to their CPU quotas; absent if none of them has a quota, and in older
    /// records. A quota limits only threads with a time-sharing policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<super::HeldBack>,
    /// The basis of interrupt and activation latencies; absent if none were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<super::StampsRecord>,
}

/// How often and how long the measuring process was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// How often.
    pub times: u64,
    /// Total time of the stops, in ns, to a tenth of a second.
    pub total_ns: u64,
    /// The longest stop, in ns.
    pub longest_ns: u64,
    /// The cause: `a signal`, `a debugger`, `a freezer`, `a suspend of the machine`; the last one if there were several.
    pub how: String,
}

impl Stopped {
    /// Adds a later part of the same cell.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            times: self.times.saturating_add(later.times),
            total_ns: self.total_ns.saturating_add(later.total_ns),
            longest_ns: self.longest_ns.max(later.longest_ns),
            how: later.how,
        }
    }
}

/// Steps of CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallSteps {
    /// Differences of 1 ms and more between two checks.
    pub times: u64,
    /// The largest, in ns.
    pub largest_ns: i64,
}

impl WallSteps {
    /// Adds a later part of the same cell.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let larger = later.largest_ns.unsigned_abs() > self.largest_ns.unsigned_abs();
        let largest_ns = if larger { later.largest_ns } else { self.largest_ns };
        Self { times: self.times.saturating_add(later.times), largest_ns }
    }
}

/// A setting that a person applied in addition to the cell's own tunings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByHand {
    /// The tuning's name.
    pub tuning: String,
    /// The file or thing that it changed.
    pub knob: String,
    /// The value that it was set to.
    pub value: String,
    /// Whether it had this value while measured, below the cell's own tunings; absent if it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force: Option<bool>,
}

/// A temperature above the limit, at which latido ended loads and measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overheated {
    /// When, since the first slot, in ns; negative during the warm-up.
    pub at_ns: i64,
    /// The temperature of the hottest zone, in millidegrees Celsius.
    pub temperature_mc: i64,
    /// The limit, in millidegrees Celsius.
    pub limit_mc: i64,
}

/// The clock of the samples, measured before the loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockEvidence {
    /// `monotonic`, `tsc`, ...
    pub name: String,
    /// The kernel's clock source.
    pub source: Option<String>,
    /// Median cost of one reading, in ns.
    pub cost_ns: f64,
    /// Smallest step seen between two different readings, in ns.
    pub step_ns: f64,
    /// Frequency of the counter, if one was used, in Hz.
    pub tsc_hz: Option<f64>,
    /// Deviation of the counter from CLOCK_MONOTONIC over the whole cell, in parts per billion.
    pub drift_ppb: Option<f64>,
    /// Change of CLOCK_REALTIME minus CLOCK_MONOTONIC during the cell, in ns: steps and slewing.
    pub realtime_shift_ns: i64,
    /// Readings that ran backwards during the calibration or the loop.
    pub backwards: u64,
}

/// What limits real-time tasks on this machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThrottleEvidence {
    /// /proc/sys/kernel/sched_rt_runtime_us; -1 is unlimited.
    pub rt_runtime_us: Option<i64>,
    /// /proc/sys/kernel/sched_rt_period_us.
    pub rt_period_us: Option<i64>,
    /// The deadline fair server: its budget per period in ns, or why it is unknown.
    pub fair_server: Option<String>,
    /// Waits of the probe that these limits explain: they are as long as the limits impose, with the budget used up. Absent if the probe
    /// does not check for them, or the limits are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<u64>,
    /// The total time of these waits, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// Preemptions that came about once per second, in older records. They include competing tasks; nothing judges them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle_like: Option<u64>,
}

/// The owner of a task that could delay the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskOwner {
    /// A program unrelated to the measurement.
    Program,
    /// latido itself, except its measuring threads.
    Latido,
    /// A load of the cell: part of the conditions of the measurement.
    Load,
    /// A thread of the kernel: part of the system under test.
    Kernel,
}

impl TaskOwner {
    /// Whether it is outside the system under test and was not requested, so that it can excuse a late sample.
    pub fn excuses(self) -> bool {
        matches!(self, Self::Program | Self::Latido)
    }
}

/// A task that could delay the probe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    /// Its name.
    pub comm: String,
    /// Its thread id.
    pub tid: u32,
    /// Its policy and priority.
    pub policy: String,
    /// The CPU it was last seen on.
    pub cpu: u32,
    /// How long it ran while measured, in ns.
    pub ran_ns: u64,
    /// Its owner; absent in older records, which do not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TaskOwner>,
}

/// A CPU that shares its core with a measured one (SMT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sibling {
    /// The sibling CPU.
    pub cpu: u32,
    /// The measured CPU.
    pub of: u32,
    /// How long the sibling was busy, in ns (10 ms steps).
    pub busy_ns: u64,
    /// The time over which this was measured, in ns.
    pub over_ns: u64,
}

/// What happened in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// Start since the first slot, in ns.
    pub start_ns: u64,
    /// Length in ns.
    pub length_ns: u64,
    /// The CPU on which it happened.
    #[serde(default)]
    pub cpu: Option<u32>,
    /// Stolen time in ns.
    pub steal_ns: u64,
    /// System management interrupts.
    pub smi: u64,
    /// Running time of tasks at or above the probe's priority, without the probe's and the loads' tasks, in ns.
    pub foreign_ns: u64,
    /// The part of it that kernel threads ran, in ns.
    #[serde(default, skip_serializing_if = "none")]
    pub kernel_ns: u64,
    /// Running time of the cell's own loads at or above the probe's priority, in ns. It does not count as time of other programs.
    #[serde(default, skip_serializing_if = "none")]
    pub load_ns: u64,
    /// How long programs ran without a break: the running time of each divided by the number of times that it began to keep the probe from
    /// the CPU, summed over all of them, in ns. Absent if none ran, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_burst_ns: Option<u64>,
    /// For an entry that several seconds were merged into: the most stolen time in one of them, in ns. Absent if the entry is a single
    /// second, and in older records: then all of it may have come at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_most_ns: Option<u64>,
    /// The same for `foreign_ns` without `kernel_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_most_ns: Option<u64>,
    /// The same for `kernel_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_most_ns: Option<u64>,
}

/// The most that one second of an entry may contain, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// Stolen time.
    pub steal_ns: u64,
    /// Running time of programs.
    pub foreign_ns: u64,
    /// Running time of kernel threads.
    pub kernel_ns: u64,
}

impl Most {
    /// Returns the larger of each value.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            steal_ns: self.steal_ns.max(other.steal_ns),
            foreign_ns: self.foreign_ns.max(other.foreign_ns),
            kernel_ns: self.kernel_ns.max(other.kernel_ns),
        }
    }
}

impl Second {
    /// Returns the running time of tasks that are not kernel threads, in ns.
    pub fn programs_ns(&self) -> u64 {
        self.foreign_ns.saturating_sub(self.kernel_ns)
    }

    /// Returns the most that one of its seconds contained.
    pub fn most(&self) -> Most {
        Most {
            steal_ns: self.steal_most_ns.unwrap_or(self.steal_ns),
            foreign_ns: self.foreign_most_ns.unwrap_or_else(|| self.programs_ns()),
            kernel_ns: self.kernel_most_ns.unwrap_or(self.kernel_ns),
        }
    }
}

fn none(value: &u64) -> bool {
    *value == 0
}

/// An interrupt of the measured CPUs: a line of /proc/interrupts (proc_interrupts(5)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The line's name: a number for a device, `LOC`, `RES` and others for the CPU's own.
    pub line: String,
    /// What the kernel prints after the counts: chip, kind, handlers.
    pub action: String,
    /// How often it occurred.
    pub count: u64,
}

impl Interrupt {
    /// Whether a device raised it; otherwise the CPU itself or another CPU did.
    pub fn of_device(&self) -> bool {
        self.line.bytes().all(|c| c.is_ascii_digit())
    }
}
