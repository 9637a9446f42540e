//! Series that are filled from what was recorded, when all is over: nothing here is real-time.

use super::{
    looped::Interval,
    series::{OpenSeries, Part},
};
use anyhow::{Context, Result, ensure};
use latido_model::protocol::ThreadProgress;
use latido_rt::Recorder;
use latido_trace::pairing::Met;
use std::collections::BTreeMap;

/// So many series are told apart: each has a histogram of its own, and a table of more is read by nobody.
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

/// A series with both its ends.
struct Filled {
    recorder: Recorder,
    open: OpenSeries,
    drained: u64,
    facts: BTreeMap<String, i64>,
}

impl Gathered {
    /// None yet; samples are counted that lie in this interval.
    pub fn over(interval: Interval) -> Self {
        Self { interval, series: Vec::new() }
    }

    /// From when to when samples are counted.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Nothing counts that ends later than this.
    pub fn until(&mut self, ended_ns: u64) {
        self.interval.ended_ns = self.interval.ended_ns.min(ended_ns).max(self.interval.first_slot_ns);
    }

    /// How each series goes, for who looks on.
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

    /// The slots of a series were no slots: nobody counted those that passed.
    pub fn unslotted(&mut self, place: Place) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.open.quantity.periodic = false;
        }
    }

    /// A further series ([`super::Stage::series`]), told apart by labels.
    ///
    /// # Errors
    /// There are too many.
    pub fn open(&mut self, ends: (Recorder, OpenSeries), labels: &[(&str, &str)]) -> Result<Place> {
        self.open_on(ends, None, labels)
    }

    /// As [`Gathered::open`], of a CPU.
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

    /// As [`Gathered::open_on`], of a thread.
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
        ensure!(self.series.len() < MOST, "there are more than {MOST} series to tell apart; name fewer");
        let (mut recorder, open) = ends;
        recorder.reset();
        let open = labels.iter().fold(open.on(thread, cpu), |open, (key, value)| open.label(key, value));
        self.series.push(Filled { recorder, open, drained: 0, facts: BTreeMap::new() });
        Ok(Place(self.series.len() - 1))
    }

    /// A sample that lasted from then to then on CLOCK_MONOTONIC. What began before the interval or ended behind it is none.
    pub fn lasted(&mut self, place: Place, begin: u64, end: u64) {
        self.sample(place, i64::try_from(end.saturating_sub(begin)).unwrap_or(i64::MAX), begin, end);
    }

    /// A sample of a value of its own, taken from something that lasted from then to then.
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

    /// A slot of a periodic series: a sample that lasted from then to then, later than its deadline or not.
    pub fn slot(&mut self, place: Place, value: u64, late: bool, begin: u64, end: u64) {
        self.sample(place, i64::try_from(value).unwrap_or(i64::MAX), begin, end);
        let counts = late && self.covers(begin, end);
        if let Some(filled) = self.series.get_mut(place.0).filter(|_| counts) {
            filled.recorder.sample_was_late();
        }
    }

    /// A slot of a periodic series that passed with nothing in it; what came at last was so late for it.
    pub fn missed(&mut self, place: Place, delay: u64) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.recorder.missed(delay);
        }
    }

    /// So many slots of a periodic series that passed with nothing in them: what came at last was so late for the first, and
    /// `step` less for each that follows.
    pub fn missed_in_turn(&mut self, place: Place, delay: u64, step: u64, count: u64) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.recorder.missed_in_turn(delay, step, count);
        }
    }

    /// Whether what lasted from then to then is counted.
    pub fn covers(&self, begin: u64, end: u64) -> bool {
        begin >= self.interval.first_slot_ns && end <= self.interval.ended_ns
    }

    /// How many more series there may be.
    pub fn room(&self) -> usize {
        MOST - self.series.len().min(MOST)
    }

    /// A whole-numbered fact of a series.
    pub fn fact(&mut self, place: Place, name: &str, value: u64) {
        if let Some(filled) = self.series.get_mut(place.0) {
            filled.facts.insert(name.into(), i64::try_from(value).unwrap_or(i64::MAX));
        }
    }

    /// What the trace lost, and what could not be told because of it, is a fact of every series.
    pub fn met(&mut self, met: &Met) {
        for filled in &mut self.series {
            for (name, value) in [("lost", met.lost + met.uncounted), ("voided", met.unpaired.voided)] {
                filled.facts.insert(name.into(), i64::try_from(value).unwrap_or(i64::MAX));
            }
            // Who follows single tasks knows of each.
            let unseen = i64::try_from(met.unpaired.unseen).unwrap_or(i64::MAX);
            filled.facts.entry("unseen".into()).or_insert(unseen);
        }
    }

    /// The finished series, numbered from here on.
    pub(super) fn parts(mut self, from: usize) -> impl Iterator<Item = Result<Part>> {
        self.close();
        self.series.into_iter().enumerate().map(move |(number, mut filled)| {
            let snapshot = filled.open.reader.snapshot().context("the memory of a finished series is not at rest")?;
            let mut facts = filled.open.stated(&snapshot);
            facts.append(&mut filled.facts);
            filled.open.part(from + number, &snapshot, 0, facts)
        })
    }

    /// Nothing follows.
    fn close(&mut self) {
        let length = self.interval.ended_ns.saturating_sub(self.interval.first_slot_ns);
        self.series.iter_mut().for_each(|filled| filled.recorder.close(length));
    }
}
