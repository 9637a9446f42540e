//! A cell that was cut and then measured to its end. Its parts stay as they are, and the cell is all parts together.
//!
//! The earlier parts are in `part-1`, `part-2`, ... of the cell's directory, the last one is where every cell's record is. Nothing derived
//! is stored: each reader of the run pools the parts again.

mod evidence;
mod facts;

use super::{CellState, SeriesData, SeriesSource, StoredCell, pool};
use crate::{
    cell::Cell,
    cpus::CpuSet,
    machine::Machine,
    quantity::Measurand,
    record::{Block, LoadRecord, Outcome, Rate, Record, Sample, Series, SeriesFiles},
    units::Ns,
};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The most parts of a cell.
pub const MOST: usize = 1_000;

/// As many of the largest samples as a recorder keeps.
const LARGEST: usize = 4_096;

/// The shortest remaining duration.
const SHORTEST: Ns = Ns::from_millis(1);

/// One part of a cell.
#[derive(Debug)]
pub struct Part {
    /// The requested cell and its measurement, as for a separate cell.
    pub cell: StoredCell,
    /// Why it was cut, if known.
    pub cut: Option<String>,
}

/// Where the parts of a cell were measured; the same for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredOn {
    /// The machine's host name.
    pub hostname: String,
    /// Its kernel, as `uname -r` prints it.
    pub kernel: String,
    /// The measured CPUs.
    pub cpus: Option<CpuSet>,
}

impl MeasuredOn {
    /// Returns where a record was measured.
    pub fn of(record: &Record) -> Self {
        let Machine { hostname, kernel, .. } = &record.machine;
        Self { hostname: hostname.clone(), kernel: kernel.clone(), cpus: record.cell.conditions.cpus.clone() }
    }
}

impl fmt::Display for MeasuredOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {} of {}", self.kernel, self.hostname)?;
        self.cpus.as_ref().map_or(Ok(()), |cpus| write!(f, ", CPUs {cpus}"))
    }
}

/// Returns the directory of a part in its cell's directory, numbered from 1.
pub fn dir(cell: &Path, number: usize) -> PathBuf {
    cell.join(format!("part-{number}"))
}

/// Returns what is left to measure of a cell after these records: its duration less theirs, or its number of samples less those of the
/// slowest series. `None` if that is unknown: the series of such a cell are measured one after the other and end by their number.
pub fn rest(asked: &Cell, measurand: &Measurand, measured: &[&Record]) -> Option<Cell> {
    let mut rest = asked.clone();
    if !measurand.counts_samples {
        let so_far = measured.iter().map(|record| record.elapsed_ns).fold(0, u64::saturating_add);
        rest.conditions.duration = Ns(asked.conditions.duration.0.saturating_sub(so_far)).max(SHORTEST);
        return Some(rest);
    }
    let [option] = measurand.counts.as_slice() else { return None };
    let whole = counted(&measured.first()?.cell, option)?;
    let mut left = whole;
    for record in measured {
        let done =
            record.series.iter().map(|series| series.slots.map_or(series.count, |slots| slots.elapsed())).min()?;
        if done == 0 {
            return None;
        }
        left = left.saturating_sub(done);
    }
    let left = i64::try_from(left.max(1)).ok()?;
    rest.probe.options.insert(option.clone(), toml::Value::Integer(left));
    Some(rest)
}

fn counted(cell: &Cell, option: &str) -> Option<u64> {
    u64::try_from(cell.probe.options.get(option)?.as_integer()?).ok()
}

impl Part {
    /// Returns its record.
    ///
    /// # Errors
    /// The part has none, which no reader produces.
    pub fn record(&self) -> Result<&Record> {
        self.cell.record().context("a part has no record")
    }
}

