//! Slots found in wakings: left out, drifting, caught up, and before the first.

use super::{super::distances::distance, *};
use proptest::prelude::*;

/// Counts the slots of these wakings: those with an activation, the missed ones, and further activations.
fn counted(period: u64, wakings: &[u64], until: u64) -> [u64; 3] {
    let mut grid = Grid::of(period, wakings);
    let mut counts = [0; 3];
    for (at, woken) in wakings.iter().enumerate() {
        match grid.take(*woken, wakings.get(at + 1).copied()) {
            Slot::First { missed, .. } => {
                counts[0] += 1;
                counts[1] += missed;
            }
            Slot::Further => counts[2] += 1,
        }
    }
    counts[1] += grid.rest(until).count() as u64;
    counts
}

proptest! {
    /// However late the wakings are, up to three quarters of a period, and whichever slots the thread leaves out: latido finds each slot
    /// and invents none, at any phase.
    #[test]
    fn slots_left_out_are_found(
        phase in 0u64..1_000_000,
        slots in prop::collection::vec((0u64..20_000, prop::bool::weighted(0.9)), 50..200),
        late in 0usize..50,
    ) {
        let time = |index: usize, by: u64| 7_000_000_000 + phase + index as u64 * 1_000_000 + by;
        let mut wakings = Vec::new();
        for (index, (by, there)) in slots.iter().enumerate() {
            if *there || index == 0 {
                let by = if index == late { 700_000 } else { *by };
                wakings.push(time(index, by));
            }
        }
        let end = time(slots.len(), 0) + 40_000;
        let [there, missed, further] = counted(1_000_000, &wakings, end);
        prop_assert_eq!((there, further), (wakings.len() as u64, 0));
        prop_assert_eq!(there + missed, slots.len() as u64);
    }
}

/// latido follows a clock that deviates by 500 ppm for ten minutes of slots. It does not follow a period that is 5 % longer.
#[test]
fn a_drift_is_followed_and_a_wrong_period_is_seen() {
    let drifting: Vec<u64> = (0..600_000u64).map(|index| 5_000_000_000 + index * 1_000_500).collect();
    assert_eq!(counted(1_000_000, &drifting, 0), [600_000, 0, 0]);
    let longer: Vec<u64> = (0..2_000u64).map(|index| 5_000_000_000 + index * 1_050_000).collect();
    let [there, missed, _] = counted(1_000_000, &longer, 0);
    assert_eq!(there, 2_000);
    assert!((90..=100).contains(&missed), "{missed}");
    assert_eq!(distance(&longer), Some(1_050_000));
}

/// A job whose last activation has no end, such as that of a thread that ends, is neither met nor late, and no later slots count as missed.
#[test]
fn a_job_without_an_end_is_no_slot() {
    let mut jobs = Jobs::of(Grid::of(1_000, &[10_000, 11_000, 12_000, 14_000]), false);
    let mut over = Vec::new();
    let done = |due, end| Over::Done { due, began: due, end, or_end: None };
    for (woken, end, whole) in
        [(10_000, 10_100, true), (11_000, 11_100, true), (11_200, 11_300, true), (12_000, 12_100, true)]
    {
        jobs.take(job(woken, end, whole), |one| over.push(one));
    }
    jobs.take(job(12_300, 99_000, false), |one| over.push(one));
    assert_eq!(over, [done(10_000, 10_100), done(11_000, 11_300)]);
    over.clear();
    jobs.take(job(14_000, 99_000, false), |one| over.push(one));
    jobs.finish(14_000, |one| over.push(one));
    assert_eq!((over, jobs.extra), (vec![Over::Missed { due: 13_000, came: 99_000, unclear: true }], 2));
}

fn job(woken: u64, end: u64, whole: bool) -> Job {
    Job { woken, end, whole, at_once: false, told: false, then: Then::Another }
}

