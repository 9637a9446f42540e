//! The loop around events whose instant is known: wait for one, read the clock, keep number, instant and reading.
//!
//! t1 is when the event happened, t3 when the waiting task read the clock after it; what lies between, the handler's t2
//! above all, is recorded by the kernel and joined when all is over (`latido_trace::stamps`). Each source is a file
//! here, a [`Device`], and a loop of its own: nothing in it is called through a pointer.

mod grid;
mod hpet;
mod network;
mod raised;
mod serial;
mod timer;

use crate::{
    end::End,
    recorder::{Recorder, RecorderPhase},
    rounds::Refusal,
};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
pub use hpet::HpetEvents;
use latido_sys::{Errno, clock::Clock};
pub use network::{NetworkEvents, Trigger};
pub use raised::{Line, LineEvents, Raised, raise};
pub use serial::{SerialEvents, TIMEOUT_CHARACTERS};
pub use timer::TimerEvents;

/// An event that the task has answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamped {
    /// Its number: events that passed without an answer have theirs too.
    pub number: u64,
    /// t1, when it happened, ns on CLOCK_MONOTONIC.
    pub t1: u64,
    /// t2, ns on the same clock, where the event brings it along; otherwise it is in a trace, or nowhere.
    pub t2: Option<u64>,
    /// t3, when the task read the clock after it, ns on the same clock.
    pub t3: u64,
    /// By how much t1 may be wrong, ns.
    pub error: u64,
}

/// Where events come from.
pub(crate) trait Device {
    /// Waits for the next event.
    ///
    /// # Errors
    /// The call that failed; `EINTR` where a signal ended the wait.
    fn next(&mut self) -> Result<Stamped, Refusal>;
}

/// What has been stamped: memory that is there before the loop.
#[derive(Debug, Default)]
pub struct Log {
    events: Box<[Stamped]>,
    held: usize,
    /// Events that found no room.
    pub dropped: u64,
    /// What came of strangers and was no event.
    pub strangers: u64,
}

impl Log {
    /// With room for so many events.
    pub fn new(capacity: usize) -> Self {
        Self { events: (0..capacity).map(|_| Stamped::default()).collect(), held: 0, dropped: 0, strangers: 0 }
    }

    /// In the order in which they were answered.
    pub fn events(&self) -> &[Stamped] {
        self.events.get(..self.held).unwrap_or(&[])
    }

    /// Forgets everything, touching all its memory.
    fn reset(&mut self) {
        self.events.iter_mut().for_each(|event| *event = Stamped::default());
        (self.held, self.dropped) = (0, 0);
    }

    #[inline(always)]
    fn push(&mut self, event: Stamped) {
        match self.events.get_mut(self.held) {
            Some(place) => {
                *place = event;
                self.held = self.held.wrapping_add(1);
            }
            None => self.dropped = self.dropped.wrapping_add(1),
        }
    }
}

/// The t1 of an event that nobody can tell: it is not answered, and its number counts as passed.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// What the loop is to do.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Events to answer; `u64::MAX` for no such end.
    pub events: u64,
    /// How long to go on, ns; `u64::MAX` for no such end.
    pub duration_ns: u64,
    /// How long to answer events before one counts, ns.
    pub warmup_ns: u64,
}

/// How the loop went.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// Why it ended; it fails when a call does.
    pub end: End<Refusal>,
    /// CLOCK_MONOTONIC when counting began, ns.
    pub first_ns: u64,
    /// The same clock when it ended, ns.
    pub ended_ns: u64,
}

/// Where events come from, opened and armed.
#[derive(Debug)]
pub enum Source {
    /// An absolute sleep.
    Timer(TimerEvents),
    /// The high precision event timer's device.
    Hpet(HpetEvents),
    /// A serial port in loopback.
    Serial(SerialEvents),
    /// A line that a thread of this machine raises.
    Line(LineEvents),
    /// Packets of a station.
    Network(NetworkEvents),
}

impl Source {
    /// Packets of strangers, which were no events.
    pub fn strangers(&self) -> u64 {
        match self {
            Self::Network(device) => device.strangers,
            _ => 0,
        }
    }

