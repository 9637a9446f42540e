//! What a probe needs the kernel to record, because it takes its samples from a trace, or joins a trace with its own loop.

use serde::{Deserialize, Serialize};

/// Events by system and name, such as `sched:sched_switch`, and optionally a tracer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The events without which the probe cannot measure.
    pub events: Vec<String>,
    /// Events that show more, if the kernel has them.
    pub also: Vec<String>,
    /// Events that help to explain samples, if the kernel has them.
    pub explaining: Vec<String>,
    /// If the kernel has no event of this system, these replace the ones of that system in `events`.
    pub instead: Option<(&'static str, Vec<String>)>,
    /// The tracer that must also run in the trace.
    pub tracer: Option<Tracer>,
    /// Whether the trace accompanies the probe's own loops. The loops measure without it if it is not possible.
    pub beside: bool,
    /// A handler whose entry must be an event of the trace, which accompanies a loop.
    pub handler: Option<HandlerAt>,
    /// Filters of events, for a trace that only the probe needs: the event, and the part of it that is enough.
    pub enough: Vec<(String, Enough)>,
}

/// What marks the beginning of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerAt {
    /// An event that the kernel has, by system and name. It is also one of the needed events.
    Event(&'static str, &'static str),
    /// The entry of a function, with its possible names, the newest kernel's name first.
    Function(Vec<String>),
}

/// Which of an event's records are enough (Documentation/trace/events.rst, Event filtering).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enough {
    /// The records that pass this filter.
    Filter(String),
    /// The records whose field is the address of a symbol.
    At {
        /// The field.
        field: &'static str,
        /// The symbol.
        symbol: &'static str,
    },
}

/// The recorded event of a handler, or why there is none.
pub type Stamping = Result<Stamped, String>;

/// The recorded event of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamped {
    /// The function; `None` if the kernel has an event there.
    pub symbol: Option<String>,
    /// The mechanism that stamps it.
    pub by: String,
    /// The event's system.
    pub system: String,
    /// The event's name.
    pub event: String,
}

/// A tracer of the kernel (`current_tracer`), and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracer {
    /// Its name in `available_tracers`.
    pub name: &'static str,
    /// Whether it keeps only the longest value, and empties the ring for it: then latido cannot read the ring.
    pub maxima: bool,
    /// Whether a latency tracer also traces functions.
    pub functions: bool,
    /// How it receives the CPUs of the cell.
    pub on: On,
    /// Settings of the whole machine, in this order: files of tracefs, which latido restores afterwards.
    pub settings: Vec<(&'static str, String)>,
}

/// How a tracer receives the CPUs on which it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// It works on all CPUs.
    All,
    /// It works on the CPUs that are recorded.
    Recorded,
    /// It works on the CPUs in this setting of the whole machine, and these are recorded.
    Named(&'static str),
}

impl Wanted {
    /// Needs all of these events.
    pub fn events(names: &[&str]) -> Self {
        Self { events: names.iter().map(|name| (*name).into()).collect(), ..Self::default() }
    }

    /// Needs a tracer, and no event.
    pub fn tracer(tracer: Tracer) -> Self {
        Self { tracer: Some(tracer), ..Self::default() }
    }

    /// Uses these events instead of those of a system from which the kernel has none.
    pub fn or(mut self, system: &'static str, names: &[&str]) -> Self {
        self.instead = Some((system, names.iter().map(|name| (*name).to_owned()).collect()));
        self
    }

    /// Adds events that help to explain samples, if the kernel has them.
    pub fn explaining(mut self, names: &[&str]) -> Self {
        self.explaining.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Adds events that show more, if the kernel has them.
    pub fn also(mut self, names: &[&str]) -> Self {
        self.also.extend(names.iter().map(|name| (*name).to_owned()));
        self
    }
}
