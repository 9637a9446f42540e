//! Lost events: which source reports them, for which CPU, and how many.

use crate::page::Missed;
use std::collections::{BTreeMap, BTreeSet};

/// A source that reports that events were lost, or that none were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The pages of a file: the kernel marks a page before which events are missing. A page that latido cannot read is also such a loss.
    Pages,
    /// Lines among the events: `CPU:1 [LOST 5 EVENTS]`, `CPU:1 [5 EVENTS DROPPED]`.
    Lines,
    /// The header of a text: `entries-in-buffer/entries-written`, and where the buffer of a CPU started.
    Header,
    /// The kernel's counts per CPU: `per_cpu/cpuN/stats`.
    Statistics,
    /// The part of the kernel's counts for events that it did not even write, because the ring was full. No source reports where they are
    /// missing.
    Dropped,
    /// The total below a histogram: `Dropped`.
    Histogram,
    /// Times that go backwards.
    Order,
}

impl Source {
    /// Returns the name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pages => "the pages",
            Self::Lines => "lines of the text",
            Self::Header => "the header",
            Self::Statistics => "the kernel's counts",
            Self::Dropped => "the kernel's counts of events that were not written",
            Self::Histogram => "the histogram's total",
            Self::Order => "times that go back",
        }
    }

    /// Returns the name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Lines => "lines",
            Self::Header => "header",
            Self::Statistics => "statistics",
            Self::Dropped => "dropped",
            Self::Histogram => "histogram",
            Self::Order => "order",
        }
    }

    /// Returns whether the source reports where the events are missing.
    fn places(self) -> bool {
        matches!(self, Self::Pages | Self::Lines | Self::Order)
    }
}

/// What a source reports about one CPU, or about all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// How many losses there are.
    pub times: u64,
    /// How many events are lost, as far as they were counted.
    pub events: u64,
    /// How many of the losses have no count.
    pub uncounted: u64,
}

/// The most pairs of source and CPU that latido keeps apart.
const MOST: usize = 1 << 16;

/// The reports of all sources of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    said: BTreeMap<(Source, Option<u32>), Said>,
    none: Vec<Source>,
}

impl Accounts {
    /// Records that a source reports lost events.
    pub fn lost(&mut self, source: Source, cpu: Option<u32>, missed: Missed) {
        let cpu = if self.said.len() < MOST { cpu } else { None };
        let said = self.said.entry((source, cpu)).or_default();
        said.times += 1;
        match missed {
            Missed::Events(count) => said.events = said.events.saturating_add(count),
            Missed::Some | Missed::Nothing => said.uncounted += 1,
        }
    }

    /// Records that a source reports that nothing is lost.
    pub fn none(&mut self, source: Source) {
        if !self.none.contains(&source) {
            self.none.push(source);
        }
    }

    /// Adds the reports of other sources.
    pub fn join(&mut self, other: &Self) {
        for (place, said) in &other.said {
            let all = self.said.entry(*place).or_default();
            all.times += said.times;
            all.events = all.events.saturating_add(said.events);
            all.uncounted += said.uncounted;
        }
        other.none.iter().for_each(|source| self.none(*source));
    }

    /// Returns what each source reports, by CPU.
    pub fn said(&self) -> impl Iterator<Item = (Source, Option<u32>, Said)> {
        self.said.iter().map(|((source, cpu), said)| (*source, *cpu, *said))
    }

    /// Returns whether any source reports that events are lost.
    pub fn any(&self) -> bool {
        !self.said.is_empty()
    }

    /// Returns the source that reports that nothing is lost, provided that no source reports a loss.
    pub fn none_by(&self) -> Option<Source> {
        if self.any() { None } else { self.none.iter().max().copied() }
    }

    /// Returns how many losses have a known place.
    pub fn gaps(&self) -> u64 {
        self.said().filter(|(source, ..)| source.places()).map(|(_, _, said)| said.times).sum()
    }

