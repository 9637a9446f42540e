//! The events of several CPUs in the order of time.
//!
//! A wake-up begins on one CPU and ends on another: whoever pairs events needs them in one order.

use crate::{
    bytes::Bad,
    file::{Buffer, Options, Pages, Trace},
    page::{Event, Missed, Walk},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    ops::Range,
};

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// An event.
    Event {
        /// The CPU that wrote it.
        cpu: u32,
        /// The event.
        event: Event<'a>,
    },
    /// The CPU's ring was full: from its last event up to that time others were lost. It comes in the order of its begin,
    /// before any event of another CPU that what is missing may have led to.
    Lost {
        /// The CPU.
        cpu: u32,
        /// When its last event was; the beginning of time where there was none.
        since: u64,
        /// When it goes on.
        until: u64,
        /// How much.
        missed: Missed,
    },
}

/// A CPU's pages with a place among them.
#[derive(Debug)]
struct Lane<'a> {
    cpu: u32,
    pages: Pages<'a>,
    /// What the file says of its times; nothing where they stand as they are.
    timed: Option<&'a Options>,
    /// The page it is in: where its data lies.
    data: Range<usize>,
    walk: Option<Walk>,
    /// The next event: its time, and where its record lies in the page's data.
    next: Option<(u64, Range<usize>)>,
    /// What was lost before it.
    missed: Missed,
    /// The time of the event before it.
    last: u64,
}

impl Lane<'_> {
    /// Finds the next event, over the ends of pages.
    #[inline]
    fn find(&mut self) {
        let endian = self.pages.endian();
        if let Some((time, _)) = &self.next {
            self.last = *time;
        }
        loop {
            if let Some(walk) = &mut self.walk {
                let data = self.pages.unpacked().get(self.data.clone()).unwrap_or_default();
                if let Some(event) = walk.next(data, endian) {
                    // The record ends where the walk stands, or up to three bytes before, where words end.
                    let begin = event.data.as_ptr().addr() - data.as_ptr().addr();
                    let time = match self.timed {
                        None => event.time,
                        Some(options) => options.time_ns(self.cpu, event.time),
                    };
                    self.next = Some((time, begin..begin + event.data.len()));
                    return;
                }
                let unread = walk.unread(data);
                self.pages.lose(unread);
            }
            (self.walk, self.next) = (None, None);
            let Some(place) = self.pages.advance() else { return };
            (self.data, self.walk) = (place.data, Some(place.walk));
            if place.missed != Missed::Nothing {
                self.missed = place.missed;
            }
        }
    }

    /// When it is its turn: at its next event, or where what was lost before it begins. None at its end.
    fn due(&self) -> Option<u64> {
        let (time, _) = self.next.as_ref()?;
        Some(if self.missed == Missed::Nothing { *time } else { self.last.min(*time) })
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
    /// Whether the event of the one at turn was given already.
    given: bool,
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
            let (data, missed) = (0..0, Missed::Nothing);
            Lane { cpu, pages, timed, data, walk: None, next: None, missed, last: 0 }
        };
        let mut lanes: Vec<Lane<'a>> = all.into_iter().map(lane).collect();
        lanes.iter_mut().for_each(Lane::find);
        let due = lanes.iter().enumerate().filter_map(|(at, lane)| Some(Reverse((lane.due()?, at))));
        let waiting = due.collect();
        let mut merge = Self { lanes, lane: usize::MAX, until: 0, waiting, given: false, backwards: 0, last: 0 };
        merge.choose();
        merge
    }

    /// Chooses the lane that goes next.
    fn choose(&mut self) {
        let due = self.lanes.get(self.lane).and_then(Lane::due);
        self.lane = match (due, self.waiting.peek_mut()) {
            // It waits where the one was that goes: the heap is put in order once.
            (Some(due), Some(mut first)) => std::mem::replace(&mut *first, Reverse((due, self.lane))).0.1,
            (Some(_), None) => self.lane,
            (None, Some(first)) => PeekMut::pop(first).0.1,
            (None, None) => usize::MAX,
        };
        self.until = self.waiting.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
    }

    /// What comes next in time.
    #[inline]
    pub fn step(&mut self) -> Option<Step<'_>> {
        if std::mem::take(&mut self.given) {
            let lane = self.lanes.get_mut(self.lane)?;
            lane.find();
            if lane.due().is_none_or(|due| due > self.until) {
                self.choose();
            }
        }
        if let Some((cpu, since, until, missed)) = self.lost_before()? {
            return Some(Step::Lost { cpu, since, until, missed });
        }
        let lane = self.lanes.get_mut(self.lane)?;
        let (time, record) = lane.next.clone()?;
        self.given = true;
        self.backwards += u64::from(time < self.last);
        self.last = time;
        let data = lane.pages.unpacked().get(lane.data.clone())?.get(record)?;
        Some(Step::Event { cpu: lane.cpu, event: Event { time, data } })
    }

    /// All that comes, in time: what a CPU wrote before any other's next event is taken in one run, without a look at the
    /// others.
    pub fn each(&mut self, mut take: impl FnMut(Step<'_>)) {
        while let Some(lost) = self.lost_before() {
            if let Some((cpu, since, until, missed)) = lost {
                take(Step::Lost { cpu, since, until, missed });
                continue;
            }
            if self.run(&mut take).is_none() {
                return;
            }
        }
    }

    /// The run of the lane at turn, at most to the end of its page.
    #[inline]
    fn run(&mut self, take: &mut impl FnMut(Step<'_>)) -> Option<()> {
        let lane = self.lanes.get_mut(self.lane)?;
        let endian = lane.pages.endian();
        let data = lane.pages.unpacked().get(lane.data.clone())?;
        let (mut time, record) = lane.next.clone()?;
        let mut record = data.get(record)?;
        let mut walk = lane.walk?;
        loop {
            self.backwards += u64::from(time < self.last);
            self.last = time;
            take(Step::Event { cpu: lane.cpu, event: Event { time, data: record } });
            let Some(event) = walk.next(data, endian) else { break };
            lane.last = time;
            time = lane.timed.map_or(event.time, |options| options.time_ns(lane.cpu, event.time));
            record = event.data;
            if time > self.until {
                let begin = record.as_ptr().addr() - data.as_ptr().addr();
                (lane.next, lane.walk) = (Some((time, begin..begin + record.len())), Some(walk));
                self.choose();
                return Some(());
            }
        }
        (lane.next, lane.walk) = (Some((time, 0..0)), Some(walk));
        lane.find();
        if lane.due().is_none_or(|due| due > self.until) {
            self.choose();
        }
        Some(())
    }

    /// What was lost before the next event of the lane at turn, told once. None at the end of all.
    #[inline]
    #[allow(clippy::type_complexity)]
    fn lost_before(&mut self) -> Option<Option<(u32, u64, u64, Missed)>> {
        let lane = self.lanes.get_mut(self.lane)?;
        if lane.missed == Missed::Nothing {
            return Some(None);
        }
        let missed = std::mem::replace(&mut lane.missed, Missed::Nothing);
        let until = lane.next.as_ref().map_or(lane.last, |(time, _)| *time);
        let lost = (lane.cpu, lane.last.min(until), until, missed);
        // What it goes on with may be later than others.
        if until > self.until {
            self.choose();
        }
        Some(Some(lost))
    }

    /// How often time went back.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// What could not be read, CPU by CPU.
    pub fn lost(&self) -> impl Iterator<Item = (u32, &Bad)> {
        self.lanes.iter().flat_map(|lane| lane.pages.lost().iter().map(|bad| (lane.cpu, bad)))
    }
}
