//! The events of several CPUs in the order of time.
//!
//! A wake-up begins on one CPU and ends on another: whoever pairs events needs them in one order.

use crate::{
    bytes::Losses,
    file::{Buffer, Options, Pages, Trace},
    page::{Event, Missed, Walk},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    ops::Range,
};

/// Takes what a walk meets, in the order of time.
pub trait Take {
    /// An event that a CPU wrote.
    fn event(&mut self, cpu: u32, event: Event<'_>);
    /// A CPU's ring was full. It comes in the order of its begin, before any event of another CPU that what is missing may
    /// have led to.
    fn lost(&mut self, lost: &Lost);
}

/// Who only wants the events.
impl<F: FnMut(u32, Event<'_>)> Take for F {
    #[inline]
    fn event(&mut self, cpu: u32, event: Event<'_>) {
        self(cpu, event);
    }

    fn lost(&mut self, _lost: &Lost) {}
}

/// From a CPU's last event up to its next others were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The CPU.
    pub cpu: u32,
    /// When its last event was; the beginning of time where there was none.
    pub since: u64,
    /// When it goes on.
    pub until: u64,
    /// How much.
    pub missed: Missed,
}

/// So many events are found at a time: few enough to stay in a processor's cache, and small for thousands of CPUs.
const BATCH: usize = 256;

/// An event by its place in the data of its page.
#[derive(Clone, Copy, Debug)]
struct Placed {
    time: u64,
    begin: u32,
    end: u32,
}

/// A CPU's pages with a place among them.
#[derive(Debug)]
struct Lane<'a> {
    cpu: u32,
    pages: Pages<'a>,
    /// What the file says of its times; nothing where they stand as they are.
    timed: Option<&'a Options>,
    /// The page it is in: where its data lies, and how far events were found in it.
    data: Range<usize>,
    walk: Option<Walk>,
    /// The events that were found, and which of them is next.
    found: Vec<Placed>,
    next: usize,
    /// What was lost before the next one.
    missed: Missed,
    /// The time of the event before those that were found.
    last: u64,
}

impl Lane<'_> {
    /// Finds further events, over the ends of pages, once those that were found are given.
    fn find(&mut self) {
        if let Some(placed) = self.found.last() {
            self.last = placed.time;
        }
        self.found.clear();
        self.next = 0;
        let endian = self.pages.endian();
        while self.found.is_empty() {
            if let Some(walk) = &mut self.walk {
                let data = self.pages.unpacked().get(self.data.clone()).unwrap_or_default();
                while self.found.len() < BATCH
                    && let Some(event) = walk.next(data, endian)
                {
                    let begin = event.data.as_ptr().addr() - data.as_ptr().addr();
                    let time = match self.timed {
                        None => event.time,
                        Some(options) => options.time_ns(self.cpu, event.time),
                    };
                    // A page is far shorter than 4 GiB.
                    self.found.push(Placed { time, begin: begin as u32, end: (begin + event.data.len()) as u32 });
                }
                if self.found.len() == BATCH {
                    return;
                }
                let unread = walk.unread(data);
                self.pages.unread(unread);
                self.walk = None;
                if !self.found.is_empty() {
                    return;
                }
            }
            let Some(place) = self.pages.advance() else { return };
            (self.data, self.walk) = (place.data, Some(place.walk));
            if place.missed != Missed::Nothing {
                self.missed = place.missed;
            }
        }
    }

    /// What was lost before its next event, told once.
    fn lost(&mut self) -> Lost {
        let missed = std::mem::replace(&mut self.missed, Missed::Nothing);
        let until = self.found.get(self.next).map_or(self.last, |placed| placed.time);
        Lost { cpu: self.cpu, since: self.last.min(until), until, missed }
    }

    /// When it is its turn: at its next event, or where what was lost before it begins. None at its end.
    #[inline]
    fn due(&self) -> Option<u64> {
        let time = self.found.get(self.next)?.time;
        Some(if self.missed == Missed::Nothing { time } else { self.last.min(time) })
    }
}