    /// Returns how many events are missing at known places, and how many of these losses have no count.
    pub fn placed(&self) -> (u64, u64) {
        let placed = |(events, uncounted): (u64, u64), (placed, counted, _): &(Said, Said, Said)| {
            let covered = counted.events > 0 && counted.events >= placed.events;
            let more = if placed.times > 0 { placed.events.max(counted.events) } else { 0 };
            (events.saturating_add(more), uncounted + if covered { 0 } else { placed.uncounted })
        };
        self.by_cpu().values().fold((0, 0), placed)
    }

    /// Returns how many events are lost, as far as they were counted. Places and the kernel's counts report the same loss of a CPU: the
    /// larger number counts.
    pub fn events(&self) -> u64 {
        self.by_cpu().values().fold(0, |sum, (placed, counted, others)| {
            sum.saturating_add(placed.events.max(counted.events)).saturating_add(others.events)
        })
    }

    /// Returns how many losses have no count: neither the source that placed them nor the kernel's counts of that CPU give one.
    pub fn uncounted(&self) -> u64 {
        let uncounted = |(placed, counted, others): &(Said, Said, Said)| {
            let covered = counted.events > 0 && counted.events >= placed.events;
            others.uncounted + if covered { 0 } else { placed.uncounted }
        };
        self.by_cpu().values().map(uncounted).sum()
    }

    /// Returns the CPUs that lost events at unknown places.
    pub fn unplaced(&self) -> Vec<u32> {
        let counted = |(cpu, (placed, counted, _)): (&Option<u32>, &(Said, Said, Said))| {
            cpu.filter(|_| counted.events > 0 && placed.times == 0)
        };
        let dropped = self.said.keys().filter(|(source, _)| *source == Source::Dropped).filter_map(|(_, cpu)| *cpu);
        let all: BTreeSet<u32> = self.by_cpu().iter().filter_map(counted).chain(dropped).collect();
        all.into_iter().collect()
    }

    /// Returns three reports per CPU: the losses with a place, the kernel's counts, all others.
    fn by_cpu(&self) -> BTreeMap<Option<u32>, (Said, Said, Said)> {
        let mut all = BTreeMap::<Option<u32>, (Said, Said, Said)>::new();
        for (source, cpu, said) in self.said() {
            let (placed, counted, others) = all.entry(cpu).or_default();
            let of = match source {
                source if source.places() => placed,
                Source::Statistics => counted,
                _ => others,
            };
            of.times += said.times;
            of.events = of.events.saturating_add(said.events);
            of.uncounted += said.uncounted;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The larger number of two sources counts for a CPU. A loss that the kernel counted no longer lacks a count.
    #[test]
    fn the_kernels_counts_cover_gaps_that_nobody_counted() {
        let mut accounts = Accounts::default();
        accounts.lost(Source::Pages, Some(0), Missed::Events(198_472));
        accounts.lost(Source::Pages, Some(0), Missed::Some);
        assert_eq!((accounts.gaps(), accounts.events(), accounts.uncounted()), (2, 198_472, 1));
        accounts.lost(Source::Statistics, Some(0), Missed::Events(392_900));
        assert_eq!((accounts.gaps(), accounts.events(), accounts.uncounted()), (2, 392_900, 0));
        assert_eq!(accounts.unplaced(), [] as [u32; 0]);
        accounts.lost(Source::Statistics, Some(1), Missed::Events(5));
        assert_eq!((accounts.events(), accounts.unplaced()), (392_905, vec![1]));
        accounts.lost(Source::Dropped, Some(0), Missed::Events(2));
        assert_eq!((accounts.events(), accounts.unplaced()), (392_907, vec![0, 1]));
    }

    /// A report that nothing is lost counts only if no source reports a loss.
    #[test]
    fn nothing_is_lost_where_somebody_says_so() {
        let mut accounts = Accounts::default();
        assert_eq!(accounts.none_by(), None);
        accounts.none(Source::Header);
        assert_eq!(accounts.none_by(), Some(Source::Header));
        accounts.lost(Source::Lines, Some(3), Missed::Some);
        assert_eq!((accounts.none_by(), accounts.uncounted()), (None, 1));
    }
}
