//! A recorded trace: its contents, its losses, and what the recording itself did to the measured CPUs.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// The name of a kept trace next to its record, and of a complete one in the spool.
pub const TRACE: &str = "trace.dat";

/// A recorded trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRecord {
    /// The events that were enabled, `sched:sched_switch`.
    pub events: Vec<String>,
    /// Default events that this kernel does not have, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingEvent>,
    /// The trace's clock, by its name in the kernel.
    pub clock: String,
    /// The size of each CPU's ring, in bytes.
    pub ring_bytes: u64,
    /// The size of a page of the ring, in bytes.
    pub sub_buffer_bytes: u32,
    /// How long the recording lasted, in ns.
    pub recorded_ns: u64,
    /// What was recorded per CPU.
    pub cpus: Vec<TracedCpu>,
    /// The CPUs on which latido read the rings while they were written; absent if it read them afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_on: Option<CpuSet>,
    /// Why the recording ended too early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    /// What the recording did to the CPUs that it had to leave alone; absent if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused: Option<Caused>,
    /// How much of it was kept, if only the surroundings of samples were; absent if all was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// The size of the file, in bytes.
    pub bytes: u64,
}

/// How much was kept of a trace that explains samples: the pages in which these were late, and one page before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The number of samples.
    pub samples: u64,
    /// Pages in the file.
    pub pages: u64,
    /// Pages that were recorded and not kept.
    pub dropped: u64,
}

/// A default event that a kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEvent {
    /// Its name.
    pub event: String,
    /// What the kernel lacks.
    pub why: String,
}

/// What was recorded on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCpu {
    /// Its number.
    pub cpu: u32,
    /// Events in the file.
    pub events: u64,
    /// Events that were lost, because the ring was full or could not be written.
    pub lost: u64,
}

/// What the recording did to CPUs that it had to leave alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caused {
    /// The CPUs.
    pub cpus: CpuSet,
    /// Events there while a thread of the recorder was running.
    pub own_events: u64,
    /// Irq-work interrupts there during the recording, from any source (`IWI` in /proc/interrupts): readers that wait raise them. Absent if
    /// the machine does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_work: Option<u64>,
}

impl TraceRecord {
    /// Returns the number of events in the file.
    pub fn count(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.events).sum()
    }

    /// Returns the number of events that were lost.
    pub fn lost(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.lost).sum()
    }
}