/// Pools the parts of a cell as if it had been measured at once. The times of later parts follow those of earlier ones without the pause
/// between them. What one part lacks is unknown for the whole.
///
/// # Errors
/// The parts were not measured under the same circumstances, or their data cannot be read.
pub fn pooled(asked: &Cell, parts: &[Part], source: &dyn SeriesSource) -> Result<Record> {
    let records = parts.iter().map(Part::record).collect::<Result<Vec<&Record>>>()?;
    let (first, last) = records.first().zip(records.last()).context("no part")?;
    let begun = MeasuredOn::of(first);
    for (number, record) in (1..).zip(&records) {
        let own = MeasuredOn::of(record);
        ensure!(
            own == begun,
            "part {number} was measured on another system or other CPUs than part 1 ({own}; {begun}), so they are not one cell"
        );
    }
    let mut pooled = (**last).clone();
    pooled.cell.conditions.duration = asked.conditions.duration;
    pooled.cell.probe.options.clone_from(&first.cell.probe.options);
    pooled.elapsed_ns = records.iter().map(|record| record.elapsed_ns).fold(0, u64::saturating_add);
    pooled.anchors = first.anchors;
    let begins = begins(&records);
    // Only a sample in the last part can have ended the cell.
    if let (Outcome::Stopped { at_ns, .. }, Some(begin_ns)) = (&mut pooled.outcome, begins.last()) {
        *at_ns = at_ns.map(|at_ns| at_ns.saturating_add(*begin_ns));
    }
    pooled.warmup_ns = first.warmup_ns;
    pooled.quality = evidence::of_all(&records, &begins);
    pooled.load = loads(&records);
    pooled.attachments = Vec::new();
    for skip in records.iter().flat_map(|record| &record.skipped) {
        if !pooled.skipped.contains(skip) {
            pooled.skipped.push(skip.clone());
        }
    }
    let mut all: Vec<&Series> = Vec::new();
    for series in records.iter().flat_map(|record| &record.series) {
        if !all.iter().any(|known| known.is_of(series)) {
            all.push(series);
        }
    }
    pooled.series = all.into_iter().map(|one| self::series(one, parts, source)).collect::<Result<_>>()?;
    Ok(pooled)
}

/// Returns when each part begins on the time axis of the whole, in ns.
fn begins(records: &[&Record]) -> Vec<u64> {
    let next = |begin_ns: &mut u64, record: &&Record| {
        let own = *begin_ns;
        *begin_ns = own.saturating_add(record.elapsed_ns);
        Some(own)
    };
    records.iter().scan(0, next).collect()
}

/// Returns the data of one series of all parts together.
///
/// # Errors
/// The data of a part cannot be read.
pub fn data(series: &Series, parts: &[Part], source: &dyn SeriesSource) -> Result<SeriesData> {
    let mut all: Option<SeriesData> = None;
    let mut before_ns = 0u64;
    for part in parts {
        let record = part.record()?;
        for own in record.series.iter().filter(|own| own.is_of(series)) {
            let mut data = source.series(&part.cell, own)?;
            later(&mut data, before_ns);
            match &mut all {
                Some(all) => add(all, data)?,
                None => all = Some(data),
            }
        }
        before_ns = before_ns.saturating_add(record.elapsed_ns);
    }
    all.with_context(|| format!("{} of thread {} is in no part", series.quantity, series.thread))
}

/// Moves all times by `by_ns`.
fn later(data: &mut SeriesData, by_ns: u64) {
    let sample = |sample: &mut Sample| sample.at_ns = sample.at_ns.saturating_add(by_ns);
    for block in &mut data.blocks {
        block.start_ns = block.start_ns.saturating_add(by_ns);
        block.largest.iter_mut().for_each(sample);
    }
    data.largest.iter_mut().for_each(sample);
    data.samples.iter_mut().for_each(|point| point.at_ns = point.at_ns.saturating_add(by_ns));
}

fn add(all: &mut SeriesData, more: SeriesData) -> Result<()> {
    all.histogram = pool::histograms([&all.histogram, &more.histogram])?;
    all.missed = match (all.missed.take(), more.missed) {
        (Some(a), Some(b)) => Some(pool::histograms([&a, &b])?),
        (a, b) => a.or(b),
    };
    let blocks: Vec<Block> = more.blocks;
    all.blocks.extend(blocks);
    all.largest.extend(more.largest);
    all.largest.sort_by(|a, b| b.value.cmp(&a.value).then(a.at_ns.cmp(&b.at_ns)));
    all.largest.truncate(LARGEST);
    all.samples.extend(more.samples);
    all.samples.truncate(crate::record::ORDERED_MAX);
    Ok(())
}

