//! The results of the analysis of a trace.

use super::{Timeline, Told};
use latido_judge::late::Worst;
use latido_trace::accounts::Source;
use serde::Serialize;

/// A buffer of a trace, analysed.
#[derive(Debug, Serialize)]
pub struct Analysis {
    /// The origin of the trace.
    pub source: String,
    /// The ring's name; empty for the main one.
    pub buffer: String,
    /// The version of the file; none for a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The results of tracers, from a text or from the records of a file; none if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
    /// The clock of its times, if the file names it.
    pub clock: Option<String>,
    /// The traced system, if the file names it.
    pub system: Option<String>,
    /// The program that recorded it, if the file names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    /// The compression of the file: `zstd`, `zlib`; none for an uncompressed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packed: Option<&'static str>,
    /// The number of events.
    pub events: u64,
    /// The time from the first to the last event, in ns.
    pub length_ns: u64,
    /// The time of the first event, in ns on the trace's clock.
    pub first_ns: u64,
    /// The number of events of each kind, the most frequent first.
    pub kinds: Vec<(String, u64)>,
    /// Lost events, and events that latido could not pair.
    pub lost: Lost,
    /// Latencies, one row each.
    pub rows: Vec<Row>,
    /// The owners of each CPU's time, in descending order of time.
    pub cpus: Vec<OfCpu>,
    /// Tasks, by their longest wait after a wake-up: at most a thousand.
    pub tasks: Vec<TaskRow>,
    /// The longest waits of each class, with their causes.
    pub worst: Vec<Worst>,
    /// The parts of the file that latido could not read.
    pub unread: Vec<String>,
    /// What each CPU did over time.
    #[serde(skip)]
    pub timeline: Timeline,
}

/// The rings of a trace, for programs.
#[derive(Debug, Serialize)]
pub struct Analyses<'a> {
    /// Each of them, analysed.
    pub buffers: &'a [Analysis],
}

/// Lost events, and events that latido could not pair.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lost {
    /// How often events are missing: a ring was full, bytes were not readable, or time went back.
    pub gaps: u64,
    /// The number of missing events, as far as the kernel counted them.
    pub events: u64,
    /// Gaps without a count of the lost events.
    pub uncounted: u64,
    /// What each source states, per CPU.
    pub stated: Vec<Stated>,
    /// The source that states that nothing is lost; absent if something is lost or no source states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_by: Option<&'static str>,
    /// CPUs that lost events at unknown places: latido reports no wait and no call that involves them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<u32>,
    /// The time from which on nothing is certain, in ns since the first event: the data of a CPU ends there, before the trace does, or no
    /// data of it follows a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_ns: Option<u64>,
    /// The CPU behind [`Self::over_ns`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_cpu: Option<u32>,
    /// The source that states that nothing is lost, for people.
    #[serde(skip)]
    pub none: Option<Source>,
    /// The number of events that are missing at known places, and how often they were not counted.
    #[serde(skip)]
    pub placed: (u64, u64),
    /// How often time went back.
    pub backwards: u64,
    /// Pairs that missing events may have broken: latido leaves them out.
    pub voided: u64,
    /// Ends without a start.
    pub unbegun: u64,
    /// Starts without an end.
    pub unended: u64,
    /// Waits of tasks that left a CPU later although no switch to them was recorded: the kernel omitted it.
    pub unseen: u64,
    /// Wake-ups of tasks that were already running: there was no wait.
    pub running: u64,
    /// How often latido could not follow a task, because there were too many tasks.
    pub refused: u64,
}

/// What a source states about lost events.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stated {
    /// `pages`, `lines`, `header`, `statistics`, `dropped`, `histogram`, `order`.
    pub by: &'static str,
    /// The CPU; absent if the statement is about all CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// The number of losses.
    pub times: u64,
    /// The number of events, as far as they were counted.
    pub events: u64,
    /// The number of losses without a count.
    pub uncounted: u64,
    /// The source, for people.
    #[serde(skip)]
    pub source: Source,
}

/// The kind of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// From the wake-up until the task runs.
    Scheduling,
    /// From the preemption until the task runs again.
    Preempted,
    /// A system call, from enter to exit.
    SystemCall,
    /// A hard interrupt's handler, without what interrupted it.
    Interrupt,
    /// A soft interrupt's handler, without what interrupted it.
    SoftInterrupt,
    /// A soft interrupt, from its request to its start.
    SoftDelay,
    /// Interrupts or preemption off.
    Off,
}

/// A latency.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its kind.
    pub kind: Kind,
    /// Its name within the kind: `real-time`, `read`, `local_timer`.
    pub name: String,
    /// The number of latencies.
    pub count: u64,
    /// The mean, ns.
    pub mean_ns: f64,
    /// The standard deviation (n - 1), ns.
    pub sd_ns: Option<f64>,
    /// The least, ns.
    pub min_ns: u64,
    /// The median, ns, at most 1/128 too high.
    pub p50_ns: u64,
    /// The 99th percentile, ns, likewise; none for fewer than 100.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile, ns, likewise; none for fewer than 1,000.
    pub p999_ns: Option<u64>,
    /// The greatest, ns.
    pub max_ns: u64,
    /// The sum, ns.
    pub sum_ns: u64,
    /// For a system call: the time asleep in all of them, ns.
    pub blocked_ns: Option<u64>,
    /// For a system call: the time runnable but without a CPU in all of them, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// For a system call: the number of calls in which the task left its CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<u64>,
    /// The start of the greatest, ns on the trace's clock.
    pub max_at_ns: Option<u64>,
    /// The task of the greatest.
    pub max_of: Option<String>,
    /// The CPU on which the greatest ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cpu: Option<u32>,
}

/// The owners of a CPU's time.
#[derive(Clone, Debug, Serialize)]
pub struct OfCpu {
    /// Its number.
    pub cpu: u32,
    /// The owners in descending order of time; all after the first thousand are one entry.
    pub owners: Vec<(String, Share)>,
}

/// An owner's share of a CPU's time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    /// Its time, ns.
    pub ns: u64,
    /// Its share of the known time of this CPU.
    pub share: f64,
    /// The number of pieces.
    pub pieces: u64,
    /// The longest piece, ns.
    pub longest_ns: u64,
}

/// A task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskRow {
    /// `name-number`.
    pub name: String,
    /// How often it was woken and then ran.
    pub woken: u64,
    /// The mean wait after that, ns.
    pub mean_wait_ns: Option<f64>,
    /// The longest such wait, ns.
    pub longest_wait_ns: u64,
    /// How often it ran again after a preemption.
    pub preempted: u64,
    /// The sum of its waits after preemptions, ns.
    pub held_up_ns: u64,
    /// How long it ran, ns.
    pub ran_ns: u64,
}
