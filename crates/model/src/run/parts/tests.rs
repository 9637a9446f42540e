//! Pooled parts equal a measurement without interruption, as far as that can be known.

use super::*;
use crate::{
    record::{
        ByHand, Freeze, Interrupt, LoadLife, LoadStep, Overheated, Reported, Second, Sibling, StampsRecord, Tracer,
        Tracing,
    },
    sample::{cell, data as beside, measurand, measured, quiet, with_spike},
};

/// Builds parts of one thread with these samples, one per millisecond; all but the last are checkpoints.
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
    assert!(!all.unwatched);
    record(&mut parts, 2).quality.unwatched = true;
    assert!(pooled(&cell(), &parts, &source).unwrap().quality.unwatched, "nobody looked at a part");
}

/// Times are on the time axis of the whole; only the first warm-up has a place on it.
#[test]
fn moments_of_a_later_part_follow_the_earlier_one() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    let later = record(&mut parts, 2);
    later.outcome = Outcome::Stopped { value_ns: 7, cpu: Some(0), at_ns: Some(3) };
    let frozen = Freeze::Frozen { switches: vec![], value_ns: 7, cpu: Some(0), monotonic_ns: 99, failed: None };
    later.quality.freeze = Some(frozen.clone());
    later.quality.overheated = Some(Overheated { at_ns: 5, temperature_mc: 90_000, limit_mc: 85_000 });
    let whole = pooled(&cell(), &parts, &source).unwrap();
    assert_eq!(whole.outcome, Outcome::Stopped { value_ns: 7, cpu: Some(0), at_ns: Some(10_000_000_003) });
    assert_eq!(whole.quality.freeze, Some(frozen));
    let at = |parts: &[Part]| pooled(&cell(), parts, &source).unwrap().quality.overheated.unwrap().at_ns;
    assert_eq!(at(&parts), 10_000_000_005);
    record(&mut parts, 2).quality.overheated.as_mut().unwrap().at_ns = -5;
    assert_eq!(at(&parts), 10_000_000_000);
    record(&mut parts, 1).quality.overheated = Some(Overheated { at_ns: -8, ..Overheated::default() });
    assert_eq!(at(&parts), -8);
}

#[test]
fn amounts_add_up_settings_agree_or_are_not_told() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    let tracer = || Tracer { instance: String::new(), tracer: "function".into(), events: false };
    for number in [1, 2] {
        let quality = &mut record(&mut parts, number).quality;
        (quality.throttle.throttled, quality.throttle.throttled_ns) = (Some(2), Some(100));
        quality.throttle.rt_runtime_us = Some(950_000 - number as i64);
        quality.throttle.rt_period_us = Some(1_000_000);
        quality.siblings = vec![Sibling { cpu: 4, of: 0, busy_ns: 10, over_ns: 100 }];
        (quality.clock.realtime_shift_ns, quality.clock.drift_ppb) = (5, Some(3.0 - 5.0 * number as f64));
        quality.tracing = Some(Tracing::Seen { active: vec![] });
        quality.dma_latency_held = number == 1;
        quality.threads[0].warmup_delay_ns = (number == 2).then_some(30);
        quality.threads[0].tid = Some(number as u32);
    }
    let whole = |parts: &[Part]| pooled(&cell(), parts, &source).unwrap().quality;
    let all = whole(&parts);
    assert_eq!((all.throttle.throttled, all.throttle.throttled_ns), (Some(4), Some(200)));
    assert_eq!((all.throttle.rt_runtime_us, all.throttle.rt_period_us), (None, Some(1_000_000)));
    assert_eq!(all.siblings, [Sibling { cpu: 4, of: 0, busy_ns: 20, over_ns: 200 }]);
    assert_eq!((all.clock.realtime_shift_ns, all.clock.drift_ppb, all.dma_latency_held), (10, Some(-7.0), false));
    assert_eq!(all.tracing, Some(Tracing::Seen { active: vec![] }));
    assert_eq!((all.threads[0].warmup_delay_ns, all.threads[0].tid), (Some(30), None));
    let quality = &mut record(&mut parts, 1).quality;
    (quality.throttle.throttled, quality.siblings) = (None, vec![]);
    quality.tracing = Some(Tracing::Unseen { why: "EPERM".into() });
    let all = whole(&parts);
    assert_eq!((all.throttle.throttled, all.siblings.len()), (None, 0));
    assert_eq!(all.tracing, Some(Tracing::Unseen { why: "EPERM".into() }), "nobody looked all the time");
    record(&mut parts, 2).quality.tracing = Some(Tracing::Seen { active: vec![tracer()] });
    assert_eq!(whole(&parts).tracing, Some(Tracing::Seen { active: vec![tracer()] }));
    record(&mut parts, 2).quality.tracing = None;
    assert_eq!(whole(&parts).tracing, None);
}

#[test]
fn counts_of_stamps_and_of_reported_samples_add_up() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    for number in [1, 2] {
        let quality = &mut record(&mut parts, number).quality;
        let stamps =
            StampsRecord { events: 1, lost: 1, doubled: 1, passed: 1, dropped: 1, strangers: 1, ..Default::default() };
        quality.stamps = Some(stamps);
        let reported =
            Reported { lines: 1, early: 1, beyond: 1, dropped: 1, lost: Some(1), surplus: 1, ..Default::default() };
        quality.reported = Some(Reported { backwards: 1, bad: [("bad".into(), 1)].into(), ..reported });
    }
    let whole = pooled(&cell(), &parts, &source).unwrap().quality;
    let (stamps, reported) = (whole.stamps.unwrap(), whole.reported.unwrap());
    let all = [stamps.events, stamps.lost, stamps.doubled, stamps.passed, stamps.dropped, stamps.strangers];
    assert_eq!(all, [2; 6]);
    let all = [reported.lines, reported.early, reported.beyond, reported.dropped, reported.surplus, reported.backwards];
    assert_eq!((all, reported.lost, reported.bad_lines()), ([2; 6], Some(2), 2));
}

#[test]
fn facts_are_pooled_by_what_they_are() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    let facts = |all: &[(&str, i64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    record(&mut parts, 1).series[0].facts = facts(&[("rounds", 3), ("residual_e18", 40), ("fell", 0), ("own_ns", 1)]);
    let second = facts(&[("rounds", 4), ("residual_e18", 30), ("fell", 1), ("fell_at_ns", 6), ("first_slot_ns", 9)]);
    record(&mut parts, 2).series[0].facts = second;
    let whole = |parts: &[Part]| pooled(&cell(), parts, &source).unwrap().series[0].facts.clone();
    let wanted = facts(&[("rounds", 7), ("residual_e18", 40), ("fell", 1), ("fell_at_ns", 10_000_000_006)]);
    assert_eq!(whole(&parts), wanted, "what one part lacks is not known");
    record(&mut parts, 1).series[0].facts.insert("first_slot_ns".into(), 5);
    assert_eq!(whole(&parts)["first_slot_ns"], 5, "the whole begins where its first part does");
}

/// A setting that was applied by hand in any part is in the result.
#[test]
fn what_was_applied_by_hand_in_any_part_is_told() {
    let (mut parts, source) = parts(&[quiet(0), quiet(1)]);
    let set = |tuning: &str| ByHand { tuning: tuning.into(), knob: "k".into(), value: "1".into(), in_force: None };
    for (number, tuning) in [(1, "frequency"), (2, "irqs")] {
        record(&mut parts, number).quality.by_hand = vec![set(tuning)];
    }
    let all = pooled(&cell(), &parts, &source).unwrap();
    assert_eq!(all.quality.by_hand, [set("frequency"), set("irqs")]);
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