/// Pools one series of all parts: distributions pooled, counts added.
fn series(first: &Series, parts: &[Part], source: &dyn SeriesSource) -> Result<Series> {
    let records = parts.iter().map(Part::record).collect::<Result<Vec<&Record>>>()?;
    let own: Vec<&Series> = records.iter().flat_map(|record| &record.series).filter(|one| one.is_of(first)).collect();
    let data = data(first, parts, source)?;
    let sum = |of: fn(&Series) -> u64| own.iter().map(|one| of(one)).fold(0, u64::saturating_add);
    let negative = sum(|one| one.negative);
    let plain = pool::summaries(&own.iter().map(|one| one.plain()).collect::<Vec<_>>(), &data.histogram, negative);
    let corrected = match own.iter().map(|one| one.corrected.clone()).collect::<Option<Vec<_>>>() {
        Some(all) => {
            let histogram = pool::histograms([&data.histogram].into_iter().chain(&data.missed))?;
            Some(pool::summaries(&all, &histogram, negative))
        }
        None => None,
    };
    let begins = begins(&records);
    let timed = records.iter().zip(begins);
    let timed = timed.flat_map(|(record, begin_ns)| record.series.iter().map(move |one| (begin_ns, one)));
    let facts = facts::of_all(timed.filter(|(_, one)| one.is_of(first)));
    Ok(Series {
        count: plain.count,
        min: plain.min,
        max: plain.max,
        mean: plain.mean,
        sd: plain.sd,
        quantiles: plain.quantiles,
        bands: plain.bands,
        overflow: sum(|one| one.overflow),
        negative,
        slots: pool::slots(own.iter().filter_map(|one| one.slots)),
        corrected,
        facts,
        // The parts have the data.
        files: SeriesFiles::default(),
        ..first.clone()
    })
}

/// Merges the loads at the same place, because each part starts them again.
fn loads(records: &[&Record]) -> Vec<LoadRecord> {
    let mut sums: Vec<LoadRecord> = Vec::new();
    let mut before_ns = 0u64;
    for record in records {
        let by = i64::try_from(before_ns).unwrap_or(i64::MAX);
        for (place, own) in record.load.iter().enumerate() {
            let mut own = own.clone();
            own.steps.iter_mut().for_each(|step| step.start_ns = step.start_ns.saturating_add(by));
            if let Some(life) = &mut own.life {
                life.started_ns = life.started_ns.saturating_add(by);
                life.worked_ns = life.worked_ns.map(|at| at.saturating_add(by));
                life.ended_ns = life.ended_ns.map(|at| at.saturating_add(by));
            }
            match sums.get_mut(place).filter(|known| known.item == own.item) {
                Some(known) => join(known, own),
                None => sums.push(own),
            }
        }
        before_ns = before_ns.saturating_add(record.elapsed_ns);
    }
    sums
}

fn join(sum: &mut LoadRecord, own: LoadRecord) {
    sum.alive &= own.alive;
    sum.died = sum.died.take().or(own.died);
    sum.cpu_ns = sum.cpu_ns.zip(own.cpu_ns).map(|(a, b)| a.saturating_add(b));
    for (name, count) in own.achieved {
        let known = sum.achieved.entry(name).or_insert(0);
        *known = known.saturating_add(count);
    }
    // If one part lacks a rate, it is left out: its mean would cover only a part of the whole.
    let both = sum.rates.iter().filter_map(|(name, a)| Some((name.clone(), rate(a, own.rates.get(name)?))));
    sum.rates = both.collect();
    sum.unaccounted = sum.unaccounted.take().or(own.unaccounted);
    if let (Some(life), Some(own)) = (&mut sum.life, own.life) {
        life.ended_ns = own.ended_ns;
    }
    sum.steps.extend(own.steps);
}

fn rate(a: &Rate, b: &Rate) -> Rate {
    let (over_a, over_b) = (a.over_ns as f64, b.over_ns as f64);
    let mean = if over_a + over_b > 0.0 { (a.mean * over_a + b.mean * over_b) / (over_a + over_b) } else { 0.0 };
    let both = |of: fn(&Rate) -> Option<f64>, choose: fn(f64, f64) -> f64| of(a).zip(of(b)).map(|(a, b)| choose(a, b));
    Rate {
        mean,
        slowest: both(|one| one.slowest, f64::min),
        fastest: both(|one| one.fastest, f64::max),
        over_ns: a.over_ns.saturating_add(b.over_ns),
        whole_life: a.whole_life || b.whole_life,
    }
}

/// Returns how a part ended, for people.
pub fn ending(part: &Part) -> String {
    let how = match &part.cell.state {
        CellState::Measured(record) => match record.outcome {
            Outcome::Complete => "complete",
            Outcome::Stopped { .. } => "ended by stop_on",
            Outcome::Interrupted => "interrupted",
            Outcome::Checkpoint => "cut, known from its last checkpoint",
        },
        _ => "not measured",
    };
    part.cut.as_ref().map_or_else(|| how.to_owned(), |why| format!("{how} ({why})"))
}

#[cfg(test)]
mod tests;
