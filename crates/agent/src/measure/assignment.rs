//! What the supervisor hands to the measuring process: the cell with every choice made.

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
    /// Every CPU on which a thread may run: a deadline thread must be free to run on all of them.
    pub usable: CpuSet,
    /// The CPUs that are not measured although the cell names none. Only the supervisor needs them.
    #[serde(skip)]
    pub left_out: Vec<LeftOut>,
    /// The CPUs that a tuning isolates. Only the supervisor needs them.
    #[serde(skip)]
    pub isolated: CpuSet,
    /// The CPUs from which loads derive their number of workers, see [`crate::loading::Surroundings`].
    #[serde(skip)]
    pub counted: CpuSet,
    /// The directory into which the measuring process writes.
    pub spool: PathBuf,
    /// The instance of tracefs that records, if a tracer runs there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Instance>,
    /// The mark of a program's processes, if the probe starts a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Marked>,
    /// The recorded event of a handler, or why there is none, if the probe needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamped: Option<Result<Stamped, String>>,
    /// The entries to isolated CPUs, known once the tunings are in force.
    pub entries: Vec<Entry>,
}

/// Pins every thread of this process to these CPUs, including those that it will start; `None` changes nothing.
pub fn stay_on(cpus: Option<&CpuSet>) {
    let Some(cpus) = cpus else { return };
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let others = threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for tid in [0].into_iter().chain(others) {
        // The kernel refuses this if a cpuset was narrowed meanwhile. Then the thread stays where it is, which measures the same.
        let _ = latido_sys::sched::set_affinity(tid, cpus.iter());
    }
}
