//! The words of an attempt: what happens, what latido does, what it asks.

use crate::{measure::reporter::Told, supervise::client::Wish};
use latido_model::{protocol::Progress, record::Record};
use std::time::Duration;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// The attempt may begin.
    Begun,
    /// The step that was asked for is done.
    Done,
    /// A deed or a step failed; the deeds behind it were left out.
    Failed,
    /// The loads were started, and need this long to come to work.
    Loaded(Duration),
    /// All loads live; whether the host wants no more.
    Loads {
        /// It does not.
        stops: bool,
    },
    /// What the host wants now.
    Host {
        /// That.
        wish: Wish,
        /// Nobody will hear an answer.
        gone: bool,
    },
    /// The measuring process said something.
    Told(Told),
    /// It said nothing for as long as was waited.
    Silence,
    /// It will say nothing more.
    Ended,
    /// Time has passed.
    Turn,
    /// Somebody glanced at the probe's threads.
    Glanced {
        /// One of them wants to run and does not.
        stands: bool,
    },
    /// The temperature was read.
    Felt {
        /// It is above the limit.
        hot: bool,
    },
}

/// A record with its files, as the measuring process told it.
#[derive(Debug)]
pub struct Measured {
    /// Without what only the supervisor knows.
    pub record: Box<Record>,
    /// Names and lengths of its files.
    pub files: Vec<(String, u64)>,
    /// Their directory in the spool.
    pub place: String,
}

/// What is done without an answer.
#[derive(Debug)]
pub enum Deed {
    /// Gives up the memory of code that lies idle from here on.
    LetGoOfCode,
    /// Notes what the loads have used so far: from here on samples count.
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
    /// Completes the record and keeps it until everything is back.
    Keep(Measured),
    /// Notes the priority that a task must reach to delay the probe.
    Rank(Option<u8>),
    /// Puts the trace into the spool.
    HandOver,
    /// Gives the threads of an interrupt a priority, and answers.
    Raise {
        /// How the name of its line begins.
        line: String,
        /// FIFO.
        prio: u8,
    },
    /// Notes why there is no record.
    Blame(String),
    /// Collects processes that ended, and looks which loads live.
    Reap,
    /// Looks at what else runs on the machine.
    LookAround,
    /// Ends the loads before their time, since it is too hot.
    Cool,
    /// Asks the measuring process for an orderly end.
    Stop,
    /// Ends the measuring process at once.
    Kill,
    /// Ends the loads, the last one first.
    StopLoads,
    /// Drops what was kept, the measuring process and the trace.
    LetGo,
}

/// What latido asks the world; the world answers with an event, or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Apply the tunings: [`Event::Done`].
    Tune,
    /// Start the loads: [`Event::Loaded`].
    Load,
    /// See that all loads live: [`Event::Loads`].
    Loads,
    /// Wait: [`Event::Turn`].
    Pause(Duration),
    /// Start the measuring process, and what is recorded beside it: [`Event::Done`].
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
    /// Put everything back: [`Event::Done`].
    Undo,
}

/// How an attempt closes, everything put back.
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

/// What is done next: these deeds in their order, then this.
#[derive(Debug)]
pub struct Move {
    /// Without an answer.
    pub deeds: Vec<Deed>,
    /// With one.
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

/// No deed, then this.
pub fn ask(ask: Ask) -> Move {
    deeds(Vec::new()).and(ask)
}

/// Deeds; behind them latido asks the host again.
pub fn deeds(deeds: Vec<Deed>) -> Move {
    Move { deeds, next: Next::Ask(Ask::Host) }
}

impl Move {
    /// With these deeds before its own.
    pub fn after<const N: usize>(self, first: [Deed; N]) -> Self {
        Self { deeds: first.into_iter().chain(self.deeds).collect(), ..self }
    }

    /// With this behind its deeds.
    pub fn and(self, ask: Ask) -> Self {
        Self { next: Next::Ask(ask), ..self }
    }
}
