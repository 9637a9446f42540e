//! Parts pooled are what a measurement at once would have been, as far as anybody can know.

use super::*;
use crate::{
    record::{ByHand, Interrupt, LoadLife, LoadStep, Second},
    sample::{cell, data as beside, measurand, measured, quiet, with_spike},
};

/// Parts of one thread with these samples, one a millisecond; all but the last are checkpoints.
fn parts(all: &[Vec<i64>]) -> (Vec<Part>, impl SeriesSource + use<>) {
    let part = |(place, values): (usize, &Vec<i64>)| {
        let mut record = measured(cell(), std::slice::from_ref(values));
        record.elapsed_ns = values.len() as u64 * 1_000_000;
        if place + 1 < all.len() {
            record.outcome = Outcome::Checkpoint;
        }
        let (measurand, dir) = (measurand(&cell()), format!("part-{}", place + 1).into());
        let state = CellState::Measured(Box::new(record));
        let cell = StoredCell { number: 1, dir, cell: cell(), measurand, written: 0, state, host: None, parts: vec![] };
        Part { cell, cut: None }
    };
    let values = all.to_vec();
    let source = move |cell: &StoredCell, _: &Series| {
        let place: usize = cell.dir.to_str().and_then(|dir| dir.strip_prefix("part-")).unwrap().parse().unwrap();
        Ok(beside(&values[place - 1]))
    };
    (all.iter().enumerate().map(part).collect(), source)
}

fn record(parts: &mut [Part], number: usize) -> &mut Record {
    match &mut parts[number - 1].cell.state {
        CellState::Measured(record) => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_parts_are_what_one_measurement_would_have_been() {
    let whole = with_spike(0, 7_000, 150_000);
    let (parts, source) = parts(&[whole[..3_000].to_vec(), whole[3_000..].to_vec()]);
    let pooled = pooled(&cell(), &parts, &source).unwrap();
    let at_once = measured(cell(), std::slice::from_ref(&whole));
    let (own, other) = (&pooled.series[0], &at_once.series[0]);
    assert_eq!((own.count, own.min, own.max, &own.bands), (other.count, other.min, other.max, &other.bands));
    assert_eq!((&own.quantiles, own.slots), (&other.quantiles, other.slots));
    let (a, b) = (own.corrected.clone().unwrap(), other.corrected.clone().unwrap());
    assert_eq!((a.count, a.max, a.quantiles, a.bands), (b.count, b.max, b.quantiles, b.bands));
    assert!(
        (own.mean.unwrap() - other.mean.unwrap()).abs() < 1e-6 && (own.sd.unwrap() - other.sd.unwrap()).abs() < 1e-6
    );
    assert_eq!((pooled.elapsed_ns, &pooled.outcome), (10_000_000_000, &Outcome::Complete));
    assert_eq!(pooled.cell.conditions.duration, cell().conditions.duration);
    let all = data(own, &parts, &source).unwrap();
    let whole = beside(&whole);
    assert_eq!((all.histogram, all.blocks, all.largest), (whole.histogram, whole.blocks, whole.largest));
}

#[test]
fn what_one_part_does_not_know_is_not_known_of_the_whole() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    let second = Second { start_ns: 1_000_000_000, length_ns: 1_000_000_000, steal_ns: 1, ..Second::default() };
    let line = |count| Interrupt { line: "LOC".into(), action: "timer".into(), count };
    for number in [1, 2] {
        let quality = &mut record(&mut parts, number).quality;
        (quality.steal_ns, quality.smi) = (Some(5), (number == 2).then_some(1));
        quality.timeline.push(second);
        quality.interrupts = Some(vec![line(7)]);
        quality.threads[0].minor_faults = 2;
    }
    let all = pooled(&cell(), &parts, &source).unwrap().quality;
    assert_eq!((all.steal_ns, all.smi, all.threads[0].minor_faults), (Some(10), None, 4));
    assert_eq!(all.timeline.iter().map(|one| one.start_ns).collect::<Vec<_>>(), [1_000_000_000, 11_000_000_000]);
    assert_eq!(all.interrupts, Some(vec![line(14)]));
    record(&mut parts, 1).quality.threads.clear();
    assert!(pooled(&cell(), &parts, &source).unwrap().quality.threads.is_empty(), "a checkpoint has none");
}

/// Amounts are added, moments are the earliest part's; a setting of any part stood beside the cell.
#[test]
fn facts_of_parts_are_added_unless_they_are_moments() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    let set = |tuning: &str| ByHand { tuning: tuning.into(), knob: "k".into(), value: "1".into(), in_force: None };
    for (number, tuning) in [(1, "frequency"), (2, "irqs")] {
        let record = record(&mut parts, number);
        let facts = &mut record.series[0].facts;
        for name in ["preempted", "first_slot_ns", "fell_at_ns"] {
            facts.insert(name.into(), 10 * number as i64);
        }
        facts.insert(format!("of part {number}"), i64::MAX);
        record.quality.by_hand = vec![set(tuning)];
    }
    let all = pooled(&cell(), &parts, &source).unwrap();
    let facts: Vec<(&str, i64)> = all.series[0].facts.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let most = i64::MAX;
    let expected =
        [("fell_at_ns", 10), ("first_slot_ns", 10), ("of part 1", most), ("of part 2", most), ("preempted", 30)];
    assert_eq!(facts, expected);
    assert_eq!(all.quality.by_hand, [set("irqs"), set("frequency")]);
}

