//! The events of several CPUs in order of time.
//!
//! A wake-up starts on one CPU and ends on another: code that pairs events needs them in one order.

mod lane;
mod turns;

use crate::{
    bytes::{Endian, Losses},
    file::{Buffer, Options, Pages, Trace},
    page::{Event, Missed},
};
use lane::Lane;
use turns::Turns;

/// A receiver of what a walk finds, in order of time.
pub trait Take {
    /// An event that a CPU wrote.
    fn event(&mut self, cpu: u32, event: Event<'_>);
    /// Reports that events of a CPU are missing. The report comes at the time when the loss starts, before any event of another CPU that a
    /// missing event may have caused.
    fn lost(&mut self, lost: &Lost);
}

/// A function that needs only the events.
impl<F: FnMut(u32, Event<'_>)> Take for F {
    #[inline]
    fn event(&mut self, cpu: u32, event: Event<'_>) {
        self(cpu, event);
    }

    fn lost(&mut self, _lost: &Lost) {}
}

/// A loss between a CPU's last event and its next one: the ring was full, bytes cannot be read, or time went backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The CPU.
    pub cpu: u32,
    /// When its last event was; the first event of the trace if it had none.
    pub since: u64,
    /// When its events continue; `None` if its data ends before the trace does.
    pub until: Option<u64>,
    /// How much.
    pub missed: Missed,
}

/// A walk through all CPUs together.
#[derive(Debug)]
pub struct Merge<'a> {
    lanes: Vec<Lane<'a>>,
    turns: Turns,
    endian: Endian,
    clock: Clock,
}

/// The times of all events so far.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    first: Option<u64>,
    last: u64,
    /// The latest time before time went backwards.
    most: u64,
    backwards: u64,
}

impl Clock {
    /// Returns the time that is in doubt if time went backwards.
    #[inline(always)]
    fn tick(&mut self, cpu: u32, time: u64) -> Option<Lost> {
        let lost = if time < self.last { self.back(cpu, time) } else { None };
        self.last = time;
        lost
    }

    #[cold]
    #[inline(never)]
    fn back(&mut self, cpu: u32, time: u64) -> Option<Lost> {
        self.backwards += 1;
        self.most = self.most.max(self.last);
        self.first = self.first.map(|first| first.min(time));
        // An event at this very last time is in doubt too.
        let until = Some(self.most.saturating_add(1));
        Some(Lost { cpu, since: time, until, missed: Missed::Some })
    }
}

impl<'a> Merge<'a> {
    /// Merges a buffer of a trace, with times in ns if the file states how.
    pub fn of(trace: &'a Trace<'a>, buffer: &Buffer<'a>) -> Self {
        let pages = buffer.cpus.iter().map(|data| (data.cpu, trace.pages(buffer, *data)));
        Self::over(trace.endian, pages, Some(&trace.options).filter(|options| options.change_times()))
    }

    /// Merges the pages of each CPU, all of this byte order. `timed` has the corrections of their times.
    pub fn over(endian: Endian, all: impl IntoIterator<Item = (u32, Pages<'a>)>, timed: Option<&'a Options>) -> Self {
        let lanes: Vec<Lane<'a>> = all.into_iter().map(|(cpu, pages)| Lane::of(cpu, pages, timed)).collect();
        let turns = Turns::of(lanes.iter().map(Lane::due));
        Self { lanes, turns, endian, clock: Clock::default() }
    }

    /// Passes everything to `take`, in order of time.
    #[inline]
    pub fn each(&mut self, take: &mut impl Take) {
        match self.endian {
            Endian::Little => self.each_in::<true>(take),
            Endian::Big => self.each_in::<false>(take),
        }
    }

    /// Does the same with the byte order known to the compiler.
    #[inline]
    pub(crate) fn each_in<const LITTLE: bool>(&mut self, take: &mut impl Take) {
        let endian = if LITTLE { Endian::Little } else { Endian::Big };
        self.clock.first = self.lanes.iter().filter_map(Lane::first).min();
        while let Some((at, until)) = self.turns.next() {
            let Some(lane) = self.lanes.get_mut(at) else { break };
            if let Some(lost) = lane.lost() {
                take.lost(&Lost { since: lost.since.max(self.clock.first.unwrap_or(0)), ..lost });
                self.turns.again(lane.due());
                continue;
            }
            let clock = &mut self.clock;
            let due = lane.go(endian, until, |cpu, event| {
                if let Some(lost) = clock.tick(cpu, event.time) {
                    take.lost(&lost);
                }
                take.event(cpu, event);
            });
            self.turns.again(due);
        }
    }

    /// Returns when the first and the last event were; 0 if there was none.
    pub fn span(&self) -> (u64, u64) {
        (self.clock.first.unwrap_or(0), self.clock.last.max(self.clock.most))
    }

    /// Returns how often time went backwards.
    pub fn backwards(&self) -> u64 {
        self.clock.backwards
    }

    /// Returns what could not be read, CPU by CPU.
    pub fn unread(&self) -> Losses {
        let mut all = Losses::default();
        self.lanes.iter().for_each(|lane| all.join(lane.pages.lost(), &format!("CPU {}: ", lane.cpu)));
        all
    }
}
