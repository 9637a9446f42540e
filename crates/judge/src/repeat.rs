//! The repeat: one cell of one run as measured, with its threads pooled. Repeats of the same boot are not independent of each other.

use super::{
    coarse::Bins,
    crowds::{Crowds, Thread},
    parts,
};
use crate::statistics::pool;
use latido_model::{
    plan::expect::NS,
    record::{Block, Class, Evidence, LoadRecord, Point, Record, Sample, Series, Slots, Summary},
    run::{SeriesData, SeriesSource, StoredCell, packed::Packed},
    summary::Counted,
    units::Ns,
};
use std::{borrow::Cow, collections::BTreeMap};

/// One measured cell.
#[derive(Debug)]
pub struct Repeat {
    /// The run's id.
    pub run: String,
    /// The cell's number in it.
    pub number: usize,
    /// The number of its kernel's boot.
    pub boot: u32,
    /// Which repetition, from 1.
    pub repeat: u32,
    /// The evidence that latido recorded during the measurement.
    pub evidence: Evidence,
    /// The length of the measurement, ns.
    pub elapsed_ns: u64,
    /// How much of this time its threads watched, ns.
    pub watched_ns: u64,
    /// Its loads as they ran.
    pub loads: Vec<LoadRecord>,
    /// Its quantities.
    pub quantities: Vec<RepeatQuantity>,
    /// Its parts in words, if it was cut and continued later: its figures are pooled from them.
    pub parts: Vec<String>,
    /// Where the parts meet on its time axis, in ns.
    pub seams: Vec<u64>,
}

/// One quantity of a repeat, with all threads pooled.
#[derive(Debug)]
pub struct RepeatQuantity {
    /// Its distribution.
    pub pooled: Pooled,
    /// One entry per thread.
    pub tracks: Vec<Track>,
}

/// The distribution of one quantity: of a repeat, or of all repeats of a configuration.
#[derive(Clone, Debug)]
pub struct Pooled {
    /// `latency`, `gap`.
    pub quantity: String,
    /// What distinguishes it from others of the same quantity.
    pub labels: BTreeMap<String, String>,
    /// `ns` or another named unit.
    pub unit: String,
    /// The decisive distribution: slot-corrected where slots are counted.
    pub summary: Summary,
    /// The distribution as woken.
    pub plain: Summary,
    /// Slots of a periodic probe.
    pub slots: Option<Slots>,
    /// Samples above the cell's limit in the decisive distribution; absent without a limit, and for a quantity to which no limit applies.
    pub above_limit: Option<u64>,
    /// Histogram of the samples as woken.
    pub woken: Packed,
    /// Histogram of the decisive distribution.
    pub histogram: Packed,
    /// Time measured by all threads together, ns.
    pub elapsed_ns: u64,
    /// The number of samples below zero, which no histogram contains.
    pub negative: u64,
    /// How much less its samples say about its quantiles than independent ones would.
    pub crowds: Crowds,
    /// The bins in which another tool counted; absent for what latido measured.
    pub bins: Option<Bins>,
}

/// One thread of one repeat, over time.
#[derive(Debug)]
pub struct Track {
    /// The thread's index within the cell.
    pub thread: u32,
    /// The CPU, if the thread was pinned.
    pub cpu: Option<u32>,
    /// Its decisive distribution.
    pub summary: Summary,
    /// Its distribution as woken.
    pub plain: Summary,
    /// The outline of its decisive distribution, see [`outline`].
    pub outline: Outline,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Its largest samples, in descending order.
    pub largest: Vec<Sample>,
    /// Its samples in order of time, if they were kept.
    pub samples: Vec<Point>,
    /// The probe's own facts about it, as [`Series::facts`].
    pub facts: BTreeMap<String, i64>,
}

/// Counts by the index of their bin, ascending.
pub type Outline = Vec<(u16, u64)>;

/// The number of [`Outline`] bins per decade; bin 0 contains values of at most 1 of the stored unit.
pub const OUTLINE_BINS: f64 = 20.0;

/// Computes a distribution in bins that are coarse enough for hundreds of threads.
pub fn outline<'a, C: Counted + 'a>(parts: impl IntoIterator<Item = &'a C>) -> Outline {
    let mut rows = BTreeMap::<u16, u64>::new();
    for (end, count) in parts.into_iter().flat_map(Counted::steps) {
        let own = rows.entry(outline_bin(Packed::middle(end) as f64)).or_default();
        *own = own.saturating_add(count);
    }
    rows.into_iter().collect()
}

/// Returns the bin of a value in an [`Outline`].
pub fn outline_bin(value: f64) -> u16 {
    (value.max(1.0).log10() * OUTLINE_BINS + 1e-9).floor() as u16
}

impl Track {
    /// Returns all of its samples in order of time, if another tool's file has them.
    pub fn whole(&self) -> Option<&[Point]> {
        let is_whole = self.samples.len() as u64 == self.plain.count && self.plain.count > 0;
        Some(self.samples.as_slice()).filter(|_| is_whole && self.largest.is_empty())
    }

