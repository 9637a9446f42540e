//! Collects what a text reports as lost, and between which of its events.
//!
//! A line that reports a loss is before the next event of its CPU, and the loss happened after the CPU's previous event. So latido reads a
//! whole text before it pairs anything.

use super::{event::Time, header::Header, line::Line};
use crate::{
    accounts::{Accounts, Source},
    file::Statistics,
    merge::Lost,
    page::Missed,
};
use std::collections::{BTreeMap, BTreeSet};

/// The most places that latido keeps; if there are more, nothing is certain from the last place on.
const MOST: usize = 1 << 16;

/// Missing events, by their place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The number of preceding events in the text that have a time.
    pub after: u64,
    /// The loss: its start, its end and its size. `Missed::Nothing` if the header has counted it.
    pub lost: Lost,
}

/// The reports of losses in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    accounts: Accounts,
    statistics: Statistics,
    places: Vec<Gap>,
    events: u64,
    /// The last event of each CPU: its time, and the number of events up to it.
    last: BTreeMap<u32, (u64, u64)>,
    /// Losses whose CPU has had no event since.
    open: BTreeMap<u32, Vec<Missed>>,
    of: OfHeader,
}

/// The state of the last header, and of the events below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfHeader {
    ordinal: u64,
    /// Its first event: the time, and the number of events before it.
    first: Option<(u64, u64)>,
    /// Whether more was written than the text has.
    overrun: bool,
    counted: bool,
    /// CPUs that have had an event.
    begun: BTreeSet<u32>,
    /// CPUs whose buffer starts later than the text, as a line reports.
    started: BTreeSet<u32>,
}

impl Gaps {
    /// Adds a line.
    pub fn take(&mut self, header: &Header, line: &Line<'_>) {
        if self.of.ordinal != header.ordinal {
            self.of = OfHeader { ordinal: header.ordinal, ..OfHeader::default() };
        }
        match line {
            Line::Header => self.header(header),
            Line::Event(event) => {
                if let Time::Clock(time) | Time::SinceFirst(time) = event.time {
                    self.event(event.cpu, time);
                }
            }
            Line::Lost { cpu, count } => {
                let missed = count.map_or(Missed::Some, Missed::Events);
                self.accounts.lost(Source::Lines, Some(*cpu), missed);
                if self.open.len() < MOST {
                    let open = self.open.entry(*cpu).or_default();
                    if open.len() < MOST {
                        open.push(missed);
                    }
                }
            }
            Line::Started { cpu } => {
                if !self.of.counted {
                    self.accounts.lost(Source::Header, Some(*cpu), Missed::Some);
                }
                if self.of.started.len() < MOST {
                    self.of.started.insert(*cpu);
                }
            }
            Line::Counted { cpu, count } if *count > 0 => {
                self.accounts.lost(Source::Statistics, Some(*cpu), Missed::Events(*count));
            }
            Line::Statistic { name, value } => self.statistics.take(name, value, "", &mut self.accounts),
            Line::Total(super::Total::Dropped(0)) => self.accounts.none(Source::Histogram),
            Line::Total(super::Total::Dropped(count)) => {
                self.accounts.lost(Source::Histogram, None, Missed::Events(*count));
            }
            _ => {}
        }
    }

    /// Adds the header's counts, once.
    fn header(&mut self, header: &Header) {
        let (Some(entries), Some(written)) = (header.entries, header.written) else { return };
        if std::mem::replace(&mut self.of.counted, true) {
            return;
        }
        match written.checked_sub(entries) {
            Some(lost) if lost > 0 => {
                self.of.overrun = true;
                self.accounts.lost(Source::Header, None, Missed::Events(lost));
            }
            _ => self.accounts.none(Source::Header),
        }
    }

    fn event(&mut self, cpu: u32, time: u64) {
        let (first, begin) = *self.of.first.get_or_insert((time, self.events));
        // The overwritten events were older than the first event of its CPU.
        let late = self.of.overrun || self.of.started.contains(&cpu);
        if late && !self.of.begun.contains(&cpu) && self.events > begin {
            let lost = Lost { cpu, since: first.min(time), until: Some(time), missed: Missed::Nothing };
            self.place(Gap { after: begin, lost });
        }
        if self.of.begun.len() < MOST {
            self.of.begun.insert(cpu);
        }
        if let Some(open) = self.open.remove(&cpu) {
            let (since, after) = self.last.get(&cpu).copied().unwrap_or((first, begin));
            for missed in open {
                let lost = Lost { cpu, since: since.min(time), until: Some(time), missed };
                self.place(Gap { after, lost });
            }
        }
        self.events += 1;
        if self.last.len() < MOST || self.last.contains_key(&cpu) {
            self.last.insert(cpu, (time, self.events));
        }
    }

    fn place(&mut self, gap: Gap) {
        if self.places.len() < MOST {
            self.places.push(gap);
        } else if let Some(last) = self.places.last_mut() {
            // From there on nothing is certain.
            last.after = last.after.min(gap.after);
            last.lost.since = last.lost.since.min(gap.lost.since);
            last.lost.until = None;
        }
    }

    /// Ends the text: a loss lasts until the end if its CPU has no event after it.
    pub fn finish(&mut self) {
        let (first, begin) = self.of.first.unwrap_or_default();
        for (cpu, open) in std::mem::take(&mut self.open) {
            let (since, after) = self.last.get(&cpu).copied().unwrap_or((first, begin));
            for missed in open {
                self.place(Gap { after, lost: Lost { cpu, since, until: None, missed } });
            }
        }
        self.places.sort_by_key(|gap| gap.after);
        self.statistics.finish(&mut self.accounts);
    }

    /// Returns what each source reports.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Returns where events are missing, in the order of the text; complete after [`Gaps::finish`].
    pub fn places(&self) -> &[Gap] {
        &self.places
    }
}
