//! The limits of latido's own processes: control groups, resource limits, system-call filter.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The limits of the process that read the machine. Values that it could not read are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The limits of its control groups and their ancestors.
    pub groups: GroupLimits,
    /// The highest real-time priority without CAP_SYS_NICE (RLIMIT_RTPRIO), as the kernel prints it.
    pub rtprio: Option<String>,
    /// Memory that may be locked without CAP_IPC_LOCK (RLIMIT_MEMLOCK), in bytes or `unlimited`.
    pub memlock: Option<String>,
    /// Whether a filter decides about its system calls, as in a container (proc_pid_status(5), Seccomp).
    pub seccomp: Option<bool>,
}

/// The limits of a process's control groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLimits {
    /// Limits of processor time.
    pub quotas: Vec<GroupLimit>,
    /// Limits of memory.
    pub memory: Vec<GroupLimit>,
    /// The CPUs of its cpuset; absent if latido sees no cpuset controller.
    pub cpus: Option<CpuSet>,
}

/// A limit that a control group has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLimit {
    /// The file that contains it.
    pub file: String,
    /// The content of the file.
    pub value: String,
}

impl GroupLimit {
    /// Returns what to write into the file for no limit.
    pub fn off(&self) -> &'static str {
        if self.file.ends_with("cpu.cfs_quota_us") { "-1" } else { "max" }
    }
}

impl fmt::Display for GroupLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, value } = self;
        match value.split_once(' ') {
            Some((quota, period)) if file.ends_with("cpu.max") => write!(f, "{file}: {quota} of {period} µs"),
            _ if file.ends_with("cpu.cfs_quota_us") => write!(f, "{file}: {value} µs of each period"),
            _ => write!(f, "{file}: {value} bytes"),
        }
    }
}

fn listed(limits: &[GroupLimit]) -> String {
    limits.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Limits {
    /// Returns name and value for reports, in the same order for every machine; `None` if latido read nothing.
    pub(super) fn rows(of: Option<&Self>) -> [(&'static str, Option<String>); 4] {
        let or_none = |text: String| if text.is_empty() { "none".into() } else { text };
        let process = |limits: &Self| {
            let memlock = match limits.memlock.as_deref()?.parse::<u64>() {
                Ok(bytes) => format!("{} KiB", bytes >> 10),
                Err(_) => limits.memlock.clone()?,
            };
            let filter = if limits.seccomp? { "; system calls are filtered" } else { "" };
            Some(format!("rtprio {}, memlock {memlock}{filter}", limits.rtprio.as_deref()?))
        };
        [
            ("limits of CPU time", of.map(|limits| or_none(listed(&limits.groups.quotas)))),
            ("limits of memory", of.map(|limits| or_none(listed(&limits.groups.memory)))),
            ("cpuset", of.map(|limits| limits.groups.cpus.as_ref().map_or("none".into(), ToString::to_string))),
            ("limits of latido", of.and_then(process)),
        ]
    }
}
