//! The events of several CPUs in the order of time.
//!
//! A wake-up begins on one CPU and ends on another: whoever pairs events needs them in one order.

use crate::{
    bytes::Bad,
    file::Pages,
    page::{Event, Missed, Walk},
};
use std::ops::Range;

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
    /// The CPU's ring was full: from its last event up to this time others were lost.
    Lost {
        /// The CPU.
        cpu: u32,
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
    /// The page it is in: where its data lies.
    data: Range<usize>,
    walk: Option<Walk>,
    /// The next event: its time, and where its record lies in the page's data.
    next: Option<(u64, Range<usize>)>,
    /// What was lost before it.
    missed: Missed,
}

impl Lane<'_> {
    /// Finds the next event, over the ends of pages.
    #[inline]
    fn find(&mut self) {
        let endian = self.pages.endian();
        loop {
            if let Some(walk) = &mut self.walk {
                let data = self.pages.unpacked().get(self.data.clone()).unwrap_or_default();
                if let Some(event) = walk.next(data, endian) {
                    // The record ends where the walk stands, or up to three bytes before, where words end.
                    let begin = event.data.as_ptr().addr() - data.as_ptr().addr();
                    self.next = Some((event.time, begin..begin + event.data.len()));
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

    fn time(&self) -> u64 {
        self.next.as_ref().map_or(u64::MAX, |(time, _)| *time)
    }
}

/// Walks through all CPUs at once.
#[derive(Debug)]
pub struct Merge<'a> {
    lanes: Vec<Lane<'a>>,
    /// The lane with the earliest next event, and up to when it stays the earliest.
    lane: usize,
    until: u64,
    /// Whether its next event was given already.
    given: bool,
    backwards: u64,
    last: u64,
}

impl<'a> Merge<'a> {
    /// Of the pages of each CPU.
    pub fn of(all: impl IntoIterator<Item = (u32, Pages<'a>)>) -> Self {
        let lane = |(cpu, pages)| Lane { cpu, pages, data: 0..0, walk: None, next: None, missed: Missed::Nothing };
        let mut lanes: Vec<Lane<'a>> = all.into_iter().map(lane).collect();
        lanes.iter_mut().for_each(Lane::find);
        let mut merge = Self { lanes, lane: 0, until: 0, given: false, backwards: 0, last: 0 };
        merge.choose();
        merge
    }

    /// Chooses the lane that goes next.
    fn choose(&mut self) {
        let (mut first, mut second) = ((u64::MAX, 0), u64::MAX);
        for (index, lane) in self.lanes.iter().enumerate() {
            let time = lane.time();
            if time < first.0 {
                second = first.0;
                first = (time, index);
            } else {
                second = second.min(time);
            }
        }
        (self.lane, self.until) = (first.1, second);
    }

    /// What comes next in time.
    #[inline]
    pub fn step(&mut self) -> Option<Step<'_>> {
        if std::mem::take(&mut self.given) {
            let lane = self.lanes.get_mut(self.lane)?;
            lane.find();
            if lane.next.is_none() || lane.time() > self.until {
                self.choose();
            }
        }
        let lane = self.lanes.get_mut(self.lane)?;
        let (time, record) = lane.next.clone()?;
        if lane.missed != Missed::Nothing {
            let missed = std::mem::replace(&mut lane.missed, Missed::Nothing);
            return Some(Step::Lost { cpu: lane.cpu, until: time, missed });
        }
        self.given = true;
        self.backwards += u64::from(time < self.last);
        self.last = time;
        let data = lane.pages.unpacked().get(lane.data.clone())?.get(record)?;
        Some(Step::Event { cpu: lane.cpu, event: Event { time, data } })
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
