//! What a probe wants the kernel to record: where its samples are taken from a trace instead of a loop of its own, or beside
//! one.

use serde::{Deserialize, Serialize};

/// Events, by system and name: `sched:sched_switch`; and perhaps a tracer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Those without which there is nothing to measure.
    pub events: Vec<String>,
    /// Those that tell more, where the kernel has them.
    pub also: Vec<String>,
    /// Those that tell more where samples are to be explained, where the kernel has them.
    pub explaining: Vec<String>,
    /// Where the kernel has no event at all of a system, these stand in for those of `events` that are of it.
    pub instead: Option<(&'static str, Vec<String>)>,
    /// What is to run in the trace besides.
    pub tracer: Option<Tracer>,
    /// Whether it is recorded beside loops of the probe's own: these are left alone, and go on without it where it cannot be.
    pub beside: bool,
    /// A handler whose entry is to be an event, where that is recorded beside a loop.
    pub handler: Option<HandlerAt>,
    /// What of an event is enough, where nobody else wants the trace: the event, and its filter.
    pub enough: Vec<(String, Enough)>,
}

/// What tells that a handler begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerAt {
    /// An event that the kernel has, system and name; it is among those that are needed.
    Event(&'static str, &'static str),
    /// The entry of a function, by its names, that of the newest kernel first.
    Function(Vec<String>),
}

/// Which of an event's records are enough (Documentation/trace/events.rst, Event filtering).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enough {
    /// Those that this filter leaves.
    Filter(String),
    /// Those whose field is the address of a symbol.
    At {
        /// The field.
        field: &'static str,
        /// The symbol.
        symbol: &'static str,
    },
}

/// What is recorded of a handler, or why nothing is.
pub type Stamping = Result<Stamped, String>;

/// What is recorded of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamped {
    /// The function; none where the kernel has an event of its own there.
    pub symbol: Option<String>,
    /// By what.
    pub by: String,
    /// The event's system.
    pub system: String,
    /// The event's name.
    pub event: String,
}

/// A tracer of the kernel (`current_tracer`), and what it is told before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracer {
    /// As `available_tracers` has it.
    pub name: &'static str,
    /// Whether it keeps the longest value alone, and empties the ring for it: there is nothing to be read of that.
    pub maxima: bool,
    /// Whether a tracer of latencies traces functions meanwhile.
    pub functions: bool,
    /// How it learns the CPUs of the cell.
    pub on: On,
    /// Settings of the whole machine, in this order: files of tracefs, which are put back afterwards.
    pub settings: Vec<(&'static str, String)>,
}

/// How a tracer learns on which CPUs it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// It works on all.
    All,
    /// On those that are recorded.
    Recorded,
    /// By a setting of the whole machine, and those are recorded.
    Named(&'static str),
}

impl Wanted {
    /// These events, all of them needed.
    pub fn events(names: &[&str]) -> Self {
        Self { events: names.iter().map(|name| (*name).into()).collect(), ..Self::default() }
    }

    /// A tracer, and no event.
    pub fn tracer(tracer: Tracer) -> Self {
        Self { tracer: Some(tracer), ..Self::default() }
    }

    /// With these in place of all those of a system that the kernel does not have.
    pub fn or(mut self, system: &'static str, names: &[&str]) -> Self {
        self.instead = Some((system, names.iter().map(|name| (*name).to_owned()).collect()));
        self
    }

    /// And these where samples are to be explained, where the kernel has them.
    pub fn explaining(mut self, names: &[&str]) -> Self {
        self.explaining.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// And these, where the kernel has them.
    pub fn also(mut self, names: &[&str]) -> Self {
        self.also.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }
}