/// A job takes 3.2 periods, and then the jobs of the slots that passed begin at once: all are done, two of them late, none is missed.
/// Without the events of the calls, latido cannot distinguish this from slots left out: they count as missed and unclear. If the trace
/// shows the call by which a program waits for the next slot, the program certainly left them out.
#[test]
fn jobs_that_catch_up_are_told_where_calls_tell() {
    let wakings = [10_000, 11_000, 12_000, 13_000, 17_000, 18_000];
    let over = |jobs_of: &[Job]| {
        let (mut jobs, mut over) = (Jobs::of(Grid::of(1_000, &wakings), false), Vec::new());
        jobs_of.iter().for_each(|one| jobs.take(*one, |slot| over.push(slot)));
        jobs.finish(18_000, |slot| over.push(slot));
        over
    };
    let told = |woken, end, at_once| Job { at_once, told: true, then: Then::ATime, ..job(woken, end, true) };
    let done = |due, began, end| Over::Done { due, began, end, or_end: None };
    let caught_up = over(&[
        told(13_000, 16_200, false),
        told(16_201, 16_300, true),
        told(16_301, 16_400, true),
        told(16_401, 16_500, true),
        told(17_000, 17_100, false),
    ]);
    assert_eq!(
        caught_up,
        [
            done(13_000, 13_000, 16_200),
            done(14_000, 16_201, 16_300),
            done(15_000, 16_301, 16_400),
            done(16_000, 16_401, 16_500),
            done(17_000, 17_000, 17_100)
        ]
    );
    // A waking that is late by 0.9 of a period belongs to its own slot if the next job begins at once.
    let late = over(&[told(13_000, 13_100, false), told(14_900, 15_000, false), told(15_001, 15_100, true)]);
    let (late, rest) = late.split_at(3);
    assert_eq!(late, [done(13_000, 13_000, 13_100), done(14_000, 14_900, 15_000), done(15_000, 15_001, 15_100)]);
    assert_eq!(rest, [16_000, 17_000].map(|due| Over::Missed { due, came: 18_000, unclear: false }));
    let missed = |due, unclear| Over::Missed { due, came: 17_100, unclear };
    for seen in [false, true] {
        let left_out =
            over(&[Job { told: seen, ..job(13_000, 16_200, true) }, Job { told: seen, ..job(17_000, 17_100, true) }]);
        let all = [
            done(13_000, 13_000, 16_200),
            missed(14_000, !seen),
            missed(15_000, !seen),
            missed(16_000, !seen),
            done(17_000, 17_000, 17_100),
        ];
        assert_eq!(left_out, all);
    }
}

/// A waking that comes 0.8 periods after its slot's time belongs to that slot if the next slot has its own waking: no slot is missed. If no
/// other waking follows, it came early for the next slot.
#[test]
fn a_waking_shortly_before_another_slots_is_late_for_its_own() {
    let regular: Vec<u64> = (0..10).map(|slot| 10_000 + slot * 1_000).collect();
    let with = |last: &[u64]| [&regular[..], last].concat();
    assert_eq!(counted(1_000, &with(&[20_800, 21_000, 22_000]), 22_000), [13, 0, 0]);
    assert_eq!(counted(1_000, &with(&[20_800, 22_000]), 22_000), [12, 1, 0]);
}

/// The preparation of a program has no slots: one waking per 37 ms for two seconds, then one per millisecond.
#[test]
fn slots_begin_with_the_first_that_are_regular() {
    let prepares: Vec<u64> = (0..54).map(|at| 5_000_000_000 + at * 37_000_000).collect();
    let works: Vec<u64> = (0..900).map(|at| 7_000_000_000 + at * 1_000_000).collect();
    let grid = Grid::of(1_000_000, &[&prepares[..], &works].concat());
    assert!(grid.is_before(prepares[53]) && !grid.is_before(works[0]));
    // With a wrong period no run of slots is regular, and all wakings count.
    assert!(!Grid::of(1_000_000, &prepares).is_before(prepares[0]));
}

