//! Configurations: one per distinct tuple of axes, labelled by what differs, repeats pooled but countable.

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use latido_model::{
    cell::{Axis, Cell},
    machine::Machine,
    quantity::Measurand,
    record::{Block, Evidence, LoadRecord, Point, Record, Sample, Series, Slots, Summary, TuningRecord},
    run::{Run, SeriesData, SeriesSource, StoredCell, codec},
    summary,
    units::Ns,
};
use std::collections::BTreeMap;

/// The repeats (of one run or several) that share kernel, machine, tuning, source, scheduling and probe.
#[derive(Debug)]
pub struct Configuration {
    /// What tells it from the others, as short as possible: `busy`, `6.12-rt, idle`.
    pub label: String,
    /// A cell of it; all agree but for repeat and seed.
    pub cell: Cell,
    /// What its probe measures.
    pub measurand: Measurand,
    /// The machine of the first repeat.
    pub machine: Machine,
    /// The tunings of the first repeat as they were in force.
    pub tunings: Vec<TuningRecord>,
    /// What was seen beside each repeat, and for how long, in ns.
    pub evidence: Vec<(Evidence, u64)>,
    /// Names of the runs it came from with the cell numbers.
    pub members: Vec<(String, usize)>,
    /// Its loads as they ran, repeat after repeat.
    pub loads: Vec<LoadRecord>,
    /// Its quantities.
    pub quantities: Vec<Pooled>,
}

impl Configuration {
    /// The quantities that tables show: those with samples, or all where none has any.
    pub fn told(&self) -> impl Iterator<Item = &Pooled> {
        let some = self.quantities.iter().any(|pooled| pooled.summary.count > 0);
        self.quantities.iter().filter(move |pooled| !some || pooled.summary.count > 0)
    }
}

/// One quantity of a configuration, all threads and repeats pooled.
#[derive(Debug)]
pub struct Pooled {
    /// `latency`, `gap`.
    pub quantity: String,
    /// What tells it from others of the same quantity.
    pub labels: BTreeMap<String, String>,
    /// `ns` or another named unit.
    pub unit: String,
    /// The headline distribution: slot-corrected where slots are counted.
    pub summary: Summary,
    /// The distribution as woken.
    pub plain: Summary,
    /// Slots of a periodic probe.
    pub slots: Option<Slots>,
    /// Samples above the cell's limit in the headline distribution; absent without a limit.
    pub above_limit: Option<u64>,
    /// Headline histogram, ns.
    pub histogram: Histogram<u64>,
    /// Time measured by all threads together, ns.
    pub elapsed_ns: u64,
    /// One entry per thread of each repeat.
    pub tracks: Vec<Track>,
}

/// One thread of one repeat, over time.
#[derive(Debug)]
pub struct Track {
    /// Name of the run and number of the cell.
    pub member: (String, usize),
    /// Repeat number.
    pub repeat: u32,
    /// The CPU, where pinned.
    pub cpu: Option<u32>,
    /// Largest sample of this thread.
    pub max: Option<i64>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Its largest samples, in descending order.
    pub largest: Vec<Sample>,
    /// Its samples in the order of time, where they were kept.
    pub samples: Vec<Point>,
    /// The probe's own facts of it, as [`Series::facts`].
    pub facts: BTreeMap<String, i64>,
}

/// What [`configurations`] found.
#[derive(Debug, Default)]
pub struct Configurations {
    /// Run by run, in the order in which the plan names their levels, whatever the order of measuring was.
    pub all: Vec<Configuration>,
    /// Series that are left out because the data beside the record could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// Pools the measured cells of one or several runs.
///
/// # Errors
/// None in practice: see [`codec::histogram`].
pub fn configurations<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
    source: &dyn SeriesSource,
) -> Result<Configurations> {
    let mut found = Configurations::default();
    let mut parts: Vec<Vec<Part>> = Vec::new();
    for run in runs {
        for cell in as_written(run) {
            let Some(record) = cell.record() else { continue };
            let at = match found.all.iter().position(|known| same(known, record)) {
                Some(at) => at,
                None => {
                    parts.push(Vec::new());
                    found.all.push(Configuration {
                        label: String::new(),
                        cell: record.cell.clone(),
                        measurand: cell.measurand.clone(),
                        machine: record.machine.clone(),
                        tunings: record.tunings.clone(),
                        evidence: Vec::new(),
                        members: Vec::new(),
                        loads: Vec::new(),
                        quantities: Vec::new(),
                    });
                    found.all.len() - 1
                }
            };
            let member = (run.meta.id.clone(), cell.number);
            found.all[at].members.push(member.clone());
            found.all[at].evidence.push((record.quality.clone(), record.elapsed_ns));
            found.all[at].loads.extend(record.load.iter().cloned());
            add(&mut parts[at], cell, record, &member, source, &mut found.problems);
        }
    }
    for (configuration, parts) in found.all.iter_mut().zip(parts) {
        let limit = configuration.cell.conditions.limit;
        configuration.quantities = parts.into_iter().map(|part| part.pool(limit)).collect::<Result<_>>()?;
    }
    let labels = super::label::labels(&found.all);
    for (configuration, label) in found.all.iter_mut().zip(labels) {
        configuration.label = label;
    }
    Ok(found)
}

