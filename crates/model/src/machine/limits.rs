//! What bounds latido's own processes: their control groups, their resource limits, their filter of system calls.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The limits of the process that read the machine. What could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Those of its control groups and the groups above.
    pub groups: GroupLimits,
    /// The highest real-time priority without CAP_SYS_NICE (RLIMIT_RTPRIO), as the kernel prints it.
    pub rtprio: Option<String>,
    /// Memory that may be locked without CAP_IPC_LOCK (RLIMIT_MEMLOCK), in bytes or `unlimited`.
    pub memlock: Option<String>,
    /// Whether a filter decides about its system calls, as a container's (proc_pid_status(5), Seccomp).
    pub seccomp: Option<bool>,
}

/// The limits of a process's control groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLimits {
    /// Of processor time.
    pub quotas: Vec<GroupLimit>,
    /// Of memory.
    pub memory: Vec<GroupLimit>,
    /// The CPUs of its cpuset; absent where no cpuset controller is seen.
    pub cpus: Option<CpuSet>,
}

/// A limit that a control group has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLimit {
    /// The file that holds it.
    pub file: String,
    /// What it says.
    pub value: String,
}

impl GroupLimit {
    /// What the file takes where there is to be no limit.
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
    /// Name and value for reports, in the same order for every machine; `None` where nothing was read.
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
