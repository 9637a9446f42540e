//! What a host and the agent on its target say to each other: typed requests and replies on one stream each way.
//!
//! The agent speaks first: a [`Hello`], whose form never changes. Each request is then answered by replies and a last
//! [`Reply::End`]. `Ping` and `Stop` are heeded at any time and not answered. End of input means that the host is gone;
//! so does the lack of a `Ping` for [`PATIENCE`], since a connection that is half open never ends its input.

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

/// The version of the stream: an agent of another one is refused.
pub const VERSION: u32 = 2;

/// How long an agent waits for a sign of its host before it puts everything back and ends.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// How often a host says that it is there.
pub const PING_EVERY: Duration = Duration::from_secs(3);

/// The largest piece of an attachment, in bytes.
pub const CHUNK: usize = 1 << 20;

/// What a host asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Request {
    /// The host is there.
    Ping,
    /// Take the machine for these cells, put right what an earlier crash left, and say what can be had: [`Reply::Ready`].
    Prepare {
        /// All that this session will measure.
        cells: Vec<Cell>,
        /// How long to wait for another latido that is at work; absent, not at all.
        wait: Option<Ns>,
    },
    /// Measure a cell: [`Reply::Progress`], attachments and checkpoints meanwhile, then the [`Reply::Record`].
    Measure {
        /// What.
        cell: Box<Cell>,
    },
    /// Look at the machine, change nothing: [`Reply::Inspected`].
    Inspect(Inspect),
    /// Change settings by hand, put them back, or show them: [`Reply::Tuned`].
    Tune(Tune),
    /// Put back what a crash left; what was done comes as [`Reply::Note`].
    Recover,
    /// End what is going on: in order, with what was measured so far as a record, or at once.
    Stop {
        /// At once: no record, everything put back.
        now: bool,
    },
}

/// What `latido check` looks at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspect {
    /// The CPUs to be measured.
    pub cpus: Option<CpuSet>,
    /// A program at work instead of the machine: its number or name.
    pub process: Option<String>,
    /// Another machine's file tree instead of the running one.
    pub sysroot: Option<PathBuf>,
}

/// What `latido tune` does, on this file tree instead of the running machine where one is named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tune {
    /// What.
    pub what: TuneWhat,
    /// A tree of files, which only an agent that was built for tests changes.
    pub sysroot: Option<PathBuf>,
    /// How long to wait for another latido that is at work; absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Ns>,
}

/// The three doings of `latido tune`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TuneWhat {
    /// Apply these, all or none.
    Apply {
        /// In this order.
        items: Vec<Item>,
    },
    /// Put back what was applied by hand, and what a crash left.
    Undo {
        /// The tunings; all where none is named.
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
    /// What is going on now; some may be left out where the link is slow.
    Progress(Progress),
    /// A file of the cell begins: [`Reply::Chunk`]s follow, with progress between them at most.
    Attachment {
        /// A plain file name.
        name: String,
        /// Length in bytes.
        len: u64,
    },
    /// So many bytes follow the line, at most [`CHUNK`].
    Chunk {
        /// How many.
        len: u32,
    },
    /// The file is whole.
    AttachmentEnd {
        /// SHA-256 of its bytes, in hexadecimal.
        sha256: String,
    },
    /// The result, or a checkpoint of it; its attachments came before it.
    Record(Box<Record>),
    /// What was found.
    Inspected(Box<Inspected>),
    /// What was done.
    Tuned(Box<Tuned>),
    /// Something that a person should know; what was asked for goes on.
    Note {
        /// What.
        message: String,
    },
    /// Why what was asked for cannot be done; `End` follows.
    Error {
        /// What happened and what to do.
        message: String,
    },
    /// Nothing more to this request.
    End {
        /// How it went.
        status: EndStatus,
    },
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndStatus {
    /// It was answered, and everything borrowed for it is put back.
    Done,
    /// It was not; an error said why. Everything is put back.
    Failed,
}

/// What can be had of the cells asked for, each in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Why a cell cannot be had on this machine; `None` for those that can.
    pub skips: Vec<Option<String>>,
    /// What the machine refuses although the plan names it: nothing is to be started then.
    pub refusals: Vec<String>,
    /// What the cells' probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// Index in `measurands` for each cell.
    pub measurand: Vec<usize>,
    /// The CPUs that each cell leaves for everything else; `None` where all are measured.
    pub housekeeping: Vec<Option<CpuSet>>,
    /// Where each cell would be measured; `None` where it is skipped. None at all of an older agent.
    #[serde(default)]
    pub places: Vec<Option<MeasuredOn>>,
    /// What is missing for real-time measurement, where a cell wants it.
    pub permission: Option<Point>,
    /// The CPUs that cells which name none do not measure.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// The text of the kernel's configuration, where it can be read: once a session and not in each record.
    #[serde(default)]
    pub kernel_config: Option<String>,
}