    /// Answers one event: for whoever has to see a first one before the loop.
    ///
    /// # Errors
    /// The call that failed.
    pub fn once(&mut self) -> Result<Stamped, Refusal> {
        match self {
            Self::Timer(device) => device.next(),
            Self::Hpet(device) => device.next(),
            Self::Serial(device) => device.next(),
            Self::Line(device) => device.next(),
            Self::Network(device) => device.next(),
        }
    }
}

/// Answers events until the end: `response` takes t3 - t1 of each, `log` all of it.
pub fn run(source: &mut Source, watch: &Watch, stop: &AtomicBool, response: &mut Recorder, log: &mut Log) -> Watched {
    response.enter(RecorderPhase::WarmUp);
    let from = Clock::Monotonic.now();
    let mut end = End::Complete;
    if watch.warmup_ns > 0 {
        let warmup = Pass { events: u64::MAX, until_ns: from.saturating_add(watch.warmup_ns), from_ns: u64::MAX };
        end = pass(source, &warmup, stop, response, log);
    }
    response.reset();
    log.reset();
    // Only now, for forgetting took time: an event from before it does not count.
    let first_ns = Clock::Monotonic.now();
    response.start_at(first_ns);
    response.enter(RecorderPhase::Counting);
    if end == End::Complete {
        let until_ns = first_ns.saturating_add(watch.duration_ns);
        let counted = Pass { events: watch.events, until_ns, from_ns: first_ns };
        end = pass(source, &counted, stop, response, log);
    }
    let ended_ns = Clock::Monotonic.now();
    response.finish(ended_ns);
    response.enter(RecorderPhase::Ended);
    Watched { end, first_ns, ended_ns }
}

/// Runs every cold path once, then forgets what was recorded; takes a few events, or until the stop where none comes.
pub fn rehearse(source: &mut Source, stop: &AtomicBool, response: &mut Recorder, log: &mut Log) {
    response.reset();
    response.rehearse();
    run(source, &Watch { events: 2, duration_ns: u64::MAX, warmup_ns: 1 }, stop, response, log);
    response.reset();
    log.reset();
}

/// A part of the loop.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// Events to answer.
    events: u64,
    /// When to end, ns.
    until_ns: u64,
    /// Events from before do not count, ns.
    from_ns: u64,
}

fn pass(source: &mut Source, pass: &Pass, stop: &AtomicBool, response: &mut Recorder, log: &mut Log) -> End<Refusal> {
    match source {
        Source::Timer(device) => timer::answer(device, pass, stop, response, log),
        Source::Hpet(device) => hpet::answer(device, pass, stop, response, log),
        Source::Serial(device) => serial::answer(device, pass, stop, response, log),
        Source::Line(device) => raised::answer(device, pass, stop, response, log),
        Source::Network(device) => network::answer(device, pass, stop, response, log),
    }
}

/// The loop itself, made into that of each source.
#[inline(always)]
fn sweep(
    device: &mut impl Device,
    pass: &Pass,
    stop: &AtomicBool,
    response: &mut Recorder,
    log: &mut Log,
) -> End<Refusal> {
    let mut answered = 0u64;
    while answered < pass.events {
        match device.next() {
            Ok(event) => {
                if event.t1 >= pass.from_ns && event.t1 != UNKNOWN {
                    log.push(event);
                    let open = response.begin();
                    response.record(event.t3.wrapping_sub(event.t1) as i64, event.t3);
                    response.commit(open);
                    answered = answered.wrapping_add(1);
                }
                if event.t3 >= pass.until_ns {
                    return End::Complete;
                }
            }
            // No event came. Who is woken without end by something else ends in time all the same.
            Err(Refusal { error: Errno::EINTR, .. }) => {
                if Clock::Monotonic.now() >= pass.until_ns {
                    return End::Complete;
                }
            }
            Err(refusal) => return End::Failed(refusal),
        }
        if stop.load(Relaxed) {
            return End::Stopped;
        }
    }
    End::Complete
}

#[cfg(test)]
mod tests;
