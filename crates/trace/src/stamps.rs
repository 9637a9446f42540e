//! Joins events of a known number and time with what the kernel recorded of each: its hard interrupt, the thread of its interrupt, its
//! handler.
//!
//! An event happened at t1, and the task that waited for it read the clock at t3. Exactly one stamp of the handler must be between the two.
//! An event without a stamp is lost, an event with several is doubled; latido counts both and never guesses. The hard entry and the switch
//! to the interrupt's thread are recorded in addition. Neither can replace the handler: under forced threading the handler runs long after
//! the hard entry, and it may wait after the switch (for the lock of soft interrupts on PREEMPT_RT).

mod collect;

pub use collect::{Collect, Names, collect, of_line};

/// An event, as the measuring task recorded it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Its number.
    pub number: u64,
    /// When it happened, ns.
    pub t1: u64,
    /// When its handler started, ns, if the event itself contains that time and no trace is needed.
    pub t2: Option<u64>,
    /// When the task read the clock, ns.
    pub t3: u64,
    /// The possible error of t1, ns: a stamp may be this much earlier than t1.
    pub error: u64,
}

/// A stamp of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Its time, ns, on the same clock.
    pub at: u64,
    /// Its CPU.
    pub cpu: u32,
    /// When the stamped thing was due, ns, if known: the stamp then belongs only to the event with that t1.
    pub due: Option<u64>,
}

/// The stamps that the kernel recorded, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Entries of the actual handler.
    pub handler: Vec<Stamp>,
    /// Entries of hard interrupts.
    pub entry: Vec<Stamp>,
    /// Switches to the thread of the interrupt.
    pub thread: Vec<Stamp>,
}

/// The result of joining an event with the handler's stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// Exactly one stamp, at this time, ns.
    At(u64),
    /// No stamp.
    Lost,
    /// Several stamps.
    Doubled,
}

/// An event with all its stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The event.
    pub event: Answered,
    /// The first hard entry from t1 on, before the handler, ns.
    pub entry: Option<u64>,
    /// The first switch to the interrupt's thread from t1 on, before the handler, ns.
    pub thread: Option<u64>,
    /// The handler's entry.
    pub handler: Handler,
}

impl Chain {
    /// Returns t2, if there is exactly one stamp of the handler.
    pub fn t2(&self) -> Option<u64> {
        match self.handler {
            Handler::At(at) => Some(at),
            Handler::Lost | Handler::Doubled => None,
        }
    }
}

/// All events, in the order of their answers, and what could not be joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Each event.
    pub chains: Vec<Chain>,
    /// Events without a stamp of the handler.
    pub lost: u64,
    /// Events with several stamps of the handler.
    pub doubled: u64,
    /// Numbers without an event: they passed while the task was away.
    pub passed: u64,
}

impl Joined {
    /// Returns how many events have no t2.
    pub fn unjoined(&self) -> u64 {
        self.lost.saturating_add(self.doubled)
    }
}

/// Joins events with stamps, each event separately. A stamp that is missing, doubled or out of order affects only the events whose t1 and
/// t3 enclose it.
pub fn join(events: &[Answered], mut stamps: Stamps) -> Joined {
    for all in [&mut stamps.handler, &mut stamps.entry, &mut stamps.thread] {
        all.sort_unstable();
    }
    let mut joined = Joined::default();
    for &event in events {
        let from = event.t1.saturating_sub(event.error);
        let mut of_event =
            between(&stamps.handler, from, event.t3).filter(|one| one.due.is_none_or(|due| due == event.t1));
        let handler = match (event.t2, of_event.next(), of_event.next()) {
            (Some(t2), ..) if (from..=event.t3).contains(&t2) => Handler::At(t2),
            (Some(_), ..) | (None, None, _) => Handler::Lost,
            (None, Some(one), None) => Handler::At(one.at),
            (None, Some(_), Some(_)) => Handler::Doubled,
        };
        joined.lost += u64::from(handler == Handler::Lost);
        joined.doubled += u64::from(handler == Handler::Doubled);
        let mut chain = Chain { event, entry: None, thread: None, handler };
        if let Some(t2) = chain.t2() {
            let first = |all: &[Stamp]| between(all, from, t2).next().map(|one| one.at);
            (chain.entry, chain.thread) = (first(&stamps.entry), first(&stamps.thread));
        }
        joined.chains.push(chain);
    }
    let numbers = events
        .first()
        .zip(events.last())
        .map(|(first, last)| last.number.saturating_sub(first.number).saturating_add(1));
    joined.passed = numbers.unwrap_or(0).saturating_sub(events.len() as u64);
    joined
}

/// Returns the sorted stamps from `from` to `to`, both inclusive.
fn between(stamps: &[Stamp], from: u64, to: u64) -> impl Iterator<Item = &Stamp> {
    let begin = stamps.partition_point(|one| one.at < from);
    stamps.iter().skip(begin).take_while(move |one| one.at <= to)
}
