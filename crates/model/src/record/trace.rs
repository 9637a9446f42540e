//! A trace that was recorded: what it holds, what of it was lost, and what the recording itself did to the measured CPUs.

use crate::cpus::CpuSet;
use serde::{Deserialize, Serialize};

/// What a trace that is kept is called beside its record, and in the spool from when it is whole.
pub const TRACE: &str = "trace.dat";

/// A recorded trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRecord {
    /// The events that were enabled, `sched:sched_switch`.
    pub events: Vec<String>,
    /// Usual events that this kernel does not have, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingEvent>,
    /// The trace's clock, as the kernel calls it.
    pub clock: String,
    /// The room that each CPU's ring was given, in bytes.
    pub ring_bytes: u64,
    /// How long a page of the ring is, in bytes.
    pub sub_buffer_bytes: u32,
    /// For how long was recorded, in ns.
    pub recorded_ns: u64,
    /// What each CPU wrote.
    pub cpus: Vec<TracedCpu>,
    /// The CPUs on which the rings were read while they were written; absent where they were read afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_on: Option<CpuSet>,
    /// Why the recording ended before it was to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
    /// What the recording did to the CPUs that it was to stay off; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused: Option<Caused>,
    /// What of it was kept, where only the surroundings of samples were; absent where all was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// How long the file is, in bytes.
    pub bytes: u64,
}

/// What was kept of a trace that explains samples: the pages in which these were late, and one before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// For so many samples.
    pub samples: u64,
    /// Pages in the file.
    pub pages: u64,
    /// Pages that were recorded and not kept.
    pub dropped: u64,
}

/// A usual event that a kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEvent {
    /// Its name.
    pub event: String,
    /// What the kernel lacks.
    pub why: String,
}

/// What a CPU wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedCpu {
    /// Its number.
    pub cpu: u32,
    /// Events in the file.
    pub events: u64,
    /// Events that were lost, since the ring was full or could not be written.
    pub lost: u64,
}

/// What the recording did to CPUs that it was to stay off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caused {
    /// These CPUs.
    pub cpus: CpuSet,
    /// Events there while a thread of the recorder was what ran.
    pub own_events: u64,
    /// Irq-work interrupts there while it recorded, whoever raised them (`IWI` in /proc/interrupts): readers that wait
    /// raise them. Absent where the machine does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_work: Option<u64>,
}

impl TraceRecord {
    /// Events in the file.
    pub fn count(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.events).sum()
    }

    /// Events that were lost.
    pub fn lost(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.lost).sum()
    }
}
