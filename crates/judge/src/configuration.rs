//! Configurations: one for each distinct tuple of axes, labelled by what distinguishes it, with its repeats both separate and pooled.

use super::{
    copies,
    label::{self, Labelled},
    repeat::{Pooled, Repeat, RepeatQuantity, Track},
    title,
    unseen::{Rarity, Watch, bursts, crowd_ns},
};
use latido_model::{
    cell::{Axis, Cell},
    machine::Machine,
    quantity::Measurand,
    record::{LoadRecord, Record, TuningRecord},
    run::{Run, SeriesSource, StoredCell},
};
use std::collections::BTreeMap;

/// The repeats (of one run or several) that share target, kernel, machine, tuning, load, scheduling and probe.
#[derive(Debug)]
pub struct Configuration {
    /// What distinguishes it from the others, as short as possible: `busy`, `6.12-rt, idle`.
    pub label: String,
    /// What distinguishes it from the others of its probe; empty where nothing does.
    pub short: String,
    /// One of its cells; all of them agree except in boot, repeat and seed.
    pub cell: Cell,
    /// What its probe measures.
    pub measurand: Measurand,
    /// The machine of the first repeat.
    pub machine: Machine,
    /// The tunings of the first repeat as they were in effect.
    pub tunings: Vec<TuningRecord>,
    /// One entry per measured cell.
    pub repeats: Vec<Repeat>,
    /// Its quantities over all repeats, see [`Configuration::pool`].
    pub quantities: Vec<Pooled>,
}

impl Configuration {
    fn new(record: &Record, measurand: &Measurand) -> Self {
        Self {
            label: String::new(),
            short: String::new(),
            cell: record.cell.clone(),
            measurand: measurand.clone(),
            machine: record.machine.clone(),
            tunings: record.tunings.clone(),
            repeats: Vec::new(),
            quantities: Vec::new(),
        }
    }

    /// Pools the repeats, with the quantities in the order of their first appearance.
    pub fn pool(&mut self) {
        let mut groups: Vec<Vec<&RepeatQuantity>> = Vec::new();
        for one in self.repeats.iter().flat_map(|repeat| &repeat.quantities) {
            let alike = |group: &&mut Vec<&RepeatQuantity>| {
                group.first().is_some_and(|first| first.pooled.key() == one.pooled.key())
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        let limit = |group: &[&RepeatQuantity]| {
            let judged = group.first().is_some_and(|one| self.measurand.judges(&one.pooled.quantity));
            self.cell.conditions.limit.filter(|_| judged)
        };
        self.quantities = groups.iter().filter_map(|group| Pooled::over(group, limit(group))).collect();
    }

    /// Returns the quantities that tables show: those with samples, or all if none has samples.
    pub fn told(&self) -> impl Iterator<Item = &Pooled> {
        let some = self.quantities.iter().any(|pooled| pooled.summary.count > 0);
        self.quantities.iter().filter(move |pooled| !some || pooled.summary.count > 0)
    }

    /// Returns the runs it came from, with the cell numbers.
    pub fn members(&self) -> Vec<(String, usize)> {
        self.repeats.iter().map(|repeat| (repeat.run.clone(), repeat.number)).collect()
    }

    /// Describes the repeats that were measured in parts, each with its parts.
    pub fn in_parts(&self) -> Vec<String> {
        let said = |repeat: &Repeat| format!("repeat {} is pooled: {}", repeat.repeat, repeat.parts.join("; "));
        self.repeats.iter().filter(|repeat| !repeat.parts.is_empty()).map(said).collect()
    }

    /// Returns its loads as they ran, repeat after repeat.
    pub fn loads(&self) -> impl Iterator<Item = &LoadRecord> {
        self.repeats.iter().flat_map(|repeat| &repeat.loads)
    }

    /// Returns the threads of one of its quantities, repeat after repeat, each with its repeat.
    pub fn tracks<'c>(&'c self, pooled: &'c Pooled) -> Box<dyn Iterator<Item = (&'c Repeat, &'c Track)> + 'c> {
        let alike = |one: &&RepeatQuantity| one.pooled.key() == pooled.key();
        let tracks = self.repeats.iter().flat_map(move |repeat| {
            repeat
                .quantities
                .iter()
                .filter(alike)
                .flat_map(move |one| one.tracks.iter().map(move |track| (repeat, track)))
        });
        Box::new(tracks)
    }
}

impl Configuration {
    /// Returns what the repeats show about how often a quantity is above the limit; `None` without a limit, or where not all samples above
    /// it are stored.
    pub fn rarity(&self, pooled: &Pooled) -> Option<Rarity> {
        let limit = self.cell.conditions.limit?.0;
        let stretch_ns = self.measurand.period.map_or(0, |period| period.0).max(limit);
        let is_emulated = self.machine.emulated.is_some();
        let mostly = pooled.above_limit.is_some_and(|above| above > pooled.summary.count / 2);
        let watch = |repeat: &'_ Repeat| {
            let tracks = self.tracks(pooled).filter(|(of, _)| std::ptr::eq(*of, repeat));
            let crowd = tracks.map(|(_, track)| crowd_ns(&track.largest, track.plain.count)).max();
            let seen = match pooled.above_limit {
                Some(0) => 0,
                _ => bursts(repeat, pooled, i64::try_from(limit).ok()?, stretch_ns)?,
            };
            let crowd_ns = crowd.unwrap_or(0);
            Some(Watch { seen, mostly, crowd_ns, ..Watch::none(&self.cell, is_emulated, repeat.watched_ns) })
        };
        let watches: Vec<Watch<'_>> = self.repeats.iter().map(watch).collect::<Option<_>>()?;
        Rarity::of(&watches, stretch_ns)
    }
}

impl Labelled for Configuration {
    fn cell(&self) -> &Cell {
        &self.cell
    }

