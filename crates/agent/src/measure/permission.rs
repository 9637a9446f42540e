//! Explains why the kernel refused a scheduling policy, which limit caused it, and which command lifts it.

use crate::machine::{Root, group_budget_v1};
use latido_model::{cell::Scheduling, machine::GroupBudget};
use latido_sys::Errno;
use rustix::process::Resource;
use std::fs;

/// Describes the refusal, with its cause where latido finds it, and the remedy.
pub fn explain(scheduling: Scheduling, error: Errno) -> String {
    let asked = format!("{scheduling} was refused: {error}");
    if error != Errno::EPERM && error != Errno::EACCES {
        return match error {
            Errno::EBUSY => format!("{asked}; the deadline budgets do not fit on this machine: request less runtime"),
            Errno::EINVAL => {
                format!("{asked}; a deadline needs 1us <= runtime <= deadline <= period, and a period of 100us to 4s")
            }
            _ => asked,
        };
    }
    // Groups of version 1 have this file only with CONFIG_RT_GROUP_SCHED.
    if let Some(GroupBudget { runtime_us: 0, group }) = group_budget_v1(&Root::default()) {
        return format!(
            "{asked}; the control group has no real-time budget ({group} is 0): \
             echo 950000 > {group}, or move the shell to the root group"
        );
    }
    let remedy = match scheduling {
        Scheduling::Deadline { .. } if !missing_capability() => {
            "a deadline thread must be free to run on every CPU of its exclusive cpuset".into()
        }
        // No limit grants it: kernel/sched/syscalls.c asks for the capability.
        Scheduling::Deadline { .. } => "run as root (sudo latido ...); in a container: --cap-add=SYS_NICE".into(),
        Scheduling::Other { .. }
        | Scheduling::Batch { .. }
        | Scheduling::Idle
        | Scheduling::Unknown
        | Scheduling::Own => format!(
            "{}; run as root, or raise it: prlimit --nice, or `nice` in limits.conf",
            // setrlimit(2): the lowest nice value allowed is 20 less the limit.
            limit(Resource::Nice, |limit| match limit {
                0..=20 => "RLIMIT_NICE allows no negative nice value".into(),
                limit => format!("RLIMIT_NICE allows no nice value below -{}", limit.min(40) - 20),
            })
        ),
        Scheduling::Fifo { .. } | Scheduling::Rr { .. } | Scheduling::Evl { .. } | Scheduling::Cobalt { .. } => {
            format!(
                "{}; run as root, or raise it: prlimit --rtprio, or `rtprio` and `memlock` in limits.conf \
             (`latido check` prints the commands)",
                limit(Resource::Rtprio, |limit| match limit {
                    0 => "RLIMIT_RTPRIO allows no real-time priority".into(),
                    limit => format!("RLIMIT_RTPRIO allows priorities up to {limit}"),
                })
            )
        }
    };
    format!("{asked}; {remedy}")
}

/// Describes a limit of this process.
fn limit(resource: Resource, words: fn(u64) -> String) -> String {
    match rustix::process::getrlimit(resource).current {
        Some(limit) => words(limit),
        None => "no limit forbids it, so a sandbox or container does".into(),
    }
}

/// Whether CAP_SYS_NICE (bit 23, linux/capability.h) is missing.
fn missing_capability() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & 1 << 23 == 0
}