    /// Returns its largest samples, in descending order, as far as they are known.
    fn known_largest(&self) -> Cow<'_, [Sample]> {
        let Some(whole) = self.whole() else { return Cow::Borrowed(&self.largest) };
        let sample = |point: &Point| Sample { value: point.value, at_ns: point.at_ns, class: Class::Unknown };
        let mut all: Vec<Sample> = whole.iter().map(sample).collect();
        all.sort_unstable_by_key(|one| (std::cmp::Reverse(one.value), one.at_ns));
        Cow::Owned(all)
    }
}

impl Repeat {
    /// Builds the repeat from a record and the data of its series; a series that cannot be read is left out and added to the problems.
    pub fn of(
        run: &str,
        cell: &StoredCell,
        record: &Record,
        source: &dyn SeriesSource,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut parts: Vec<Gathered> = Vec::new();
        for series in &record.series {
            let data = match source.series(cell, series) {
                Ok(data) => data,
                Err(error) => {
                    problems.push(format!("left out: {} of thread {}: {error:#}", series.quantity, series.thread));
                    continue;
                }
            };
            let at = parts.iter().position(|part| part.is_of(series)).unwrap_or(parts.len());
            if at == parts.len() {
                parts.push(Gathered::new(series));
            }
            let Some(part) = parts.get_mut(at) else { continue };
            part.take(series, data);
        }
        let limit = |quantity: &str| record.cell.conditions.limit.filter(|_| cell.measurand.judges(quantity));
        let pool = |part: Gathered<'_>| {
            let limit = limit(&part.first.quantity);
            let period_ns = part.first.slots.and(cell.measurand.period).map(|period| period.0);
            part.pool(limit, record.elapsed_ns, period_ns)
        };
        let quantities = parts.into_iter().map(pool).collect();
        Self {
            run: run.into(),
            number: cell.number,
            boot: record.cell.boot,
            repeat: record.cell.repeat,
            evidence: record.quality.clone(),
            elapsed_ns: record.elapsed_ns,
            watched_ns: record.watched_ns(cell.measurand.period),
            loads: record.load.clone(),
            quantities,
            parts: parts::told(cell),
            seams: parts::seams(cell),
        }
    }
}

#[cfg(any(test, feature = "sample"))]
impl Repeat {
    /// Returns all threads of all quantities for changes.
    pub fn tracks_mut(&mut self) -> impl Iterator<Item = &mut Track> {
        self.quantities.iter_mut().flat_map(|one| &mut one.tracks)
    }
}

/// One quantity's series before they are pooled.
struct Gathered<'a> {
    first: &'a Series,
    slots: Vec<Slots>,
    negative: u64,
    /// The sum over all threads: thousands of threads would have thousands of histograms.
    woken: Packed,
    missed: Packed,
    tracks: Vec<Track>,
    bins: Vec<Option<Bins>>,
}

impl<'a> Gathered<'a> {
    fn new(first: &'a Series) -> Self {
        let (woken, missed) = (Packed::default(), Packed::default());
        Self { first, slots: Vec::new(), negative: 0, woken, missed, tracks: Vec::new(), bins: Vec::new() }
    }

    fn is_of(&self, other: &Series) -> bool {
        let own = self.first;
        (&own.quantity, &own.labels, &own.unit) == (&other.quantity, &other.labels, &other.unit)
    }

    fn take(&mut self, series: &Series, data: SeriesData) {
        self.slots.extend(series.slots);
        self.negative = self.negative.saturating_add(series.negative);
        self.woken.add(&data.histogram);
        data.missed.iter().for_each(|missed| self.missed.add(missed));
        self.bins.push(series.bounds.as_ref().map(|_| {
            let quantized = series.quantized.clone().unwrap_or_default();
            let whole = !quantized.cut && quantized.above.is_none();
            Bins { bins: data.bins, whole, width: quantized.width }.of_all(series.count)
        }));
        self.tracks.push(Track {
            thread: series.thread,
            cpu: series.cpu,
            summary: series.decisive(),
            plain: series.plain(),
            outline: outline(std::iter::once(&data.histogram).chain(&data.missed)),
            blocks: data.blocks,
            largest: data.largest,
            samples: data.samples,
            facts: series.facts.clone(),
        });
    }

