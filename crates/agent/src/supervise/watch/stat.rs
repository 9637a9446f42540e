//! The facts in /proc about one task.

use crate::machine::task;
use latido_model::cpus::CpuSet;
use latido_sys::clock::Clock;
use std::{fs, path::Path};

/// The fields of proc_pid_stat(5) for a task.
#[derive(Debug, PartialEq)]
pub struct Stat {
    /// Its name, cleaned.
    pub comm: String,
    /// The process that started it.
    pub parent: u32,
    /// Whether it wants to run.
    pub is_runnable: bool,
    /// Whether it is a thread of the kernel.
    pub is_kernel: bool,
    /// When it started, in ticks since boot.
    pub start_tick: u64,
    /// The CPU it was last on.
    pub cpu: u32,
    priority: u32,
    policy: u32,
}

/// PF_KTHREAD of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

fn parse(text: &str) -> Option<Stat> {
    let (comm, rest) = task::named(text)?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3);
    Some(Stat {
        comm,
        parent: field(4)?.parse().ok()?,
        is_runnable: field(3)? == &"R",
        is_kernel: field(9)?.parse::<u64>().ok()? & KERNEL_THREAD != 0,
        start_tick: field(22)?.parse().ok()?,
        cpu: field(39)?.parse().ok()?,
        priority: field(40)?.parse().ok()?,
        policy: field(41)?.parse().ok()?,
    })
}

impl Stat {
    /// Reads the task in this directory of /proc.
    pub fn read(dir: &Path) -> Option<Self> {
        // A name that is not UTF-8 must not hide its task.
        parse(&String::from_utf8_lossy(&fs::read(dir.join("stat")).ok()?))
    }

    /// Tells whether it outranks the probe: FIFO (1) and RR (2) at or above the priority, deadline (6) always but for a probe that a core
    /// beside the kernel schedules.
    pub fn outranks(&self, priority: Option<u8>) -> bool {
        match self.policy {
            1 | 2 => self.priority >= u32::from(priority.unwrap_or(1)),
            6 => priority != Some(u8::MAX),
            _ => false,
        }
    }

    /// Tells whether whatever preempts it keeps the probe from the CPU too, because it is as urgent or more: FIFO (1) and RR (2) above the
    /// priority. The kernel throttles deadline tasks, and then less urgent ones run. It also throttles all real-time tasks by its settings,
    /// which then lets a time-sharing probe run: such a break stays unseen here.
    pub fn is_above(&self, priority: Option<u8>) -> bool {
        matches!(self.policy, 1 | 2) && self.priority > u32::from(priority.unwrap_or(0))
    }

    /// Returns its policy as in records: `fifo 90`.
    pub fn policy_name(&self) -> String {
        match self.policy {
            1 => format!("fifo {}", self.priority),
            2 => format!("rr {}", self.priority),
            6 => "deadline".into(),
            other => format!("policy {other}"),
        }
    }
}

/// A second in ns.
const SECOND: u64 = 1_000_000_000;

/// Returns the time since boot in the unit of a task's start time.
pub fn now_in_ticks() -> u64 {
    let (now, per_second) = (Clock::Boottime.now(), rustix::param::clock_ticks_per_second());
    now / SECOND * per_second + now % SECOND * per_second / SECOND
}

/// Returns how long a task has been on a CPU, in ns, and how often it was given one: the first and the third number of its schedstat
/// (Documentation/scheduler/sched-stats.rst), from one read.
pub fn on_cpu(dir: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(dir.join("schedstat")).ok()?;
    let mut numbers = text.split_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.nth(1)?.parse().ok()?))
}

/// Returns the status file of a task (proc_pid_status(5)); empty if the task is gone.
pub fn status(dir: &Path) -> String {
    fs::read_to_string(dir.join("status")).unwrap_or_default()
}

/// Returns how often a task left its CPU although it could run, by its status.
pub fn preempted(status: &str) -> Option<u64> {
    task::field(status, "nonvoluntary_ctxt_switches")?.parse().ok()
}

/// Tells whether a task may run on one of these CPUs, by its status.
pub fn may_run(status: &str, cpus: &CpuSet) -> bool {
    let list = task::field(status, "Cpus_allowed_list");
    match list.and_then(|list| list.parse::<CpuSet>().ok()) {
        Some(allowed) => cpus.iter().any(|cpu| allowed.contains(cpu)),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read() {
        let mut fields = vec!["S"; 1];
        let numbers: Vec<String> = (4..=41).map(|n| n.to_string()).collect();
        fields.extend(numbers.iter().map(String::as_str));
        let text = format!("12 (a b) c) {}", fields.join(" "));
        let stat = parse(&text).unwrap();
        let expected = Stat {
            comm: "a b) c".into(),
            parent: 4,
            is_runnable: false,
            is_kernel: false,
            start_tick: 22,
            cpu: 39,
            priority: 40,
            policy: 41,
        };
        assert_eq!(stat, expected);
        let kernel = text.replace(" 9 ", " 2129984 ").replace(") S ", ") R ");
        assert_eq!(parse(&kernel), Some(Stat { is_kernel: true, is_runnable: true, ..expected }));
    }

    #[test]
    fn only_equal_or_higher_priority_counts() {
        let stat = |policy, priority| Stat {
            comm: String::new(),
            parent: 0,
            is_runnable: false,
            is_kernel: false,
            start_tick: 0,
            cpu: 0,
            priority,
            policy,
        };
        for (policy, priority, above) in [(1, 81, true), (2, 81, true), (1, 80, false), (2, 80, false), (6, 0, false)] {
            assert_eq!(stat(policy, priority).is_above(Some(80)), above, "{policy} {priority}");
        }
        assert!(stat(1, 1).is_above(None) && !stat(0, 0).is_above(None), "above a time-sharing probe");
        assert!(stat(1, 80).outranks(Some(80)));
        assert!(!stat(1, 79).outranks(Some(80)));
        assert!(stat(6, 0).outranks(Some(99)));
        assert!(!stat(6, 0).outranks(Some(u8::MAX)) && !stat(1, 99).outranks(Some(u8::MAX)), "out of band");
        assert!(!stat(0, 0).outranks(None));
        assert!(stat(2, 1).outranks(None));
    }
}
