//! A CPU's pages, with the current position in them.

use super::Lost;
use crate::{
    bytes::Endian,
    file::{Options, Pages},
    page::{Event, Events, Missed},
};
use std::ops::Range;

/// An event by its place in the data of its page. The lane stores the data separately. The walk continues where the event ends.
#[derive(Clone, Copy, Debug, Default)]
struct Placed {
    time: u64,
    /// The time as the page stores it: the next event counts from it.
    stored: u64,
    /// Its end, as an offset in the data.
    end: usize,
    length: usize,
}

impl Placed {
    #[inline(always)]
    fn of(event: &Event<'_>, events: &Events<'_>, data: &[u8]) -> Self {
        let end = data.len() - events.left();
        Self { time: event.time, stored: events.time(), end, length: event.data.len() }
    }

    /// Returns the event, and the events after it.
    #[inline(always)]
    fn event<'d>(&self, data: &'d [u8], endian: Endian) -> Option<(Event<'d>, Events<'d>)> {
        let (before, rest) = data.split_at_checked(self.end)?;
        let (_, data) = before.split_at_checked(before.len().checked_sub(self.length)?)?;
        Some((Event { time: self.time, data }, Events::behind(rest, self.stored, endian)))
    }
}

/// The data of a page: a slice of the file itself, or a place in the unpacked bytes.
#[derive(Debug)]
enum Data<'a> {
    Plain(&'a [u8]),
    Packed(Range<usize>),
}

impl Data<'_> {
    #[inline(always)]
    fn of<'d>(&'d self, pages: &'d Pages<'_>) -> &'d [u8] {
        match self {
            Self::Plain(data) => data,
            Self::Packed(place) => pages.unpacked().get(place.clone()).unwrap_or_default(),
        }
    }
}

/// A CPU's pages, with the current position in them.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    pub cpu: u32,
    pub pages: Pages<'a>,
    /// The file's corrections of times; `None` if the stored times stay as they are.
    timed: Option<&'a Options>,
    /// The current page.
    data: Data<'a>,
    /// The next event; meaningless once `ended` is true.
    coming: Placed,
    ended: bool,
    /// What was lost before the next event.
    missed: Missed,
    /// The time of the previous event.
    last: u64,
    /// The latest time that an event of this page can have: the next page starts before it, apart from the slack.
    limit: u64,
    /// How many places of its pages could not be read at the last check.
    told: u64,
}

/// How much later than the next page's start an event may be, in the clock's units: a millisecond if it counts ns. An event whose writer is
/// interrupted may be late, but not that late.
const SLACK: u64 = 1 << 20;

impl<'a> Lane<'a> {
    /// Starts before the first event of these pages.
    pub fn of(cpu: u32, pages: Pages<'a>, timed: Option<&'a Options>) -> Self {
        let (coming, missed) = (Placed::default(), Missed::Nothing);
        let (data, limit) = (Data::Plain(&[]), u64::MAX);
        let mut lane = Self { cpu, pages, timed, data, coming, ended: false, missed, last: 0, limit, told: 0 };
        lane.turn_pages(0);
        lane
    }

    /// Passes its events up to `until` to `take`, at least one. Returns when the lane is due again.
    #[inline(always)]
    pub fn go(&mut self, endian: Endian, until: u64, mut take: impl FnMut(u32, Event<'_>)) -> Option<u64> {
        let until = until.min(self.limit);
        let data = self.data.of(&self.pages);
        let (cpu, timed) = (self.cpu, self.timed);
        let (mut event, mut events) = self.coming.event(data, endian)?;
        loop {
            // The place of the next event does not depend on what `take` does with this one: the processor can look for it meanwhile.
            let next = events.step(endian);
            let time = event.time;
            take(cpu, event);
            let Some(next) = next else {
                self.last = time;
                let unread = events.unread();
                self.turn_pages(unread);
                return self.due();
            };
            event = next;
            if let Some(options) = timed {
                event.time = options.time_ns(cpu, event.time);
            }
            if event.time > until {
                (self.coming, self.last) = (Placed::of(&event, &events, data), time);
                return if event.time > self.limit { self.jump() } else { Some(event.time) };
            }
        }
    }

    /// Skips the rest of its page, because its next time is impossible.
    #[cold]
    #[inline(never)]
    fn jump(&mut self) -> Option<u64> {
        let left = self.data.of(&self.pages).len().saturating_sub(self.coming.end) + self.coming.length;
        self.pages.lose(&format!("{left} bytes of a page are later than the next page"));
        self.turn_pages(0);
        self.due()
    }

    /// Converts a stored time to ns, if the file states how.
    fn time(&self, stored: u64) -> u64 {
        self.timed.map_or(stored, |options| options.time_ns(self.cpu, stored))
    }

    /// Moves over the end of a page to the next event. `unread` bytes of the page could not be read. Whatever the lane skips on the way
    /// counts as missing.
    #[inline(never)]
    fn turn_pages(&mut self, unread: usize) {
        let known = self.told;
        self.pages.unread(unread);
        self.next_event();
        self.told = self.pages.lost().count();
        if (self.told > known || self.ended && self.pages.is_cut()) && self.missed == Missed::Nothing {
            self.missed = Missed::Some;
        }
    }

    fn next_event(&mut self) {
        loop {
            let Some(place) = self.pages.advance() else {
                self.ended = true;
                return;
            };
            let (begin, behind) = (self.time(place.time), place.behind.map(|time| self.time(time)));
            // A page's time must be between those of its neighbours. If it is not, and the two neighbours are in order, the page is
            // garbage.
            let before = begin < self.last.saturating_sub(SLACK);
            let garbage = match behind {
                Some(behind) => behind >= self.last && (before || begin > behind.saturating_add(SLACK)),
                None => before,
            };
            if garbage {
                self.pages.lose("the time of a page is not between those of its neighbours");
                continue;
            }
            self.limit =
                behind.filter(|behind| *behind >= begin).map_or(u64::MAX, |behind| behind.saturating_add(SLACK));
            if place.missed != Missed::Nothing {
                self.missed = place.missed;
            }
            let plain = self.pages.plain().map(|bytes| Data::Plain(bytes.get(place.data.clone()).unwrap_or_default()));
            self.data = plain.unwrap_or(Data::Packed(place.data));
            let data = self.data.of(&self.pages);
            let mut events = Events::behind(data, place.time, self.pages.endian());
            if let Some(mut event) = events.next() {
                event.time = self.time(event.time);
                self.coming = Placed::of(&event, &events, data);
                return;
            }
            let unread = events.unread();
            self.pages.unread(unread);
        }
    }

    /// Returns what was lost before its next event, once.
    #[inline(always)]
    pub fn lost(&mut self) -> Option<Lost> {
        if self.missed == Missed::Nothing {
            return None;
        }
        let missed = std::mem::replace(&mut self.missed, Missed::Nothing);
        let until = (!self.ended).then_some(self.coming.time);
        Some(Lost { cpu: self.cpu, since: until.map_or(self.last, |until| self.last.min(until)), until, missed })
    }

    /// Returns the time of its next event.
    pub fn first(&self) -> Option<u64> {
        (!self.ended).then_some(self.coming.time)
    }

    /// Returns when the lane is due: at its next event, or at the start of a loss before that. Returns `None` at its end.
    #[inline(always)]
    pub fn due(&self) -> Option<u64> {
        let time = if self.ended { u64::MAX } else { self.coming.time };
        let due = if self.missed == Missed::Nothing { time } else { self.last.min(time) };
        (!self.ended || self.missed != Missed::Nothing).then_some(due)
    }
}