/// Walks through all CPUs at once.
#[derive(Debug)]
pub struct Merge<'a> {
    lanes: Vec<Lane<'a>>,
    /// The lane that is at turn; up to when, since then another one is.
    lane: usize,
    until: u64,
    /// The others by when they are due.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    backwards: u64,
    last: u64,
}

impl<'a> Merge<'a> {
    /// Of a buffer of a trace, with times in ns where the file tells how.
    pub fn of(trace: &'a Trace<'a>, buffer: &Buffer<'a>) -> Self {
        let pages = buffer.cpus.iter().map(|data| (data.cpu, trace.pages(buffer, *data)));
        Self::over(pages, Some(&trace.options).filter(|options| options.change_times()))
    }

    /// Of the pages of each CPU; with what is to be done to their times.
    pub fn over(all: impl IntoIterator<Item = (u32, Pages<'a>)>, timed: Option<&'a Options>) -> Self {
        let lane = |(cpu, pages)| {
            let (data, missed, found) = (0..0, Missed::Nothing, Vec::with_capacity(BATCH));
            Lane { cpu, pages, timed, data, walk: None, found, next: 0, missed, last: 0 }
        };
        let mut lanes: Vec<Lane<'a>> = all.into_iter().map(lane).collect();
        lanes.iter_mut().for_each(Lane::find);
        let due = lanes.iter().enumerate().filter_map(|(at, lane)| Some(Reverse((lane.due()?, at))));
        let waiting = due.collect();
        let mut merge = Self { lanes, lane: usize::MAX, until: 0, waiting, backwards: 0, last: 0 };
        merge.choose();
        merge
    }

    /// Chooses the lane that goes next.
    #[inline]
    fn choose(&mut self) {
        let due = self.lanes.get(self.lane).and_then(Lane::due);
        let chosen = match (due, self.waiting.peek_mut()) {
            // The first of the others changes places with it: cheaper than to leave and to come.
            (Some(due), Some(mut first)) if first.0 < (due, self.lane) => {
                Some(std::mem::replace(&mut *first, Reverse((due, self.lane))))
            }
            (Some(due), _) => Some(Reverse((due, self.lane))),
            (None, Some(first)) => Some(PeekMut::pop(first)),
            (None, None) => None,
        };
        self.lane = chosen.map_or(usize::MAX, |Reverse((_, lane))| lane);
        self.until = self.waiting.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
    }

    /// Gives everything to `take`, in the order of time.
    #[inline]
    pub fn each(&mut self, take: &mut impl Take) {
        while let Some(lane) = self.lanes.get_mut(self.lane) {
            if lane.missed != Missed::Nothing {
                take.lost(&lane.lost());
                // What it goes on with may be later than others.
                if lane.due().is_none_or(|due| due > self.until) {
                    self.choose();
                }
                continue;
            }
            let data = lane.pages.unpacked().get(lane.data.clone()).unwrap_or_default();
            let (cpu, until) = (lane.cpu, self.until);
            for placed in lane.found.get(lane.next..).unwrap_or_default() {
                if placed.time > until {
                    break;
                }
                lane.next += 1;
                self.backwards += u64::from(placed.time < self.last);
                self.last = placed.time;
                let data = data.get(placed.begin as usize..placed.end as usize).unwrap_or_default();
                take.event(cpu, Event { time: placed.time, data });
            }
            if lane.next == lane.found.len() {
                lane.find();
            }
            if lane.due().is_none_or(|due| due > until) {
                self.choose();
            }
        }
    }

    /// How often time went back.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// What could not be read, CPU by CPU.
    pub fn unread(&self) -> Losses {
        let mut all = Losses::default();
        self.lanes.iter().for_each(|lane| all.join(lane.pages.lost(), &format!("CPU {}: ", lane.cpu)));
        all
    }
}
