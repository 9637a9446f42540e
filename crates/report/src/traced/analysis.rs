//! What an analysis of a trace tells.

use super::{Timeline, Told};
use latido_judge::late::Worst;
use latido_trace::accounts::Source;
use serde::Serialize;

/// A buffer of a trace, analysed.
#[derive(Debug, Serialize)]
pub struct Analysis {
    /// Where the trace is from.
    pub source: String,
    /// The ring's name; empty of the main one.
    pub buffer: String,
    /// Version of the file; none of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// What a text tells of its own; none of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
    /// The clock of its times, where the file names it.
    pub clock: Option<String>,
    /// The system that was traced, where the file names it.
    pub system: Option<String>,
    /// What recorded it, where the file names that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorder: Option<String>,
    /// How the file is packed: `zstd`, `zlib`; none of what is not packed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packed: Option<&'static str>,
    /// How many events there were.
    pub events: u64,
    /// From the first to the last, ns.
    pub length_ns: u64,
    /// The time of the first, ns on the trace's clock.
    pub first_ns: u64,
    /// How many of each kind, the most frequent first.
    pub kinds: Vec<(String, u64)>,
    /// What was lost, and what could not be paired.
    pub lost: Lost,
    /// Latencies, one row each.
    pub rows: Vec<Row>,
    /// Who had each CPU, the longest first.
    pub cpus: Vec<OfCpu>,
    /// Tasks, by their longest wait after a wake-up: a thousand at most.
    pub tasks: Vec<TaskRow>,
    /// The longest waits of each class with what they were lost to.
    pub worst: Vec<Worst>,
    /// What of the file could not be read.
    pub unread: Vec<String>,
    /// What each CPU did over the time.
    #[serde(skip)]
    pub timeline: Timeline,
}

/// The rings of a trace: what a program reads.
#[derive(Debug, Serialize)]
pub struct Analyses<'a> {
    /// Each, analysed.
    pub buffers: &'a [Analysis],
}

/// What was lost, and what could not be paired.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lost {
    /// How often events are missing: a ring was full, bytes could not be read, time went back.
    pub gaps: u64,
    /// How many they are, as far as the kernel counted.
    pub events: u64,
    /// Gaps of which nobody counted what was lost.
    pub uncounted: u64,
    /// Who says what, by CPU.
    pub stated: Vec<Stated>,
    /// Who says that nothing is lost; absent where something is, and where nobody says anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_by: Option<&'static str>,
    /// CPUs that lost events of which nobody says where they are missing: latido reports no wait and no call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unplaced: Vec<u32>,
    /// From when on nothing is certain, ns since the first event: the data of a CPU ends there, before the trace does, or
    /// nothing of it follows a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_ns: Option<u64>,
    /// That CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_cpu: Option<u32>,
    /// The source that says that nothing is lost, for people.
    #[serde(skip)]
    pub none: Option<Source>,
    /// How many events are missing at known places, and how often nobody counted them.
    #[serde(skip)]
    pub placed: (u64, u64),
    /// How often time went back.
    pub backwards: u64,
    /// Pairs that missing events may have broken: left out.
    pub voided: u64,
    /// Ends without a beginning.
    pub unbegun: u64,
    /// Beginnings without an end.
    pub unended: u64,
    /// Waits of tasks that left a CPU later, without a switch to it in between: the kernel left that out.
    pub unseen: u64,
    /// Wake-ups of tasks that were running: there was nothing to wait for.
    pub running: u64,
    /// Tasks that could not be followed.
    pub refused: u64,
}

/// What a source says of lost events.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stated {
    /// `pages`, `lines`, `header`, `statistics`, `dropped`, `histogram`, `order`.
    pub by: &'static str,
    /// Of which CPU; absent where it speaks of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// How often.
    pub times: u64,
    /// How many events, as far as they were counted.
    pub events: u64,
    /// How often nobody counted them.
    pub uncounted: u64,
    /// The source, for people.
    #[serde(skip)]
    pub source: Source,
}

/// What a latency is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// From the wake-up to the CPU.
    Scheduling,
    /// From being preempted to the CPU.
    Preempted,
    /// A system call, from enter to exit.
    SystemCall,
    /// A hard interrupt's handler, without what came above it.
    Interrupt,
    /// A soft interrupt's handler, without what came above it.
    SoftInterrupt,
    /// A soft interrupt, from being asked for to its begin.
    SoftDelay,
    /// Interrupts or preemption off.
    Off,
}

/// A latency.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What it is of.
    pub kind: Kind,
    /// Of which: `real-time`, `read`, `local_timer`.
    pub name: String,
    /// How many.
    pub count: u64,
    /// The mean, ns.
    pub mean_ns: f64,
    /// The standard deviation (n - 1), ns.
    pub sd_ns: Option<f64>,
    /// The least, ns.
    pub min_ns: u64,
    /// The median, ns, at most 1/128 too high.
    pub p50_ns: u64,
    /// The 99th percentile, ns, likewise; none of fewer than 100.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile, ns, likewise; none of fewer than 1,000.
    pub p999_ns: Option<u64>,
    /// The greatest, ns.
    pub max_ns: u64,
    /// All together, ns.
    pub sum_ns: u64,
    /// Of a system call: asleep in all of them, ns.
    pub blocked_ns: Option<u64>,
    /// Of a system call: able to run and without a CPU in all of them, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// Of a system call: in how many of them its task left its CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<u64>,
    /// When the greatest began, ns on the trace's clock.
    pub max_at_ns: Option<u64>,
    /// Whose it was.
    pub max_of: Option<String>,
    /// On which CPU it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cpu: Option<u32>,
}

/// Who had a CPU.
#[derive(Clone, Debug, Serialize)]
pub struct OfCpu {
    /// Its number.
    pub cpu: u32,
    /// Who had it, the longest first; behind a thousand all others as one.
    pub owners: Vec<(String, Share)>,
}

/// How much of a CPU somebody had.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    /// How long, ns.
    pub ns: u64,
    /// Of the time that is known of this CPU.
    pub share: f64,
    /// In how many pieces.
    pub pieces: u64,
    /// The longest piece, ns.
    pub longest_ns: u64,
}

/// A task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskRow {
    /// `name-number`.
    pub name: String,
    /// How often it was woken and came.
    pub woken: u64,
    /// The mean wait then, ns.
    pub mean_wait_ns: Option<f64>,
    /// The longest, ns.
    pub longest_wait_ns: u64,
    /// How often it came back after it was preempted.
    pub preempted: u64,
    /// How long it waited then in all, ns.
    pub held_up_ns: u64,
    /// How long it ran itself, ns.
    pub ran_ns: u64,
}
