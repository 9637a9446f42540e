//! The vocabulary of an attempt: what happens, what latido does, what it asks.

use crate::{measure::reporter::Told, supervise::client::Wish};
use latido_model::{protocol::Progress, record::Record};
use std::time::Duration;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The attempt may begin.
    Begun,
    /// The requested step is done.
    Done,
    /// A deed or a step failed. The deeds after it were left out.
    Failed,
    /// The loads were started, and need this long to settle.
    Loaded(Duration),
    /// All loads live. Reports whether the host wants the end.
    Loads {
        /// The host wants the end.
        stops: bool,
    },
    /// What the host wants now.
    Host {
        /// The wish.
        wish: Wish,
        /// The host is gone and will receive no answer.
        gone: bool,
    },
    /// The measuring process sent a message.
    Told(Told),
    /// It sent no message within the requested time.
    Silence,
    /// It will send no more messages.
    Ended,
    /// Time has passed.
    Turn,
    /// The supervisor glanced at the probe's threads.
    Glanced {
        /// One of them wants to run and does not run.
        stands: bool,
    },
    /// The temperature was read.
    Felt {
        /// It is above the limit.
        hot: bool,
    },
}

/// A record with its files, as the measuring process reported it.
#[derive(Debug)]
pub struct Measured {
    /// The record, without the facts that only the supervisor knows.
    pub record: Box<Record>,
    /// The names and lengths of its files.
    pub files: Vec<(String, u64)>,
    /// Their directory in the spool.
    pub place: String,
}

/// Actions without an answer.
#[derive(Debug)]
pub enum Deed {
    /// Releases the memory of code that is idle from here on.
    LetGoOfCode,
    /// Notes what the loads have used so far: samples count from here on.
    LoadsBegin,
    /// Begins to watch the machine.
    WatchBegins,
    /// Notes what the loads have used until now: the loops are over.
    LoadsEnd,
    /// Ends the watch of the machine.
    WatchEnds,
    /// Passes progress on to the host.
    Tell(Progress),
    /// Completes a checkpoint and sends it.
    Checkpoint(Measured),
    /// Completes the record and keeps it until everything is restored.
    Keep(Measured),
    /// Notes the priority that a task must reach to delay the probe.
    Rank(Option<u8>),
    /// Puts the trace into the spool.
    HandOver,
    /// Gives the threads of an interrupt a priority, and reports the result to the measuring process.
    Raise {
        /// The beginning of the line's name.
        line: String,
        /// The FIFO priority.
        prio: u8,
    },
    /// Notes why there is no record.
    Blame(String),
    /// Collects processes that ended, and checks which loads live.
    Reap,
    /// Looks at what else runs on the machine.
    LookAround,
    /// Ends the loads early, because it is too hot.
    Cool,
    /// Requests an orderly end of the measuring process.
    Stop,
    /// Ends the measuring process at once.
    Kill,
    /// Ends the loads, the last one first.
    StopLoads,
    /// Drops the kept record, the measuring process and the trace.
    LetGo,
}

/// What latido asks the world. The world answers with an event, or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Apply the tunings: [`Event::Done`].
    Tune,
    /// Start the loads: [`Event::Loaded`].
    Load,
    /// Check that all loads live: [`Event::Loads`].
    Loads,
    /// Wait: [`Event::Turn`].
    Pause(Duration),
    /// Start the measuring process and the recording: [`Event::Done`].
    Start,
    /// What the host wants: [`Event::Host`].
    Host,
    /// Listen to the measuring process for this long: [`Event::Told`], [`Event::Silence`] or [`Event::Ended`].
    Hear(Duration),
    /// Glance at the probe's threads: [`Event::Glanced`].
    Glance,
    /// Read the temperature: [`Event::Felt`].
    Heat,
    /// Wait for the measuring process and take its record: [`Event::Done`].
    Collect,
    /// Restore everything: [`Event::Done`].
    Undo,
}

/// How an attempt closes after everything is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The record is sent.
    Send,
    /// Something failed: the error is reported.
    Report,
    /// The host wanted the end before the loops began.
    TooEarly,
    /// The host wanted the end at once.
    AtOnce,
}

/// What latido does next: the deeds in their order, then `next`.
#[derive(Debug)]
pub struct Move {
    /// The actions without an answer.
    pub deeds: Vec<Deed>,
    /// The question after them, or the close.
    pub next: Next,
}

/// What follows the deeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// latido asks the world.
    Ask(Ask),
    /// The attempt is over.
    Close(Close),
}

/// Makes a move without deeds.
pub fn ask(ask: Ask) -> Move {
    deeds(Vec::new()).and(ask)
}

/// Makes a move of deeds, after which latido asks the host again.
pub fn deeds(deeds: Vec<Deed>) -> Move {
    Move { deeds, next: Next::Ask(Ask::Host) }
}

impl Move {
    /// Puts these deeds before its own.
    pub fn after<const N: usize>(self, first: [Deed; N]) -> Self {
        Self { deeds: first.into_iter().chain(self.deeds).collect(), ..self }
    }

    /// Replaces what follows its deeds.
    pub fn and(self, ask: Ask) -> Self {
        Self { next: Next::Ask(ask), ..self }
    }
}