/// CPUs of a target that are not measured although nobody chose others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which.
    pub cpus: CpuSet,
    /// Why, to stand behind "CPU 3 is": `offline`.
    pub why: String,
}

/// What was found by an inspection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspected {
    /// The machine.
    pub machine: Machine,
    /// The program at work, where one was asked for.
    pub process: Option<Process>,
    /// Every point.
    pub points: Vec<Point>,
}

/// What `latido tune` did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Tuned {
    /// All are in force.
    Applied {
        /// In the order asked for.
        records: Vec<TuningRecord>,
    },
    /// Stopped before all was in force: nothing was kept.
    Stopped {
        /// What could not be put back.
        left: Vec<String>,
    },
    /// Put back.
    Undone {
        /// What, the last change first.
        back: Vec<String>,
        /// Whether something is not as it was; notes say what.
        incomplete: bool,
    },
    /// What is applied.
    Status(TuneStatus),
}

/// What the journal of a machine says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TuneStatus {
    /// Version of this document.
    pub schema: u32,
    /// Applied by hand, oldest first.
    pub applied: Vec<Setting>,
    /// Changed by a run that is at work or crashed, or by a `tune` that did not come to its end.
    pub unsettled: Vec<Setting>,
    /// From before the last boot: the machine forgot it.
    pub void: Vec<Setting>,
    /// Lines of the journal that this version of latido cannot read.
    pub unreadable: Vec<String>,
    /// The latido that is at work now.
    pub at_work: Option<String>,
    /// The journal's file.
    pub journal: PathBuf,
    /// Where another user's journal holds something too: root's.
    pub elsewhere: Option<PathBuf>,
    /// The journal has lost some of what is applied by hand: it stands in this file alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<PathBuf>,
}

/// A changed setting and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The tuning that wanted it; absent for a load.
    pub tuning: Option<String>,
    /// The file or thing that is changed.
    pub knob: String,
    /// Before the change.
    pub original: String,
    /// What it was set to.
    pub new: String,
    /// What it says now; absent where it cannot be read.
    pub current: Option<String>,
    /// Whether it still says what it was set to; absent where it cannot be read.
    pub in_force: Option<bool>,
    /// Whether a later change of the same knob, applied the same way, has taken its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// For another latido to end.
    #[default]
    Waiting,
    /// A guest of the laboratory runs, and says nothing before its end.
    Emulating,
    /// Settings are changed.
    Tuning,
    /// Loads are started.
    Loading,
    /// The loads are coming to work.
    Settling,
    /// The loop runs, its samples do not count.
    WarmUp,
    /// Samples count.
    Measuring,
    /// The loops are over.
    Finishing,
    /// Loads are ended, settings put back.
    Undoing,
    /// The machine is as it was; the results are on their way.
    Sending,
}

impl Phase {
    /// As people read it.
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
    /// Time measured, in ns; of a guest, how long the host has waited for it.
    pub elapsed_ns: u64,
    /// Time to measure, in ns; 0 where the cell counts samples instead. Of a guest, the time between the ends of two on the
    /// host, 0 where none has ended yet.
    pub total_ns: u64,
    /// CLOCK_MONOTONIC when the first timer was armed, in ns; 0 before.
    pub armed_at_ns: u64,
    /// One entry per measuring thread.
    pub threads: Vec<ThreadProgress>,
}

impl Progress {
    /// A phase with nothing measured in it.
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
    /// What is measured, with the labels' values: `lock normal`.
    #[serde(default)]
    pub name: String,
    /// The unit of the values where it is not ns.
    #[serde(default)]
    pub unit: Option<String>,
    /// The last of the samples kept in order, which has a sign.
    #[serde(default)]
    pub kept: Option<i64>,
}
