//! The protocol between a host and the agent on its target: typed requests and replies on one stream per direction.
//!
//! The agent sends first: a [`Hello`], whose form never changes. It answers each request with replies and a last [`Reply::End`]. It obeys
//! `Ping` and `Stop` at any time and does not answer them. End of input means that the host is gone. No `Ping` for [`PATIENCE`] means the
//! same, because a half-open connection never ends its input.

mod hello;
mod stream;

pub use hello::{HELLO_WITHIN, Hello};
pub use stream::{Chunks, Message, Reader, Writer, hex};

use crate::{
    cell::{Cell, Item},
    check::{Point, Process},
    cpus::CpuSet,
    machine::Machine,
    quantity::Measurand,
    record::{Record, TuningRecord},
    run::parts::MeasuredOn,
    units::Ns,
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, time::Duration};

/// The version of the stream. The host refuses an agent of another version.
pub const VERSION: u32 = 2;

/// How long an agent waits for a sign of its host before it restores everything and ends.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// How often a host sends a `Ping`.
pub const PING_EVERY: Duration = Duration::from_secs(3);

/// The largest piece of an attachment, in bytes.
pub const CHUNK: usize = 1 << 20;

/// What a host requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Request {
    /// The host is still there.
    Ping,
    /// Take the machine for these cells, repair what an earlier crash left, and report what can be measured: [`Reply::Ready`].
    Prepare {
        /// All cells that this session will measure.
        cells: Vec<Cell>,
        /// How long to wait for another running latido; absent: not at all.
        wait: Option<Ns>,
    },
    /// Measure a cell. [`Reply::Progress`], attachments and checkpoints come first, then the [`Reply::Record`].
    Measure {
        /// The cell.
        cell: Box<Cell>,
    },
    /// Look at the machine, change nothing: [`Reply::Inspected`].
    Inspect(Inspect),
    /// Apply settings by hand, restore them, or show them: [`Reply::Tuned`].
    Tune(Tune),
    /// Restore what a crash left. The agent reports each action as a [`Reply::Note`].
    Recover,
    /// End the running request: in order, with a record of what was measured so far, or at once.
    Stop {
        /// At once: the agent sends no record and restores everything.
        now: bool,
    },
}

/// What `latido check` inspects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspect {
    /// The CPUs to be measured.
    pub cpus: Option<CpuSet>,
    /// A running program to inspect instead of the machine: its process ID or name.
    pub process: Option<String>,
    /// Another machine's file tree to inspect instead of the running one.
    pub sysroot: Option<PathBuf>,
}

/// What `latido tune` does, on this file tree if it is set, else on the running machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tune {
    /// The action.
    pub what: TuneWhat,
    /// A tree of files. Only an agent that was built for tests changes it.
    pub sysroot: Option<PathBuf>,
    /// How long to wait for another running latido; absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Ns>,
}

/// The three actions of `latido tune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TuneWhat {
    /// Apply these, all or none.
    Apply {
        /// The tunings, in this order.
        items: Vec<Item>,
    },
    /// Restore what was applied by hand, and what a crash left.
    Undo {
        /// The tunings; if empty, all of them.
        names: Vec<String>,
    },
    /// Show what is applied.
    Status,
}

/// What an agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reply {
    /// The machine is taken.
    Ready(Box<Ready>),
    /// What the agent is doing now. It may leave some reports out if the link is slow.
    Progress(Progress),
    /// A file of the cell starts: [`Reply::Chunk`]s follow, with at most progress and notes between them.
    Attachment {
        /// A plain file name.
        name: String,
        /// Length in bytes.
        len: u64,
    },
    /// This many bytes follow the line, at most [`CHUNK`].
    Chunk {
        /// The number of bytes.
        len: u32,
    },
    /// The file is complete.
    AttachmentEnd {
        /// SHA-256 of its bytes, in hexadecimal.
        sha256: String,
    },
    /// The result, or a checkpoint of it. Its attachments came before it.
    Record(Box<Record>),
    /// The result of an inspection.
    Inspected(Box<Inspected>),
    /// The result of `latido tune`.
    Tuned(Box<Tuned>),
    /// Something that the user should know. The request continues.
    Note {
        /// The message.
        message: String,
    },
    /// Why the agent cannot do what was requested; `End` follows.
    Error {
        /// What happened and what to do about it.
        message: String,
    },
    /// The request ends; no more replies follow.
    End {
        /// How it ended.
        status: EndStatus,
    },
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndStatus {
    /// The agent did what was requested and restored every setting that it applied for it.
    Done,
    /// The agent did not do it, and an error gave the reason. It restored everything.
    Failed,
}

/// Which of the requested cells can be measured, each in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Why a cell cannot be measured on this machine; `None` if it can.
    pub skips: Vec<Option<String>>,
    /// What the machine refuses although the plan names it. The host must then start nothing.
    pub refusals: Vec<String>,
    /// What the cells' probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// The index in `measurands`, per cell.
    pub measurand: Vec<usize>,
    /// The CPUs that each cell leaves for everything else; `None` if it measures all.
    pub housekeeping: Vec<Option<CpuSet>>,
    /// Where each cell would be measured; `None` if it is skipped. An older agent sends no entries.
    #[serde(default)]
    pub places: Vec<Option<MeasuredOn>>,
    /// What is missing for real-time measurement, if a cell needs it.
    pub permission: Option<Point>,
    /// The CPUs that a cell leaves out if it names none.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// The text of the kernel's configuration, if it can be read: sent once per session and not in each record.
    #[serde(default)]
    pub kernel_config: Option<String>,
}

