//! Series that latido fills from a recording afterwards: nothing here is real-time.

use super::{
    looped::Interval,
    series::{OpenSeries, Part},
};
use anyhow::{Context, Result, ensure};
use latido_model::protocol::ThreadProgress;
use latido_rt::Recorder;
use latido_trace::pairing::Met;
use std::collections::BTreeMap;

/// The most series: each has a histogram, and a table of more is too long to read.
const MOST: usize = 256;

/// How often finished blocks are taken over, ns: a recorder has room for a minute of them.
const DRAIN: u64 = 10_000_000_000;

/// Which series of a [`Gathered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

/// All series of a cell.
pub struct Gathered {
    interval: Interval,
    series: Vec<Filled>,
}

/// A series with its recorder and its reader.
struct Filled {
    recorder: Recorder,
    open: OpenSeries,
    drained: u64,
    facts: BTreeMap<String, i64>,
}

impl Gathered {
    /// Starts without series. Samples count if they are within this interval.
    pub fn over(interval: Interval) -> Self {
        Self { interval, series: Vec::new() }
    }

    /// Returns the interval in which samples count.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Shortens the interval: samples that end later do not count.
    pub fn until(&mut self, ended_ns: u64) {
        self.interval.ended_ns = self.interval.ended_ns.min(ended_ns).max(self.interval.first_slot_ns);
    }

    /// Returns the progress of each series.
    pub fn progress(&self) -> Vec<ThreadProgress> {
        let of = |filled: &Filled| {
            let glance = filled.open.reader.glance();
            ThreadProgress {
                cpu: filled.open.cpu,
                name: filled.open.to_string(),
                unit: Some(filled.open.quantity.unit.to_string()).filter(|unit| unit != "ns"),
                count: glance.count,
                now: glance.last,
                max: glance.max,
                missed: glance.missed,
                ..ThreadProgress::default()
            }
        };
        self.series.iter().map(of).collect()
    }

    /// Marks a series as not periodic: its slots were not counted.
    pub fn unslotted(&mut self, place: Place) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.open.quantity.periodic = false;
        }
    }

    /// Adds a series ([`super::Stage::series`]), identified by labels.
    ///
    /// # Errors
    /// There are too many series.
    pub fn open(&mut self, ends: (Recorder, OpenSeries), labels: &[(&str, &str)]) -> Result<Place> {
        self.open_on(ends, None, labels)
    }

    /// Adds a series like [`Gathered::open`], for a CPU.
    ///
    /// # Errors
    /// As [`Gathered::open`].
    pub fn open_on(
        &mut self,
        ends: (Recorder, OpenSeries),
        cpu: Option<u32>,
        labels: &[(&str, &str)],
    ) -> Result<Place> {
        self.open_as(ends, 0, cpu, labels)
    }

    /// Adds a series like [`Gathered::open_on`], for a thread.
    ///
    /// # Errors
    /// As [`Gathered::open`].
    pub fn open_as(
        &mut self,
        ends: (Recorder, OpenSeries),
        thread: u32,
        cpu: Option<u32>,
        labels: &[(&str, &str)],
    ) -> Result<Place> {
        ensure!(self.series.len() < MOST, "there are more than {MOST} series; name fewer");
        let (mut recorder, open) = ends;
        recorder.reset();
        let open = labels.iter().fold(open.on(thread, cpu), |open, (key, value)| open.label(key, value));
        self.series.push(Filled { recorder, open, drained: 0, facts: BTreeMap::new() });
        Ok(Place(self.series.len() - 1))
    }

    /// Adds the duration from `begin` to `end` on CLOCK_MONOTONIC. It does not count if it begins before the interval or ends after it.
    pub fn lasted(&mut self, place: Place, begin: u64, end: u64) {
        self.sample(place, i64::try_from(end.saturating_sub(begin)).unwrap_or(i64::MAX), begin, end);
    }

    /// Adds a sample with its own value, taken from something that lasted from `begin` to `end`.
    pub fn sample(&mut self, place: Place, value: i64, begin: u64, end: u64) {
        let counts = self.covers(begin, end);
        let Some(filled) = self.series.get_mut(place.0).filter(|_| counts) else { return };
        let at = end.saturating_sub(self.interval.first_slot_ns);
        filled.recorder.sample(value, at);
        if at.saturating_sub(filled.drained) > DRAIN {
            filled.drained = at;
            filled.open.reader.drain();
        }
    }

    /// Adds a slot of a periodic series: a sample that lasted from `begin` to `end`, late for its deadline or not.
    pub fn slot(&mut self, place: Place, value: u64, late: bool, begin: u64, end: u64) {
        self.sample(place, i64::try_from(value).unwrap_or(i64::MAX), begin, end);
        let counts = late && self.covers(begin, end);
        if let Some(filled) = self.series.get_mut(place.0).filter(|_| counts) {
            filled.recorder.sample_was_late();
        }
    }

    /// Adds a missed slot of a periodic series: the next job came `delay` ns late for it.
    pub fn missed(&mut self, place: Place, delay: u64) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.recorder.missed(delay);
        }
    }

    /// Adds `count` missed slots of a periodic series. The next job came `delay` ns late for the first of them, and `step` ns less for each
    /// following one.
    pub fn missed_in_turn(&mut self, place: Place, delay: u64, step: u64, count: u64) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.recorder.missed_in_turn(delay, step, count);
        }
    }

    /// Whether a sample from `begin` to `end` counts.
    pub fn covers(&self, begin: u64, end: u64) -> bool {
        begin >= self.interval.first_slot_ns && end <= self.interval.ended_ns
    }

    /// Returns how many more series are possible.
    pub fn room(&self) -> usize {
        MOST - self.series.len().min(MOST)
    }

    /// Sets a whole-numbered fact of a series.
    pub fn fact(&mut self, place: Place, name: &str, value: u64) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.facts.insert(name.into(), i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// Adds the trace's losses, and the pairs that are unknown because of them, as facts of every series.
    pub fn met(&mut self, met: &Met) {
        for filled in &mut self.series {
            for (name, value) in [("lost", met.lost + met.uncounted), ("voided", met.unpaired.voided)] {
                filled.facts.insert(name.into(), i64::try_from(value).unwrap_or(i64::MAX));
            }
            // A probe that follows single tasks has already set this fact.
            let unseen = i64::try_from(met.unpaired.unseen).unwrap_or(i64::MAX);
            filled.facts.entry("unseen".into()).or_insert(unseen);
        }
    }

    /// Returns the finished series, numbered from `from` on.
    pub(super) fn parts(mut self, from: usize) -> impl Iterator<Item = Result<Part>> {
        self.close();
        self.series.into_iter().enumerate().map(move |(number, mut filled)| {
            let snapshot = filled.open.reader.snapshot().context("the memory of a finished series is not at rest")?;
            let mut facts = filled.open.stated(&snapshot);
            facts.append(&mut filled.facts);
            filled.open.part(from + number, &snapshot, 0, facts)
        })
    }

    /// Closes all series.
    fn close(&mut self) {
        let length = self.interval.ended_ns.saturating_sub(self.interval.first_slot_ns);
        self.series.iter_mut().for_each(|filled| filled.recorder.close(length));
    }
}