/// The cells as the plan writes them, whatever the order in which they ran.
fn as_written(run: &Run) -> Vec<&StoredCell> {
    let mut cells: Vec<&StoredCell> = run.cells.iter().collect();
    cells.sort_by_key(|cell| cell.written);
    cells
}

/// Whether a record belongs to a configuration. Not compared: boot, repeat, seed, duration and warm-up.
fn same(known: &Configuration, record: &Record) -> bool {
    let (a, b) = (&known.cell, &record.cell);
    known.machine.hostname == record.machine.hostname
        && known.machine.kernel == record.machine.kernel
        && Axis::ALL.into_iter().filter(|axis| *axis != Axis::Boot).all(|axis| a.agrees(b, axis))
        && (&a.conditions.cpus, a.conditions.limit) == (&b.conditions.cpus, b.conditions.limit)
}

/// One quantity's series before they are pooled.
struct Part {
    quantity: String,
    labels: BTreeMap<String, String>,
    unit: String,
    headlines: Vec<Summary>,
    plains: Vec<Summary>,
    slots: Option<Slots>,
    negative: u64,
    elapsed_ns: u64,
    histograms: Vec<Histogram<u64>>,
    missed: Vec<Histogram<u64>>,
    tracks: Vec<Track>,
}

fn add(
    parts: &mut Vec<Part>,
    cell: &StoredCell,
    record: &Record,
    member: &(String, usize),
    source: &dyn SeriesSource,
    problems: &mut Vec<String>,
) {
    for series in &record.series {
        let data = match source.series(cell, series) {
            Ok(data) => data,
            Err(error) => {
                problems.push(format!("left out: {} of thread {}: {error:#}", series.quantity, series.thread));
                continue;
            }
        };
        let key = (&series.quantity, &series.labels, &series.unit);
        let at = parts.iter().position(|p| (&p.quantity, &p.labels, &p.unit) == key).unwrap_or_else(|| {
            parts.push(Part::new(series));
            parts.len() - 1
        });
        parts[at].take(record, series, data, member);
    }
}

impl Part {
    fn new(series: &Series) -> Self {
        Self {
            quantity: series.quantity.clone(),
            labels: series.labels.clone(),
            unit: series.unit.clone(),
            headlines: Vec::new(),
            plains: Vec::new(),
            slots: None,
            negative: 0,
            elapsed_ns: 0,
            histograms: Vec::new(),
            missed: Vec::new(),
            tracks: Vec::new(),
        }
    }

    fn take(&mut self, record: &Record, series: &Series, data: SeriesData, member: &(String, usize)) {
        self.headlines.push(series.headline());
        self.plains.push(series.plain());
        if let Some(slots) = series.slots {
            let sum = self.slots.get_or_insert_default();
            sum.met += slots.met;
            sum.late += slots.late;
            sum.missed += slots.missed;
        }
        self.negative += series.negative;
        self.elapsed_ns += record.elapsed_ns;
        self.histograms.push(data.histogram);
        self.missed.extend(data.missed);
        self.tracks.push(Track {
            member: member.clone(),
            repeat: record.cell.repeat,
            cpu: series.cpu,
            max: series.headline().max,
            blocks: data.blocks,
            largest: data.largest,
            samples: data.samples,
            facts: series.facts.clone(),
        });
    }

    fn pool(self, limit: Option<Ns>) -> Result<Pooled> {
        let plain = sum(&self.histograms)?;
        let histogram = sum([&plain].into_iter().chain(&self.missed))?;
        let summary = summary::pool(&self.headlines, &histogram, self.negative);
        let above = |limit: Ns| {
            let edge = i64::try_from(limit.0).ok()?;
            self.headlines
                .iter()
                .map(|part| summary::above(&part.bands, edge))
                .try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)))
        };
        Ok(Pooled {
            // A limit is a span of time: what is measured in another unit has none.
            above_limit: limit.filter(|_| self.unit == "ns").and_then(above),
            plain: summary::pool(&self.plains, &plain, self.negative),
            summary,
            quantity: self.quantity,
            labels: self.labels,
            unit: self.unit,
            slots: self.slots,
            histogram,
            elapsed_ns: self.elapsed_ns,
            tracks: self.tracks,
        })
    }
}