/// CPUs of a target that latido does not measure although no user excluded them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The reason, written to follow "CPU 3 is": `offline`.
    pub why: String,
}

/// The result of an inspection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspected {
    /// The machine.
    pub machine: Machine,
    /// The running program, if one was requested.
    pub process: Option<Process>,
    /// Every point.
    pub points: Vec<Point>,
}

/// What `latido tune` did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Tuned {
    /// All tunings are in force.
    Applied {
        /// In the order of the request.
        records: Vec<TuningRecord>,
    },
    /// The agent was stopped before all tunings were in force. It kept none of them.
    Stopped {
        /// What could not be restored.
        left: Vec<String>,
    },
    /// The agent restored what was applied.
    Undone {
        /// The restored settings, the last change first.
        back: Vec<String>,
        /// Whether something could not be restored; notes give the details.
        incomplete: bool,
    },
    /// What is applied.
    Status(TuneStatus),
}

/// The contents of a machine's journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuneStatus {
    /// Version of this document.
    pub schema: u32,
    /// Settings applied by hand, oldest first.
    pub applied: Vec<Setting>,
    /// Settings that a running or crashed run changed, or a `tune` that did not finish.
    pub unsettled: Vec<Setting>,
    /// Settings from before the last boot, which the machine no longer has.
    pub void: Vec<Setting>,
    /// Lines of the journal that this version of latido cannot read.
    pub unreadable: Vec<String>,
    /// The latido that is running now.
    pub at_work: Option<String>,
    /// The journal's file.
    pub journal: PathBuf,
    /// Root's journal, if it has entries too.
    pub elsewhere: Option<PathBuf>,
    /// The only file that still records settings applied by hand, if the journal has lost some of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<PathBuf>,
}

/// A changed setting and its present state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The tuning that changed it; absent for a load.
    pub tuning: Option<String>,
    /// The file or thing that was changed.
    pub knob: String,
    /// The value before the change.
    pub original: String,
    /// The value that latido set.
    pub new: String,
    /// The present value; absent if it cannot be read.
    pub current: Option<String>,
    /// Whether it still has the value that latido set; absent if it cannot be read.
    pub in_force: Option<bool>,
    /// Whether a later change of the same knob, applied in the same way, replaces it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It waits for another latido to end.
    #[default]
    Waiting,
    /// A guest of the laboratory runs; it reports nothing before its end.
    Emulating,
    /// It changes settings.
    Tuning,
    /// It starts loads.
    Loading,
    /// It waits until the loads run steadily.
    Settling,
    /// The loop runs, but its samples do not count.
    WarmUp,
    /// Samples count.
    Measuring,
    /// The loops have ended.
    Finishing,
    /// It ends loads and restores settings.
    Undoing,
    /// The machine is restored; the agent sends the results.
    Sending,
}

impl Phase {
    /// Returns the phase in words for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Emulating => "its guest runs",
            Self::Tuning => "tuning",
            Self::Loading => "loading",
            Self::Settling => "settling",
            Self::WarmUp => "warm-up",
            Self::Measuring => "measuring",
            Self::Finishing => "finishing",
            Self::Undoing => "undoing",
            Self::Sending => "sending",
        }
    }
}

/// The state of a running cell, five times a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What the agent does.
    pub phase: Phase,
    /// Time measured, in ns; for a guest, how long the host has waited for it.
    pub elapsed_ns: u64,
    /// Time to measure, in ns; 0 if the cell counts samples instead. For a guest, the time between the ends of two guests on the host, 0 if
    /// none has ended yet.
    pub total_ns: u64,
    /// CLOCK_MONOTONIC when the first timer was armed, in ns; 0 before.
    pub armed_at_ns: u64,
    /// One entry per measuring thread.
    pub threads: Vec<ThreadProgress>,
}

impl Progress {
    /// Returns a phase in which nothing was measured.
    pub fn of(phase: Phase) -> Self {
        Self { phase, ..Self::default() }
    }
}

/// The state of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadProgress {
    /// Its CPU; absent when free to move.
    pub cpu: Option<u32>,
    /// Samples so far.
    pub count: u64,
    /// The last sample, ns.
    pub now: i64,
    /// Median so far, ns.
    pub p50: Option<i64>,
    /// 99.9th percentile so far, ns.
    pub p999: Option<i64>,
    /// Largest so far, ns.
    pub max: Option<i64>,
    /// Missed slots so far.
    pub missed: u64,
    /// The latest sample that set a record or passed the limit: value and time since the first slot, ns.
    pub spike: Option<(i64, u64)>,
    /// What the thread measures, with the labels' values: `lock normal`.
    #[serde(default)]
    pub name: String,
    /// The unit of the values, if it is not ns.
    #[serde(default)]
    pub unit: Option<String>,
    /// The last of the samples that are kept in order; it has a sign.
    #[serde(default)]
    pub kept: Option<i64>,
}