    fn machine(&self) -> &Machine {
        &self.machine
    }
}

/// What [`configurations`] found.
#[derive(Debug, Default)]
pub struct Configurations {
    /// The configurations run by run, in the order in which the plan names their levels, whatever order the cells ran in.
    pub all: Vec<Configuration>,
    /// What is left out, one sentence each: series whose data next to the record could not be read, and copies.
    pub problems: Vec<String>,
}

/// Collects the measured cells of one or several runs and pools the repeats of each configuration.
pub fn configurations<'a>(runs: impl IntoIterator<Item = &'a Run>, source: &dyn SeriesSource) -> Configurations {
    let mut found = Configurations::default();
    // Keyed by what the cells measured: the replicates of sweeps, and the places of the configurations.
    let mut alike: BTreeMap<String, (Vec<&Record>, Vec<usize>)> = BTreeMap::new();
    let mut left_out: Vec<(String, Vec<u32>)> = Vec::new();
    for run in runs {
        for cell in as_written(run) {
            let Some(record) = cell.record() else { continue };
            let of = swept(record);
            let (members, places) = alike.entry(of.clone()).or_default();
            if members.iter().any(|first| copies::are(first, record)) {
                match left_out.iter_mut().find(|(known, _)| *known == of) {
                    Some((_, repeats)) => repeats.push(record.cell.repeat),
                    None => left_out.push((of, vec![record.cell.repeat])),
                }
                continue;
            }
            members.extend(record.machine.emulated.is_some().then_some(record));
            let known = places.iter().copied().find(|at| found.all.get(*at).is_some_and(|known| same(known, record)));
            let at = known.unwrap_or_else(|| {
                places.push(found.all.len());
                found.all.push(Configuration::new(record, &cell.measurand));
                found.all.len() - 1
            });
            let repeat = Repeat::of(&run.meta.id, cell, record, source, &mut found.problems);
            if let Some(configuration) = found.all.get_mut(at) {
                configuration.repeats.push(repeat);
            }
        }
    }
    found.problems.extend(left_out.iter().map(|(of, repeats)| copied(of, repeats)));
    let labels = label::labels(&found.all);
    for (configuration, label) in found.all.iter_mut().zip(labels) {
        configuration.pool();
        configuration.label = label.text;
        configuration.short = label.short;
    }
    found
}