#[test]
fn the_load_of_a_later_part_follows_that_of_an_earlier_one() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    for number in [1, 2] {
        let rate = Rate { mean: number as f64, slowest: Some(0.5), fastest: None, over_ns: 10, whole_life: false };
        let life = Some(LoadLife { started_ns: -5, worked_ns: Some(-1), ended_ns: Some(number as i64) });
        record(&mut parts, number).load.push(LoadRecord {
            alive: true,
            achieved: [("work".to_owned(), 3)].into(),
            rates: [("work".to_owned(), rate)].into(),
            life,
            steps: vec![LoadStep { start_ns: 0, length_ns: 10, counts: [("work".to_owned(), 3)].into() }],
            ..LoadRecord::default()
        });
    }
    let all = pooled(&cell(), &parts, &source).unwrap().load;
    let [load] = &all[..] else { panic!("{all:?}") };
    assert_eq!((load.achieved["work"], load.rates["work"].mean, load.rates["work"].slowest), (6, 1.5, Some(0.5)));
    assert_eq!(load.steps.iter().map(|step| step.start_ns).collect::<Vec<_>>(), [0, 10_000_000_000]);
    assert_eq!(load.life.unwrap().ended_ns, Some(10_000_000_002));
}

#[test]
fn another_kernel_is_no_part() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    record(&mut parts, 2).machine.kernel = "7.0".into();
    let error = pooled(&cell(), &parts, &source).unwrap_err().to_string();
    assert!(error.contains("part 2 was measured on another system"), "{error}");
}

#[test]
fn the_rest_is_what_is_left_of_the_duration_or_of_the_samples() {
    let (mut parts, _) = parts(&[quiet(0), quiet(1)]);
    record(&mut parts, 1).elapsed_ns = 9_000_000_000;
    let asked = cell();
    let mut measurand = measurand(&asked);
    let records: Vec<Record> = parts.iter().map(|part| part.record().unwrap().clone()).collect();
    let left =
        |count: usize, measurand: &Measurand| rest(&asked, measurand, &records.iter().take(count).collect::<Vec<_>>());
    assert_eq!(left(1, &measurand).unwrap().conditions.duration, Ns::from_secs(1));
    assert_eq!(left(2, &measurand).unwrap().conditions.duration, SHORTEST, "nothing is left of it");
    (measurand.counts, measurand.counts_samples) = (vec!["cycles".into()], true);
    assert_eq!(left(1, &measurand), None, "nobody said how many");
    let mut records = records.clone();
    records[0].cell.probe.options.insert("cycles".into(), 25_000.into());
    let left =
        |records: &[&Record]| Some(rest(&asked, &measurand, records)?.probe.options["cycles"].as_integer().unwrap());
    assert_eq!((left(&[&records[0]]), left(&[&records[0], &records[1]])), (Some(15_000), Some(5_000)));
    let mut none = records[0].clone();
    none.series[0].slots = Some(Default::default());
    assert_eq!(left(&[&none]), None, "a series that has not begun");
}