/// A thread sets itself up, and requests its first slot some periods later. Its first waking belongs to no slot, wherever it comes, and
/// there is no slot between the two.
#[test]
fn the_waking_of_a_start_begins_no_slots() {
    for tenths in 3..60 {
        let begins = 9_000_000 + tenths * 100_000;
        let works: Vec<u64> = (0..300).map(|at| begins + at * 1_000_000 + at % 7 * 900).collect();
        let wakings = [&[9_000_000], &works[..]].concat();
        let mut jobs = Jobs::of(Grid::of(1_000_000, &wakings), false);
        let (mut done, mut missed) = (0, 0);
        let mut over = |over| match over {
            Over::Missed { .. } => missed += 1,
            Over::Done { .. } => done += 1,
        };
        wakings.iter().for_each(|woken| jobs.take(job(*woken, woken + 90_000, true), &mut over));
        jobs.finish(begins + 299_900_000, &mut over);
        assert_eq!(missed, 0, "{tenths} tenths of a period");
        assert!(done >= works.len(), "{tenths} tenths of a period: {done} slots");
    }
}

/// Several wakings in one slot are one job that waited in between.
#[test]
fn further_wakings_are_of_the_same_slot() {
    let wakings = [1_000_000, 1_100_000, 1_300_000, 2_000_000, 4_000_000];
    assert_eq!(counted(1_000_000, &wakings, 6_000_000), [3, 2, 2]);
}

/// Returns the slots of the jobs of a thread with slots of 1,000 from 10,000 on.
fn over(by_time: bool, jobs_of: &[Job], until: u64) -> Vec<Over> {
    let wakings: Vec<u64> = (0..10).map(|slot| 10_000 + slot * 1_000).collect();
    let (mut jobs, mut over) = (Jobs::of(Grid::of(1_000, &wakings), by_time), Vec::new());
    jobs_of.iter().for_each(|one| jobs.take(*one, |slot| over.push(slot)));
    jobs.finish(until, |slot| over.push(slot));
    over
}

/// A job waits for a lock beyond the next slot's time, and the next job begins at once: the first was late, and none is missed. Without the
/// events of the calls, its end may be that of the first activation or that of the second: latido keeps both.
#[test]
fn a_job_that_waits_beyond_its_slot_goes_on() {
    let asks = |woken, end| Job { told: true, then: Then::ATime, ..job(woken, end, true) };
    let waits = |woken, end| Job { told: false, then: Then::Another, ..job(woken, end, true) };
    let at_once = |woken, end| Job { at_once: true, ..asks(woken, end) };
    let done = |due, began, end| Over::Done { due, began, end, or_end: None };
    let told = over(
        true,
        &[asks(10_000, 10_100), waits(11_000, 11_100), asks(12_600, 12_700), at_once(12_700, 12_800)],
        13_000,
    );
    assert_eq!(told, [done(10_000, 10_000, 10_100), done(11_000, 11_000, 12_700), done(12_000, 12_700, 12_800)]);
    // The thread leaves out the slot that passed meanwhile.
    let skips = over(true, &[waits(10_000, 10_100), asks(11_600, 11_700), asks(12_000, 12_100)], 12_500);
    let expected = [done(10_000, 10_000, 11_700), Over::Missed { due: 11_000, came: 12_100, unclear: false }];
    assert_eq!(skips, [&expected[..], &[done(12_000, 12_000, 12_100)]].concat());
    let untold = over(false, &[waits(10_000, 10_100), waits(11_600, 11_700), waits(12_000, 12_100)], 12_500);
    let or_later = Over::Done { due: 10_000, began: 10_000, end: 10_100, or_end: Some(11_700) };
    assert_eq!(untold[0], or_later);
    // The late waking moves the next slot by a thousandth.
    assert_eq!(untold[1..], [done(11_000, 11_600, 11_700), done(12_001, 12_000, 12_100)]);
}

