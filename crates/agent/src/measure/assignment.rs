//! What the supervisor hands to the measuring process: the cell with nothing left to choose.

use super::wanted::Stamped;
use crate::{
    journal::{Instance, Marked},
    machine::isolated::Entry,
};
use latido_model::{cell::Cell, cpus::CpuSet, protocol::LeftOut};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A cell resolved on the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The cell; its CPUs are known and its probe's options complete.
    pub cell: Cell,
    /// The CPUs for everything that is not measuring; absent when all are measured.
    pub housekeeping: Option<CpuSet>,
    /// Every CPU that a thread may be put on: a deadline thread must be free to run on all of them.
    pub usable: CpuSet,
    /// What is not measured although the cell names no CPUs; the supervisor alone needs to know.
    #[serde(skip)]
    pub left_out: Vec<LeftOut>,
    /// The CPUs that a tuning takes from everything else; the supervisor alone needs to know.
    #[serde(skip)]
    pub isolated: CpuSet,
    /// The CPUs by which loads count their workers, see [`crate::loading::Surroundings`].
    #[serde(skip)]
    pub counted: CpuSet,
    /// Where the measuring process puts what it writes.
    pub spool: PathBuf,
    /// The instance of tracefs in which is recorded, where a tracer runs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Instance>,
    /// How the processes of a program are known that the probe starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Marked>,
    /// What is recorded of a handler, or why nothing is, where the probe wants that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamped: Option<Result<Stamped, String>>,
    /// The doors to isolated CPUs, known once the tunings are in force.
    pub entries: Vec<Entry>,
}

/// Binds every thread of this process to these CPUs, those that it will start included; `None` changes nothing.
pub fn stay_on(cpus: Option<&CpuSet>) {
    let Some(cpus) = cpus else { return };
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for tid in [0].into_iter().chain(others) {
        // Refused where a cpuset was narrowed meanwhile: then we stay where we are, which measures the same.
        let _ = latido_sys::sched::set_affinity(tid, cpus.iter());
    }
}
