//! The threads of a watched program, as the kernel had them.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};

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