/// A stopped job ends when the thread has continued and finished. A stop during its wait belongs to no slot.
#[test]
fn a_stopped_job_goes_on() {
    let asks = |woken, end| Job { told: true, then: Then::ATime, ..job(woken, end, true) };
    let stopped = |woken, end, then| Job { then, ..job(woken, end, false) };
    let done = |due, began, end| Over::Done { due, began, end, or_end: None };
    let all = over(true, &[stopped(10_000, 10_300, Then::Stopped), asks(13_500, 13_700)], 13_000);
    assert_eq!(all[0], done(10_000, 10_000, 13_700));
    let waiting = [asks(10_000, 10_100), stopped(10_500, 10_501, Then::StoppedWaiting), asks(10_700, 10_701)];
    assert_eq!(over(true, &[&waiting[..], &[asks(11_000, 11_100)]].concat(), 11_500)[0], done(10_000, 10_000, 10_100));
    // The event that it waited for came meanwhile: that is its next job.
    let came = Job { then: Then::Another, ..job(11_020, 400_000, true) };
    let waiting = [asks(10_000, 10_100), stopped(10_500, 10_501, Then::StoppedWaiting), came];
    assert_eq!(over(false, &waiting, 11_500)[1], done(11_000, 11_020, 400_000));
    // The job never continues: its end is unknown.
    assert_eq!(over(true, &[asks(10_000, 10_100), stopped(11_000, 11_300, Then::Stopped)], 11_500).len(), 1);
}

/// Jobs that also sleep within a job, by the same call that waits for slots. The job of slot 20 sleeps until `until`, and then requests the
/// slots that passed, which return at once.
fn sleeping(until: u64, behind: u64, idly: bool) -> (Vec<Over>, u64) {
    let wakings: Vec<u64> = (10..30).map(|slot| slot * 1_000).collect();
    let told = |woken, end, at_once| Job { at_once, told: true, then: Then::ATime, ..job(woken, end, true) };
    let (mut jobs, mut over) = (Jobs::of(Grid::of(1_000, &wakings), true), Vec::new());
    for slot in 10..30 {
        let due = slot * 1_000;
        if !(21..=20 + behind).contains(&slot) {
            jobs.take(told(due, due + 100, false), |one| over.push(one));
            if idly {
                jobs.take(told(due + 101, due + 110, true), |one| over.push(one));
            }
        }
        if slot == 20 {
            jobs.take(told(until, until + 20, false), |one| over.push(one));
            for at in 0..behind {
                jobs.take(told(until + 21 + 10 * at, until + 30 + 10 * at, true), |one| over.push(one));
            }
        }
    }
    jobs.finish(30_000, |one| over.push(one));
    let missed = over.iter().filter(|one| matches!(one, Over::Missed { .. })).count() as u64;
    (over, missed)
}

/// A sleep within a job is part of that job, however long it is. The jobs that began at once belong to the slots that passed meanwhile.
#[test]
fn a_sleep_within_a_job_is_part_of_it() {
    for (until, behind) in [(21_050, 1), (21_200, 1), (21_800, 1), (22_500, 2), (24_300, 4)] {
        let (over, missed) = sleeping(until, behind, false);
        assert_eq!((over.len(), missed), (20, 0), "{until}: {over:?}");
        assert_eq!(over[10], Over::Done { due: 20_000, began: 20_000, end: until + 20, or_end: None }, "{until}");
        for at in 0..behind {
            let began = until + 21 + 10 * at;
            let done = Over::Done { due: (21 + at) * 1_000, began, end: began + 9, or_end: None };
            assert_eq!(over[(11 + at) as usize], done, "{until}");
        }
    }
    // If the thread requests past times in each job, latido cannot distinguish.
    let (over, missed) = sleeping(21_200, 1, true);
    assert_eq!((over.len(), missed), (20, 0), "{over:?}");
    assert!(matches!(over[10], Over::Done { due: 20_000, or_end: Some(_), .. }), "{:?}", over[10]);
    assert!(over[..10].iter().all(|one| matches!(one, Over::Done { or_end: None, .. })), "{over:?}");
}
