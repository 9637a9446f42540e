//! How long latido watched a cell, and the kernel's counts for its threads and those of a watched program.

use super::{Record, Series};
use crate::{cpus::CpuSet, units::Ns};
use serde::{Deserialize, Serialize};

/// The kernel's counts for one measuring thread: differences over the measuring loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadEvidence {
    /// Index within the cell.
    pub thread: u32,
    /// Its thread ID in the kernel, as in traces and lists of tasks; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Policy read back from the kernel, for example `fifo 80`.
    pub policy: String,
    /// The time slice of a round-robin thread, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rr_slice_ns: Option<u64>,
    /// Whether it only helps the measurement and takes no samples, as the competing task of a priority inversion does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub helper: bool,
    /// Times it slept.
    pub voluntary_switches: u64,
    /// Times it was preempted.
    pub involuntary_switches: u64,
    /// Times it changed CPU; absent if the kernel does not count them.
    pub migrations: Option<u64>,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Processor time used, in ns.
    pub cpu_ns: u64,
    /// Time runnable but not running, in ns; absent without CONFIG_SCHED_INFO.
    pub run_delay_ns: Option<u64>,
    /// The part of that before samples counted, in ns; absent without a warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_delay_ns: Option<u64>,
    /// The interval between two checks of this thread in which it waited longest for its CPU, less [`WAKE_NS`] for each time that it ran.
    /// Absent if latido did not check, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<Wait>,
    /// What the real-time core counted that scheduled it; absent if the kernel scheduled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<super::CoreCounts>,
}

/// How long latido attributes a thread's wait for its CPU to the kernel's work of waking it, per wake-up, in ns.
pub const WAKE_NS: u64 = 10_000;

/// How long a thread waited for its CPU in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Start of the interval since the first slot, in ns.
    pub start_ns: u64,
    /// Its length in ns.
    pub length_ns: u64,
    /// Time runnable but not running, in ns.
    pub waited_ns: u64,
    /// How often the kernel gave the thread a CPU.
    pub runs: u64,
}

impl Wait {
    /// Returns the waiting time that the kernel's work of waking the thread does not explain, in ns.
    pub fn beyond_waking_ns(&self) -> u64 {
        self.waited_ns.saturating_sub(self.runs.saturating_mul(WAKE_NS))
    }
}

/// A thread of a program that latido watched. latido reads its data from the kernel about once per second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedThread {
    /// Its name, made distinct from equal names as in the label `task`.
    pub task: String,
    /// Its thread ID in the kernel.
    pub tid: u32,
    /// Its last scheduling.
    pub standing: Standing,
    /// Its earlier ones, the oldest first; at most ten, without those that came and went between two checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Standing>,
    /// How the kernel limited its control groups to their CPU quotas while latido watched; absent if none of them has a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<HeldBack>,
}

/// How often and for how long the kernel throttled a control group that had used up its CPU quota (`cpu.stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    /// Periods in which the kernel throttled it (`nr_throttled`).
    pub times: u64,
    /// For how long, added up over all CPUs, in ns (`throttled_usec`; `throttled_time` of version 1).
    pub ns: u64,
}

impl HeldBack {
    /// Returns the difference to an earlier reading.
    pub fn since(self, before: Self) -> Self {
        Self { times: self.times.saturating_sub(before.times), ns: self.ns.saturating_sub(before.ns) }
    }

    /// Adds two readings.
    pub fn and(self, other: Self) -> Self {
        Self { times: self.times.saturating_add(other.times), ns: self.ns.saturating_add(other.ns) }
    }
}

/// How the kernel schedules a thread, and the memory that it keeps locked for the thread's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Policy and priority, for example `fifo 70`.
    pub policy: String,
    /// The CPUs that it may use; absent if the kernel did not report them.
    pub cpus: Option<CpuSet>,
    /// Locked memory of its process, in KiB; absent if the kernel did not report it.
    pub locked_kib: Option<u64>,
}

impl Record {
    /// Returns how long its threads watched, in ns. While they slept because of their duty cycle, they saw nothing. A user's program is
    /// watched while it has jobs: during its slots, else for as many periods as it has samples, else for the total time of its samples.
    pub fn watched_ns(&self, period: Option<Ns>) -> u64 {
        let slept = self.series.iter().map(|series| series.facts.get("slept_ns").map_or(0, |ns| ns.unsigned_abs()));
        let whole = self.elapsed_ns.saturating_sub(slept.min().unwrap_or(0));
        if !["task", "command"].contains(&self.cell.probe.name.as_str()) {
            return whole;
        }
        let of = |series: &Series| match (period, series.slots, series.plain().mean) {
            (Some(period), Some(slots), _) => slots.elapsed().saturating_mul(period.0),
            (Some(period), None, _) => series.plain().count.saturating_mul(period.0),
            (None, _, Some(mean)) if series.unit == "ns" => (mean * series.plain().count as f64) as u64,
            _ => u64::MAX,
        };
        whole.min(self.series.iter().map(of).max().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// A user's program counts as watched while it has periods or jobs, however long the cell took; latido's own loop for the whole cell.
    #[test]
    fn a_program_is_watched_while_it_has_jobs() {
        let mut record = sample::record();
        record.elapsed_ns = 60_000_000_000;
        let period = Some(Ns(1_000));
        assert_eq!(record.watched_ns(period), 60_000_000_000);
        record.cell.probe.name = "task".into();
        let periods = record.series.iter().filter_map(|one| Some(one.slots?.elapsed())).max().unwrap_or(0);
        assert!(periods > 0 && record.watched_ns(period) == periods * 1_000, "{periods}");
        record.series.iter_mut().for_each(|one| (one.slots, one.count, one.mean) = (None, 200, Some(1_000_000.0)));
        assert_eq!((record.watched_ns(period), record.watched_ns(None)), (200_000, 200_000_000));
    }
}
