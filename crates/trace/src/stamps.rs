//! Events of a known number and instant, joined with what the kernel recorded of each: its hard interrupt, the thread
//! of its interrupt, its handler.
//!
//! An event happened at t1, and the task that waited for it read the clock at t3. Exactly one stamp of the handler must
//! lie between the two: none is a lost one, several are doubled, and both are counted, never guessed at. The hard entry
//! and the switch to the interrupt's thread stand beside it: neither can stand in for the handler, which under forced
//! threading runs long after the one and may wait behind the other (for the lock of soft interrupts on PREEMPT_RT).

mod collect;

pub use collect::{Collect, Names, collect, of_line};

/// An event as the measuring task knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Its number.
    pub number: u64,
    /// When it happened, ns.
    pub t1: u64,
    /// When its handler began, ns, where the event brings that along and no trace has to be asked.
    pub t2: Option<u64>,
    /// When the task read the clock, ns.
    pub t3: u64,
    /// By how much t1 may be wrong, ns: a stamp may lie so far before it.
    pub error: u64,
}

/// A stamp of the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// When, ns, on the same clock.
    pub at: u64,
    /// On which CPU.
    pub cpu: u32,
    /// When what it stamps was due, ns, where it tells: then it is of the event with that t1 and of no other.
    pub due: Option<u64>,
}

/// What the kernel recorded, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Entries of the real handler.
    pub handler: Vec<Stamp>,
    /// Hard interrupts' entries.
    pub entry: Vec<Stamp>,
    /// Switches to the thread of the interrupt.
    pub thread: Vec<Stamp>,
}

/// How an event and the handler's stamps came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// By exactly one, at this time, ns.
    At(u64),
    /// There is none.
    Lost,
    /// There are several.
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
    /// t2, where the handler's stamp is there and the only one.
    pub fn t2(&self) -> Option<u64> {
        match self.handler {
            Handler::At(at) => Some(at),
            Handler::Lost | Handler::Doubled => None,
        }
    }
}

/// All events, in the order in which they were answered, and what did not come together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Each event.
    pub chains: Vec<Chain>,
    /// Events without a stamp of the handler.
    pub lost: u64,
    /// Events with several.
    pub doubled: u64,
    /// Numbers that no event has: they passed while the task was away.
    pub passed: u64,
}

impl Joined {
    /// Events that have no t2.
    pub fn unjoined(&self) -> u64 {
        self.lost.saturating_add(self.doubled)
    }
}

/// Joins events with stamps, each by itself: a stamp that is missing, there twice, or out of order costs the events
/// between whose t1 and t3 it lies, and no other.
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

/// Those of sorted stamps that lie from then to then, both ends included.
fn between(stamps: &[Stamp], from: u64, to: u64) -> impl Iterator<Item = &Stamp> {
    let begin = stamps.partition_point(|one| one.at < from);
    stamps.iter().skip(begin).take_while(move |one| one.at <= to)
}
