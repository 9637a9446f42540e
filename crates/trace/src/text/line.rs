//! What a line of a text says.

use super::{
    event::Event,
    graph::Graph,
    histogram::{Bin, Taken, Total},
};

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// An empty line, a rule, or a line with `#`, which the header has taken in.
    Header,
    /// Something that happened.
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
    /// The begin of an event that goes on in the next line, which a mailer broke: it comes with its last piece.
    Begun,
    /// `CPU:0 [LOST 123 EVENTS]`, `CPU:0 [123 EVENTS DROPPED]`.
    Lost {
        /// The CPU.
        cpu: u32,
        /// How many, where the kernel knows.
        count: Option<u64>,
    },
    /// `##### CPU 1 buffer started ####`: what this CPU wrote before was overwritten.
    Started {
        /// The CPU.
        cpu: u32,
    },
    /// `CPU 0: 90427 events lost`: the kernel's count at the end of a recording.
    Counted {
        /// The CPU.
        cpu: u32,
        /// How many.
        count: u64,
    },
    /// `overrun: 5`: the kernel's counts of the ring of a CPU.
    Statistic {
        /// What was counted.
        name: &'a str,
        /// The number, as it stands there.
        value: &'a str,
    },
    /// A row of a histogram.
    Bin(Bin),
    /// The begin of such a row, or a further line of its key: the row comes with its last line.
    Key,
    /// What an action saved for the row above: `max: 12  next_comm: sh`.
    Saved {
        /// `max` or `changed`.
        name: &'a str,
        /// Its value.
        value: u64,
        /// What else was saved, as it stands there.
        rest: &'a str,
    },
    /// The kernel took a snapshot as a histogram's action says.
    Taken(Taken<'a>),
    /// The counts below a histogram.
    Total(Total),
    /// A line that is understood by nobody, or longer than any line of the kernel.
    Unknown(&'a str),
}

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Whole lines.
    pub lines: u64,
    /// Those of them that were not understood.
    pub unknown: u64,
    /// The first of those: its number, from 1, and how it begins.
    pub first_unknown: Option<(u64, String)>,
    /// Lines that were too long and were not read.
    pub cut: u64,
    /// Pieces of broken lines that were joined with the line before.
    pub joined: u64,
    /// Bytes behind the last whole line: a line is not read before its end has come.
    pub unfinished: u64,
}