    fn pool(self, limit: Option<Ns>, elapsed_ns: u64, period_ns: Option<u64>) -> RepeatQuantity {
        let woken = self.woken;
        let histogram = Packed::sum([&woken, &self.missed]);
        let key = (self.first.quantity.as_str(), &self.first.labels, self.first.unit.as_str());
        let sums = Sums {
            slots: pool::slots(self.slots),
            elapsed_ns: elapsed_ns.saturating_mul(self.tracks.len() as u64),
            negative: self.negative,
            bins: None,
        };
        let sums = Sums { bins: Bins::merged(self.bins.iter().map(Option::as_ref)), ..sums };
        let mut pooled = Pooled::new(key, &self.tracks.iter().collect::<Vec<_>>(), sums, woken, histogram, limit);
        let known: Vec<_> = self.tracks.iter().map(|track| (track, track.known_largest())).collect();
        let over_time =
            known.iter().map(|(track, largest)| Thread { largest, count: track.plain.count, blocks: &track.blocks });
        let threads: Vec<Thread<'_>> = over_time.collect();
        // A file of another tool may give the time of each sample, but not the length of the measurement.
        let last = known.iter().flat_map(|(track, _)| track.whole()).filter_map(|all| all.last());
        let last_ns = last.map(|point| point.at_ns.saturating_add(1)).max().unwrap_or(0);
        let elapsed_ns = if elapsed_ns == 0 { last_ns } else { elapsed_ns };
        pooled.crowds = Crowds::of(&threads, &pooled.summary, period_ns, elapsed_ns);
        RepeatQuantity { pooled, tracks: self.tracks }
    }
}

/// The values that add up.
struct Sums {
    slots: Option<Slots>,
    elapsed_ns: u64,
    negative: u64,
    bins: Option<Bins>,
}

impl Pooled {
    /// Pools several repeats of one quantity; `None` for no repeats. Moments are combined over all threads, as if they had been measured
    /// together.
    pub fn over(repeats: &[&RepeatQuantity], limit: Option<Ns>) -> Option<Self> {
        let first = &repeats.first()?.pooled;
        let each = || repeats.iter().map(|one| &one.pooled);
        let tracks: Vec<&Track> = repeats.iter().flat_map(|one| &one.tracks).collect();
        let sums = Sums {
            slots: pool::slots(each().filter_map(|one| one.slots)),
            elapsed_ns: each().map(|one| one.elapsed_ns).fold(0, u64::saturating_add),
            negative: each().map(|one| one.negative).fold(0, u64::saturating_add),
            bins: Bins::merged(each().map(|one| one.bins.as_ref())),
        };
        let woken = Packed::sum(each().map(|one| &one.woken));
        let histogram = Packed::sum(each().map(|one| &one.histogram));
        let crowds = Crowds::over(each().map(|one| (&one.crowds, one.summary.count)));
        Some(Self { crowds, ..Self::new(first.key(), &tracks, sums, woken, histogram, limit) })
    }

    /// Returns what distinguishes it from the other quantities of its cell: name, labels, unit.
    pub fn key(&self) -> (&str, &BTreeMap<String, String>, &str) {
        (&self.quantity, &self.labels, &self.unit)
    }

    fn new(
        (quantity, labels, unit): (&str, &BTreeMap<String, String>, &str),
        tracks: &[&Track],
        sums: Sums,
        woken: Packed,
        histogram: Packed,
        limit: Option<Ns>,
    ) -> Self {
        let summaries: Vec<Summary> = tracks.iter().map(|track| track.summary.clone()).collect();
        let plains: Vec<Summary> = tracks.iter().map(|track| track.plain.clone()).collect();
        // A limit is a span of time: a quantity in another unit has none.
        let edge = limit.filter(|_| unit == NS).and_then(|limit| i64::try_from(limit.0).ok());
        let above = |edge| match &sums.bins {
            // Bins around the limit do not show how many samples are above it.
            Some(_) if all_within(&summaries, edge) => Some(0),
            Some(bins) => bins.above(edge).and_then(|(least, most)| (least == most).then_some(least)),
            None => pool::all_above(&summaries, edge),
        };
        Self {
            above_limit: edge.and_then(above),
            summary: bounded(pool::summaries(&summaries, &histogram, sums.negative), sums.bins.as_ref()),
            plain: bounded(pool::summaries(&plains, &woken, sums.negative), sums.bins.as_ref()),
            quantity: quantity.into(),
            labels: labels.clone(),
            unit: unit.into(),
            slots: sums.slots,
            woken,
            histogram,
            elapsed_ns: sums.elapsed_ns,
            negative: sums.negative,
            crowds: Crowds::default(),
            bins: sums.bins,
        }
    }
}

/// Whether every sample is certainly at most an edge.
fn all_within(summaries: &[Summary], edge: i64) -> bool {
    let max = |summary: &Summary| summary.bounds.as_ref().and_then(|bounds| bounds.max);
    summaries.iter().all(|one| one.count == 0 || max(one).is_some_and(|max| max.within(edge) == Some(true)))
}

/// Returns a summary with the quantiles that the bins give, where another tool counted them.
fn bounded(summary: Summary, bins: Option<&Bins>) -> Summary {
    let Some(bounds) = summary.bounds else { return summary };
    let all = bins.filter(|bins| bins.whole).map(|bins| bins.bins.as_slice()).unwrap_or_default();
    Summary::bounded(summary.count, bounds.with_quantiles(all))
}
