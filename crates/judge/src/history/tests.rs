//! Tests where a change is found, and what several series together decide.

use super::*;
use crate::observed::{Wanted, of_run};
use latido_model::{
    cell::Cell,
    plan::Statistic,
    sample::{Fixture, cell, under},
};

/// A run with three repeats each, idle and busy, whose maxima (us) have these medians.
fn night(number: usize, idle: i64, busy: i64) -> Vec<Observed> {
    let samples = |max: i64| vec![(0..500).map(|k| 2_000 + k % 7).chain([max * 1_000]).collect()];
    let cells = [(cell(), idle), (under("busy"), busy)].into_iter().flat_map(|(cell, max)| {
        // The median of three repeats counts, whatever the others are.
        [(1, max - 3), (2, max), (3, max + 400)].map(|(repeat, max)| (Cell { repeat, ..cell.clone() }, samples(max)))
    });
    let fixture = Fixture::new(cells.collect());
    let wanted = Wanted { statistic: Statistic::Max, samples: false };
    let mut all = of_run(&fixture.run, wanted, &fixture, &mut Vec::new()).unwrap();
    all.iter_mut().for_each(|one| one.run = format!("night {number}"));
    all
}

fn asked(metric: &str) -> Asked {
    Asked { metric: metric.parse().unwrap(), despite: Vec::new(), load_margin: 0.25 }
}

/// One series changes, the other does not: latido finds where, reports the p after correction for both series, and decides.
#[test]
fn a_change_of_one_series_decides() {
    let nights: Vec<Vec<Observed>> =
        (0..14).map(|n| night(n, 50 + n as i64 % 3, if n < 8 { 100 } else { 150 } + n as i64 % 4)).collect();
    let found = of(&nights, &asked("max")).unwrap();
    let [idle, busy] = found.series.as_slice() else { panic!("{found:?}") };
    assert_eq!((idle.place.as_str(), idle.found.changes.len(), idle.p_holm), ("idle", 0, None));
    assert_eq!(idle.points[1].value, 51_000.0, "the middle of the repeats");
    assert_eq!((busy.found.changes[0].index, busy.found.changes[0].before.as_str()), (8, "night 8"));
    let p = busy.found.changes[0].p;
    assert!((busy.p_holm.unwrap() - (2.0 * p).min(1.0)).abs() < 1e-12, "two series that decide");
    assert_eq!((found.outcome, busy.differences[0].len()), (Outcome::Worse, 0));
    // A change for the better is not worse.
    let turned: Vec<Vec<Observed>> = nights.into_iter().rev().collect();
    assert_eq!(of(&turned, &asked("wakeup.latency.max")).unwrap().outcome, Outcome::NotWorse);
}

/// Three runs at three times the latency are too few for a change, but latido must not call the outcome "not worse".
#[test]
fn newest_nights_that_stand_out_leave_it_undecided() {
    let nights = |high: usize| -> Vec<Vec<Observed>> {
        (0..20).map(|n| night(n, 50, if n < 20 - high { 100 + n as i64 % 7 } else { 300 })).collect()
    };
    // Four of them already make a change, although the search places it one run off.
    for high in 1..=3 {
        let found = of(&nights(high), &asked("wakeup.latency.max")).unwrap();
        let busy = &found.series[1].found;
        assert_eq!((found.outcome, busy.newest.count), (Outcome::Undecided, high), "{high}: {busy:?}");
    }
    assert_eq!(of(&nights(5), &asked("max")).unwrap().outcome, Outcome::Worse);
    // The highest run of all is in the middle and says nothing about the newest runs.
    let mut calm = nights(0);
    calm[9] = night(9, 50, 900);
    let found = of(&calm, &asked("max")).unwrap();
    assert_eq!(found.outcome, Outcome::NotWorse);
}

/// Nine runs decide nothing. For a quantity that was not measured, the error lists what was measured.
#[test]
fn too_few_nights_decide_nothing() {
    let nights: Vec<Vec<Observed>> = (0..9).map(|n| night(n, 50, if n < 4 { 100 } else { 900 })).collect();
    let found = of(&nights, &asked("max")).unwrap();
    assert_eq!(found.outcome, Outcome::Undecided);
    let why = found.series[1].found.refused.as_deref();
    assert_eq!(why, Some("too few values in order of time: 9; the minimum is 10"));
    let error = of(&nights, &asked("gap.gap.max")).unwrap_err();
    assert!(error.contains("gap.gap was not measured") && error.contains("wakeup.latency"), "{error}");
}

/// latido leaves out a run whose load did half of the usual, but only from the series of that load. If it is the newest run, the outcome is
/// not "not worse".
#[test]
fn a_night_of_another_rate_is_left_out() {
    let nights = |slow: usize| -> Vec<Vec<Observed>> {
        let mut all: Vec<_> = (0..14).map(|n| night(n, 50 + n as i64 % 3, 100 + n as i64 % 4)).collect();
        for (number, one) in all.iter_mut().enumerate().flat_map(|(n, night)| night.iter_mut().map(move |one| (n, one)))
        {
            let rate = if number == slow { 5.0 } else { 10.0 + number as f64 / 10.0 };
            one.rates = if one.cell.load.items.is_empty() { [].into() } else { [("work".to_owned(), rate)].into() };
        }
        all
    };
    let found = of(&nights(3), &asked("max")).unwrap();
    assert_eq!(found.series.iter().map(|one| one.points.len()).collect::<Vec<_>>(), [14, 13]);
    assert_eq!(
        found.left_out,
        [
            "night 3: wakeup (busy): work is 5 /s, usually 10.6 /s: more than 25 % apart; --despite load includes it anyway"
        ]
    );
    assert_eq!(found.outcome, Outcome::NotWorse);
    assert_eq!(of(&nights(13), &asked("max")).unwrap().outcome, Outcome::Undecided);
    let despite = Asked { despite: vec![Unlike::Load], ..asked("max") };
    let found = of(&nights(13), &despite).unwrap();
    assert_eq!((found.left_out.len(), found.series[1].points.len(), found.outcome), (0, 14, Outcome::NotWorse));
}