/// Returns the key of the sweep that a record belongs to: its cell's name without the repeat, and its kernel.
fn swept(record: &Record) -> String {
    format!("{} on {}", title::title(&Cell { repeat: 1, ..record.cell.clone() }), record.cell.kernel)
}

/// Reports the replicates of a sweep that are left out, in one sentence: in a short measurement that may be most of them.
fn copied(of: &str, repeats: &[u32]) -> String {
    let said = match repeats {
        [one] => format!("repeat {one} is identical to another"),
        all => {
            let numbers: Vec<String> = all.iter().map(u32::to_string).collect();
            format!("repeats {} are identical to others", numbers.join(", "))
        }
    };
    format!("{of}: {said}: identical members count once")
}

/// Returns the cells in the order of the plan, whatever order they ran in.
fn as_written(run: &Run) -> Vec<&StoredCell> {
    let mut cells: Vec<&StoredCell> = run.cells.iter().collect();
    cells.sort_by_key(|cell| cell.written);
    cells
}

/// Whether a record belongs to a configuration. latido does not compare boot, repeat, seed, duration and warm-up.
fn same(known: &Configuration, record: &Record) -> bool {
    let (a, b) = (&known.cell, &record.cell);
    known.machine.hostname == record.machine.hostname
        && known.machine.kernel == record.machine.kernel
        && Axis::ALL.into_iter().filter(|axis| *axis != Axis::Boot).all(|axis| a.agrees(b, axis))
        && (&a.conditions.cpus, a.conditions.limit) == (&b.conditions.cpus, b.conditions.limit)
        // Recording costs time in each sample.
        && a.conditions.recorded() == b.conditions.recorded()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        record::{Series, Slots},
        sample::{self, Fixture, cell, probing, quiet, under, with_spike},
        summary::Counted,
    };

    #[test]
    fn repeats_are_pooled_and_stay_countable() {
        let again = Cell { repeat: 2, seed: 7, ..cell() };
        let fixture = Fixture::new(vec![
            (cell(), vec![quiet(0), quiet(1)]),
            (under("busy"), vec![quiet(2)]),
            (again, vec![with_spike(0, 4_000, 150_000), quiet(1)]),
        ]);
        let found = configurations([&fixture.run], &fixture);
        assert_eq!(found.problems, Vec::<String>::new());
        let [idle, busy] = &found.all[..] else { panic!("{found:?}") };
        assert_eq!((idle.label.as_str(), busy.label.as_str()), ("idle", "busy"));
        assert_eq!(idle.members().iter().map(|m| m.1).collect::<Vec<_>>(), [1, 3]);
        let latency = &idle.quantities[0];
        assert_eq!((latency.summary.count, latency.summary.max), (40_000, Some(150_000)));
        assert_eq!(latency.above_limit, Some(1));
        assert_eq!(latency.slots, Some(Slots { met: 40_000, late: 0, missed: 0 }));
        let tracks: Vec<_> = idle.tracks(latency).map(|(repeat, track)| (repeat.repeat, track.cpu)).collect();
        assert_eq!(tracks, [(1, Some(0)), (1, Some(1)), (2, Some(0)), (2, Some(1))]);
        let own: Vec<_> = idle.repeats.iter().map(|repeat| &repeat.quantities[0].pooled).collect();
        assert_eq!(own.iter().map(|one| one.above_limit).collect::<Vec<_>>(), [Some(0), Some(1)]);
        assert_eq!(own[1].summary.max, Some(150_000));
        assert_eq!((own[0].histogram.total(), own[0].elapsed_ns), (20_000, 20_000_000_000));
        assert_eq!(latency.histogram.total(), 40_000);
        assert_eq!(latency.elapsed_ns, 40_000_000_000);
    }

    /// A limit applies only to nanoseconds: latido must not compare an angle or a value in picoseconds with it.
    #[test]
    fn what_is_not_in_nanoseconds_has_no_limit() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        fixture.record(1).series[0].unit = "urad".into();
        fixture.record(1).series[0].facts = [("fell".to_owned(), 1)].into();
        let found = configurations([&fixture.run], &fixture);
        let pooled = &found.all[0].quantities[0];
        assert!(found.all[0].cell.conditions.limit.is_some() && pooled.above_limit.is_none());
        assert_eq!(found.all[0].tracks(pooled).next().unwrap().1.facts.get("fell"), Some(&1));
    }

    /// The requested length of a sleep is above any limit, and that must not count as a failure.
    #[test]
    fn what_is_not_judged_has_no_limit() {
        let mut fixture = Fixture::new(vec![(cell(), vec![with_spike(0, 7, 150_000)])]);
        let of = |fixture: &Fixture| configurations([&fixture.run], fixture).all[0].quantities[0].above_limit;
        assert_eq!(of(&fixture), Some(1));
        let quantity = &mut fixture.run.cells[0].measurand.quantities[0];
        *quantity = quantity.clone().beside();
        assert_eq!(of(&fixture), None);
    }

    /// The delay of a missed slot counts in the headline, and only there.
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
        let found = configurations([&run], &load);
        let latency = &found.all[0].quantities[0];
        assert_eq!((latency.summary.count, latency.summary.max), (10_001, Some(3_000_000)));
        assert_eq!((latency.plain.count, latency.histogram.total()), (10_000, 10_001));
        assert_eq!(latency.plain.max, Some(24_849));
    }

    #[test]
    fn a_series_without_its_data_is_left_out_and_told() {
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let load = |c: &StoredCell, s: &Series| {
            anyhow::ensure!(s.thread == 0, "histogram-1.hdr is gone");
            fixture.series(c, s)
        };
        let found = configurations([&fixture.run], &load);
        assert_eq!(found.all[0].quantities[0].summary.count, 10_000);
        assert!(found.problems[0].contains("histogram-1.hdr is gone"), "{:?}", found.problems);
    }

    /// Interleaved plans run their cells in random order; tables must keep the plan's order.
    #[test]
    fn configurations_stand_in_the_order_of_the_plan() {
        let gap = || probing("gap");
        let on = |cell: Cell, repeat| Cell { repeat, ..cell };
        let busy = |cell: Cell| Cell { load: under("busy").load, ..cell };
        let each = |repeat| [cell(), gap(), busy(cell()), busy(gap())].map(|cell| on(cell, repeat));
        let written: Vec<Cell> = [each(1), each(2)].concat();
        let mut fixture = Fixture::new(written.into_iter().map(|cell| (cell, vec![quiet(0)])).collect());
        fixture.run.cells.reverse();
        let found = configurations([&fixture.run], &fixture);
        let labels: Vec<&str> = found.all.iter().map(|c| c.label.as_str()).collect();
        assert_eq!(labels, ["wakeup, idle", "gap, idle", "wakeup, busy", "gap, busy"]);
    }

    #[test]
    fn other_machines_and_kernels_are_other_configurations() {
        let a = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        let mut b = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        b.record(1).machine.kernel = "6.12.48-rt".into();
        let mut c = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        c.record(1).machine.hostname = "bench-08".into();
        let labels = |other: &Fixture| -> Vec<String> {
            configurations([&a.run, &other.run], &a).all.into_iter().map(|one| one.label).collect()
        };
        assert_eq!(labels(&b), ["6.12.48", "6.12.48-rt"]);
        assert_eq!(labels(&c), ["bench-07", "bench-08"]);
    }
}
