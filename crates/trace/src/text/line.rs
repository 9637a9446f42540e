//! The content of a line of a text.

use super::{
    event::Event,
    graph::Graph,
    histogram::{Bin, Taken, Total},
};

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// An empty line, a rule, or a line with `#` that the header has read.
    Header,
    /// An event.
    Event(Event<'a>),
    /// A line of a graph of calls.
    Graph(Graph<'a>),
    /// In a graph: from here on another task runs on a CPU.
    Switch {
        /// The CPU.
        cpu: u32,
        /// The task.
        task: &'a str,
        /// Its thread's number.
        pid: u32,
    },
    /// ` => schedule`: a function of the stack of the event above.
    Stack(&'a str),
    /// The start of an event that continues on the next line, because a mailer broke the line. The event comes with its last piece.
    Begun,
    /// `CPU:0 [LOST 123 EVENTS]`, `CPU:0 [123 EVENTS DROPPED]`.
    Lost {
        /// The CPU.
        cpu: u32,
        /// How many events, if the kernel knows.
        count: Option<u64>,
    },
    /// `##### CPU 1 buffer started ####`: what this CPU wrote before that was overwritten.
    Started {
        /// The CPU.
        cpu: u32,
    },
    /// `CPU 0: 90427 events lost`: the kernel's count at the end of a recording.
    Counted {
        /// The CPU.
        cpu: u32,
        /// How many events.
        count: u64,
    },
    /// `overrun: 5`: the kernel's counts of the ring of a CPU.
    Statistic {
        /// What was counted.
        name: &'a str,
        /// The number, as original text.
        value: &'a str,
    },
    /// A row of a histogram.
    Bin(Bin),
    /// The start of such a row, or another line of its key: the row comes with its last line.
    Key,
    /// What an action saved for the row above: `max: 12  next_comm: sh`.
    Saved {
        /// `max` or `changed`.
        name: &'a str,
        /// Its value.
        value: u64,
        /// What else was saved, as original text.
        rest: &'a str,
    },
    /// A histogram's action reports that the kernel took a snapshot.
    Taken(Taken<'a>),
    /// The counts below a histogram.
    Total(Total),
    /// A line that latido cannot read, or that is longer than any line of the kernel.
    Unknown(&'a str),
}

/// What the reader has seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Complete lines.
    pub lines: u64,
    /// Lines that latido did not understand.
    pub unknown: u64,
    /// The first of those: its number, from 1, and its start.
    pub first_unknown: Option<(u64, String)>,
    /// Lines that were too long and were not read.
    pub cut: u64,
    /// Pieces of broken lines that were joined with the line before.
    pub joined: u64,
    /// Bytes after the last complete line: latido does not read a line before its end has come.
    pub unfinished: u64,
}