pub(super) fn sum<'a>(histograms: impl IntoIterator<Item = &'a Histogram<u64>>) -> Result<Histogram<u64>> {
    let mut sum = codec::histogram()?;
    for histogram in histograms {
        sum.add(histogram).map_err(|e| anyhow!("pooling histograms: {e}"))?;
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample::{self, Fixture, cell, probing, quiet, under, with_spike};

    #[test]
    fn repeats_are_pooled_and_stay_countable() {
        let again = Cell { repeat: 2, seed: 7, ..cell() };
        let fixture = Fixture::new(vec![
            (cell(), vec![quiet(0), quiet(1)]),
            (under("busy"), vec![quiet(2)]),
            (again, vec![with_spike(0, 4_000, 150_000), quiet(1)]),
        ]);
        let found = configurations([&fixture.run], &fixture).unwrap();
        assert_eq!(found.problems, Vec::<String>::new());
        let [idle, busy] = &found.all[..] else { panic!("{found:?}") };
        assert_eq!((idle.label.as_str(), busy.label.as_str()), ("idle", "busy"));
        assert_eq!(idle.members.iter().map(|m| m.1).collect::<Vec<_>>(), [1, 3]);
        let latency = &idle.quantities[0];
        assert_eq!((latency.summary.count, latency.summary.max), (40_000, Some(150_000)));
        assert_eq!(latency.above_limit, Some(1));
        assert_eq!(latency.slots, Some(Slots { met: 40_000, late: 0, missed: 0 }));
        assert_eq!(latency.tracks.len(), 4);
        assert_eq!(latency.tracks[2].repeat, 2);
        assert_eq!(latency.histogram.len(), 40_000);
        assert_eq!(latency.elapsed_ns, 40_000_000_000);
    }

    /// An angle or a mean in picoseconds would be compared with nanoseconds.
    #[test]
    fn what_is_not_in_nanoseconds_has_no_limit() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        fixture.record(1).series[0].unit = "urad".into();
        fixture.record(1).series[0].facts = [("fell".to_owned(), 1)].into();
        let found = configurations([&fixture.run], &fixture).unwrap();
        let pooled = &found.all[0].quantities[0];
        assert!(found.all[0].cell.conditions.limit.is_some() && pooled.above_limit.is_none());
        assert_eq!(pooled.tracks[0].facts.get("fell"), Some(&1));
    }

    /// The delay of a missed slot is in the headline, and only there.
    #[test]
    fn missed_slots_count_in_the_headline() {
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        let mut run = fixture.run;
        let latido_model::run::CellState::Measured(record) = &mut run.cells[0].state else { panic!() };
        let series = &mut record.series[0];
        let mut corrected = series.plain();
        (corrected.count, corrected.max) = (corrected.count + 1, Some(3_000_000));
        series.corrected = Some(corrected);
        series.slots = Some(Slots { met: 10_000, late: 0, missed: 1 });
        let load = |_: &StoredCell, _: &Series| {
            let mut data = sample::data(&quiet(0));
            data.missed = Some(sample::data(&[3_000_000]).histogram);
            Ok(data)
        };
        let found = configurations([&run], &load).unwrap();
        let latency = &found.all[0].quantities[0];
        assert_eq!((latency.summary.count, latency.summary.max), (10_001, Some(3_000_000)));
        assert_eq!((latency.plain.count, latency.histogram.len()), (10_000, 10_001));
        assert!(latency.plain.max < Some(30_000));
    }

    #[test]
    fn a_series_without_its_data_is_left_out_and_told() {
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let load = |c: &StoredCell, s: &Series| {
            anyhow::ensure!(s.thread == 0, "histogram-1.hdr is gone");
            fixture.series(c, s)
        };
        let found = configurations([&fixture.run], &load).unwrap();
        assert_eq!(found.all[0].quantities[0].summary.count, 10_000);
        assert!(found.problems[0].contains("histogram-1.hdr is gone"), "{:?}", found.problems);
    }

    /// Interleaved plans run their cells in random order: tables must not.
    #[test]
    fn configurations_stand_in_the_order_of_the_plan() {
        let gap = || probing("gap");
        let on = |cell: Cell, repeat| Cell { repeat, ..cell };
        let busy = |cell: Cell| Cell { load: under("busy").load, ..cell };
        let each = |repeat| [cell(), gap(), busy(cell()), busy(gap())].map(|cell| on(cell, repeat));
        let written: Vec<Cell> = [each(1), each(2)].concat();
        let mut fixture = Fixture::new(written.into_iter().map(|cell| (cell, vec![quiet(0)])).collect());
        fixture.run.cells.reverse();
        let found = configurations([&fixture.run], &fixture).unwrap();
        let labels: Vec<&str> = found.all.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["wakeup, idle", "gap, idle", "wakeup, busy", "gap, busy"]);
    }

    #[test]
    fn other_machines_and_kernels_are_other_configurations() {
        let a = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        let mut b = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        b.record(1).machine.kernel = "6.12.48-rt".into();
        let found = configurations([&a.run, &b.run], &a).unwrap();
        let labels: Vec<&str> = found.all.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["6.12.48", "6.12.48-rt"]);
    }
}
