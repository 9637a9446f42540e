//! The loop around events whose instant is known: it waits for an event, reads the clock, and keeps number, instant and reading.
//!
//! t1 is when the event happened, t3 is when the waiting task read the clock after it. The kernel's trace contains the times between, above
//! all the handler's t2; latido joins them after the measurement (`latido_trace::stamps`). Each source is a [`Device`] in a separate file
//! with a separate copy of the loop: the loop calls nothing through a pointer.

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
    /// Its number. Events that passed without an answer also have numbers.
    pub number: u64,
    /// t1: when it happened, in ns on CLOCK_MONOTONIC.
    pub t1: u64,
    /// t2, in ns on the same clock, if the event itself includes it; otherwise it is in a trace or unknown.
    pub t2: Option<u64>,
    /// t3: when the task read the clock after the event, in ns on the same clock.
    pub t3: u64,
    /// The possible error of t1, in ns.
    pub error: u64,
}

/// A source of events.
pub(crate) trait Device {
    /// Waits for the next event.
    ///
    /// # Errors
    /// The call that failed; `EINTR` when a signal ended the wait.
    fn next(&mut self) -> Result<Stamped, Refusal>;
}

/// The stamped events, in memory that is allocated before the loop.
#[derive(Debug, Default)]
pub struct Log {
    events: Box<[Stamped]>,
    held: usize,
    /// Events for which there was no room.
    pub dropped: u64,
    /// Packets from other senders, which were not events.
    pub strangers: u64,
}

impl Log {
    /// Creates a log with room for `capacity` events.
    pub fn new(capacity: usize) -> Self {
        Self { events: (0..capacity).map(|_| Stamped::default()).collect(), held: 0, dropped: 0, strangers: 0 }
    }

    /// Returns the events in the order in which the task answered them.
    pub fn events(&self) -> &[Stamped] {
        self.events.get(..self.held).unwrap_or(&[])
    }

    /// Clears the events and the count of dropped ones, and touches all memory.
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

/// The t1 of an event whose instant is unknown: it does not count as answered, and its number counts as passed.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// The parameters of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Events to answer; `u64::MAX` for no limit.
    pub events: u64,
    /// How long to continue, in ns; `u64::MAX` for no limit.
    pub duration_ns: u64,
    /// How long the loop answers events before it counts them, in ns.
    pub warmup_ns: u64,
}

/// The outcome of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// Why it ended; a failed call makes it fail.
    pub end: End<Refusal>,
    /// When counting began, in ns on CLOCK_MONOTONIC.
    pub first_ns: u64,
    /// When the loop ended, in ns on the same clock.
    pub ended_ns: u64,
}

/// A source of events, opened and armed.
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
    /// Packets from a station.
    Network(NetworkEvents),
}

impl Source {
    /// Returns the number of packets from other senders, which were not events.
    pub fn strangers(&self) -> u64 {
        match self {
            Self::Network(device) => device.strangers,
            _ => 0,
        }
    }

    /// Answers one event, for callers that need to see a first one before the loop.
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

/// Answers events until the end: `response` gets t3 - t1 of each, `log` the whole event.
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
    // Read the clock only now, because clearing took time. An event from before this moment does not count.
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

/// Runs every cold path once, then clears what was recorded. It answers a few events, or waits for the stop flag where none comes.
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
    /// Events from before this time do not count, in ns.
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

/// The loop itself, compiled separately for each source.
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
            // No event came. Check the time here, so that the loop also ends in time when other wake-ups keep interrupting it.
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
