//! For how long latido watched a cell, and its threads and those of a watched program as the kernel had them.

use super::{Record, Series};
use crate::{cpus::CpuSet, units::Ns};
use serde::{Deserialize, Serialize};

/// What the kernel says of one measuring thread, differences over the measuring loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadEvidence {
    /// Index within the cell.
    pub thread: u32,
    /// Its number in the kernel, by which traces and lists of tasks know it; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// The CPU it was pinned to.
    pub cpu: Option<u32>,
    /// Policy read back from the kernel, for example `fifo 80`.
    pub policy: String,
    /// The time slice of a round-robin thread, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rr_slice_ns: Option<u64>,
    /// Whether it only serves the measurement, as the rival of a priority inversion does: it takes no samples.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub helper: bool,
    /// Times it slept.
    pub voluntary_switches: u64,
    /// Times it was preempted.
    pub involuntary_switches: u64,
    /// Times it changed CPU; absent where the kernel does not count.
    pub migrations: Option<u64>,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults with disk access.
    pub major_faults: u64,
    /// Processor time used, in ns.
    pub cpu_ns: u64,
    /// Time runnable but not running, in ns; absent without CONFIG_SCHED_INFO.
    pub run_delay_ns: Option<u64>,
    /// The part of that before samples were counted, in ns; absent without a warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_delay_ns: Option<u64>,
    /// Of the stretches between two looks at this thread the one in which it waited longest for its CPU, less [`WAKE_NS`] for each time
    /// that it ran. Absent where latido did not look, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_wait: Option<Wait>,
}

/// From waking up to running a thread waits for the kernel's own work: latido takes at most so long for that, in ns.
pub const WAKE_NS: u64 = 10_000;

/// How long a thread waited for its CPU in one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Start of the stretch since the first slot, in ns.
    pub start_ns: u64,
    /// Its length in ns.
    pub length_ns: u64,
    /// Time runnable but not running, in ns.
    pub waited_ns: u64,
    /// How often the kernel gave the thread a CPU.
    pub runs: u64,
}

impl Wait {
    /// What the kernel's own work of waking the thread does not explain, in ns.
    pub fn beyond_waking_ns(&self) -> u64 {
        self.waited_ns.saturating_sub(self.runs.saturating_mul(WAKE_NS))
    }
}

/// A thread of a program that latido watched, asked of the kernel about once a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedThread {
    /// Its name, told apart from others of the name as in the label `task`.
    pub task: String,
    /// Its number in the kernel.
    pub tid: u32,
    /// What it had last.
    pub standing: Standing,
    /// What it had before, the oldest first; at most ten, without those that came and went between two looks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Standing>,
    /// How the kernel held its control groups to their CPU quotas while latido watched; absent where none of them has a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<HeldBack>,
}

/// How often and for how long the kernel held back a control group that had used up its CPU quota (`cpu.stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBack {
    /// Periods in which it did (`nr_throttled`).
    pub times: u64,
    /// How long, on all CPUs together, in ns (`throttled_usec`; `throttled_time` of version 1).
    pub ns: u64,
}

impl HeldBack {
    /// What came since an earlier reading.
    pub fn since(self, before: Self) -> Self {
        Self { times: self.times.saturating_sub(before.times), ns: self.ns.saturating_sub(before.ns) }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self { times: self.times.saturating_add(other.times), ns: self.ns.saturating_add(other.ns) }
    }
}

/// How the kernel schedules a thread, and what it keeps in memory for its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Policy and priority, for example `fifo 70`.
    pub policy: String,
    /// The CPUs that it may use; absent where the kernel did not tell.
    pub cpus: Option<CpuSet>,
    /// Locked memory of its process, KiB; absent where the kernel did not tell.
    pub locked_kib: Option<u64>,
}

impl Record {
    /// For how long its threads watched, ns: while they slept by their duty they saw nothing. A program of the user's is watched
    /// while it has jobs: in its slots, else in so many periods as it has samples, else as long as these took.
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

#[cfg(all(test, feature = "sample"))]
mod tests {
    use super::*;
    use crate::sample;

    /// A program is watched while it has periods or jobs, whatever time the cell took; a loop of latido's for all of it.
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
