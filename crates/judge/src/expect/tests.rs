//! Expectations on runs in memory.

use super::*;
use crate::{judging::of_cell, span::plain, verdict_wording};
use latido_model::{
    record::Second,
    run::CellState,
    sample::{Fixture, cell, probing, quiet, under, with_spike},
};

fn fixture() -> Fixture {
    Fixture::new(vec![
        (cell(), vec![quiet(0), quiet(1)]),
        (under("busy"), vec![quiet(0), with_spike(1, 3_000, 150_000)]),
        (probing("gap"), vec![quiet(2)]),
    ])
}

pub(super) fn expect(filter: &[(&str, &str)], statistic: Statistic, op: Op, value: f64) -> Expect {
    Expect {
        filter: filter.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        probe: "wakeup".into(),
        quantity: "latency".into(),
        claim: None,
        of: None,
        statistic,
        unit: if matches!(statistic, Statistic::Count | Statistic::Missed | Statistic::Late) { "" } else { "ns" }
            .into(),
        op,
        against: Against::Value(value),
        text: "as written".into(),
        line: 1,
    }
}

fn judged(fixture: &Fixture, expect: &Expect) -> (Verdict, String) {
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, fixture)).collect::<Vec<_>>();
    let mut found = weigh(std::slice::from_ref(expect), &fixture.run, &cells, fixture);
    let (judged, _) = found.remove(0).decide(expect, &fixture.run);
    (judged.verdict, plain(&verdict_wording::decision(judged.decision.as_ref())))
}

#[test]
fn it_must_hold_for_every_matching_series() {
    let fixture = fixture();
    let max = |filter, value| judged(&fixture, &expect(filter, Statistic::Max, Op::Less, value));
    assert_eq!(max(&[("load", "idle")], 100_000.0).0, Verdict::Pass);
    let (verdict, detail) = max(&[], 100_000.0);
    assert_eq!((verdict, detail.as_str()), (Verdict::Fail, "wakeup, busy, CPU 1: 150 µs"));
    assert_eq!(max(&[("load", "busy"), ("cpu", "0")], 100_000.0).0, Verdict::Pass);
    let (verdict, detail) = max(&[], 1_000.0);
    assert_eq!((verdict, detail.as_str()), (Verdict::Fail, "wakeup, busy, CPU 1: 150 µs (and 3 more)"));
}

#[test]
fn every_series_that_it_looks_at_is_told() {
    let fixture = fixture();
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, &fixture)).collect::<Vec<_>>();
    let max = expect(&[], Statistic::Max, Op::Less, 100_000.0);
    let mut found = weigh(std::slice::from_ref(&max), &fixture.run, &cells, &fixture);
    let each = found.remove(0).decide(&max, &fixture.run).0.each;
    // The most severe verdict comes first.
    let told: Vec<_> = each.iter().map(|one| (one.cell, one.verdict, one.measured.sentence())).collect();
    assert_eq!(told.len(), 4);
    assert_eq!(told[0], (2, Verdict::Fail, "CPU 1: 150 µs".into()));
    assert_eq!(told[3].1, Verdict::Pass);
}

#[test]
fn no_match_and_too_few_samples_are_inconclusive() {
    let fixture = fixture();
    let none = judged(&fixture, &expect(&[("load", "none")], Statistic::Max, Op::Less, 1e9));
    assert_eq!(none, (Verdict::Inconclusive, "no series matches".into()));
    let few = judged(&fixture, &expect(&[], Statistic::Quantile(0.99999), Op::Less, 1e9));
    assert_eq!(few.0, Verdict::Inconclusive);
    assert!(few.1.contains("10000 samples are too few"), "{}", few.1);
}

#[test]
fn a_matching_cell_that_was_not_measured_is_inconclusive() {
    let mut fixture = fixture();
    fixture.run.cells[0].state = CellState::Pending;
    let (verdict, detail) = judged(&fixture, &expect(&[], Statistic::Min, Op::Greater, 0.0));
    assert_eq!((verdict, detail.as_str()), (Verdict::Inconclusive, "wakeup, idle: not measured"));
}

#[test]
fn every_statistic_has_its_figure() {
    let fixture = fixture();
    let idle = |statistic, op, value| judged(&fixture, &expect(&[("load", "idle")], statistic, op, value)).0;
    for (statistic, low, high) in [
        (Statistic::Count, 9_999.0, 10_001.0),
        (Statistic::Min, 1_999.0, 2_001.0),
        (Statistic::Max, 24_848.0, 24_850.0),
        (Statistic::Above(10_000), 6.0, 8.0),
        (Statistic::Share(100_000), 0.9, 1.1),
        (Statistic::Mean, 2_500.0, 2_700.0),
        (Statistic::Sd, 300.0, 800.0),
        (Statistic::Quantile(0.5), 2_600.0, 2_640.0),
        (Statistic::Quantile(0.25), 2_300.0, 2_320.0),
        (Statistic::Missed, -1.0, 1.0),
        (Statistic::Late, -1.0, 1.0),
    ] {
        assert_eq!(idle(statistic, Op::Greater, low), Verdict::Pass, "{statistic:?}");
        assert_eq!(idle(statistic, Op::AtMost, high), Verdict::Pass, "{statistic:?}");
        assert_eq!(idle(statistic, Op::AtLeast, high), Verdict::Fail, "{statistic:?}");
    }
}

#[test]
fn an_invalid_cell_gives_no_pass_and_foreign_time_no_fail() {
    let mut invalid = fixture();
    invalid.record(1).quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
    let (verdict, detail) = judged(&invalid, &expect(&[("load", "idle")], Statistic::Max, Op::Less, 100_000.0));
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(detail.contains("refused"), "{detail}");

    let mut stolen = fixture();
    let second =
        Second { start_ns: 3_000_000_000, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() };
    stolen.record(2).quality.timeline.push(second);
    let (verdict, detail) = judged(&stolen, &expect(&[("load", "busy")], Statistic::Max, Op::Less, 100_000.0));
    assert_eq!(verdict, Verdict::Contaminated, "{detail}");
}

/// A quantity in ps is a time; a quantity in another unit is compared only with plain numbers.
#[test]
fn units_are_scaled_or_refused() {
    let mut fixture = Fixture::new(vec![(cell(), vec![vec![12_000; 10]])]);
    fixture.record(1).series[0].unit = "ps".into();
    let max = |value| judged(&fixture, &expect(&[], Statistic::Max, Op::AtMost, value));
    assert_eq!(max(12.0), (Verdict::Pass, "wakeup, idle, CPU 0: 12.00 ns".into()));
    assert_eq!(max(11.9).0, Verdict::Fail);
    assert_eq!(judged(&fixture, &expect(&[], Statistic::Count, Op::AtLeast, 10.0)).0, Verdict::Pass);
    fixture.record(1).series[0].unit = "urad".into();
    let (verdict, detail) = judged(&fixture, &expect(&[], Statistic::Max, Op::AtMost, 12.0));
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(detail.contains("latency is in urad, which cannot be compared with a value in ns"), "{detail}");
    let angle = Expect { unit: "urad".into(), ..expect(&[], Statistic::Max, Op::AtMost, 12_000.0) };
    assert_eq!(judged(&fixture, &angle), (Verdict::Pass, "wakeup, idle, CPU 0: 12000 urad".into()));
}

/// A shorter measurement cannot judge a maximum or a count, but it can judge figures that do not grow with its length.
#[test]
fn maxima_and_counts_of_a_scaled_run_are_not_measured() {
    let mut fixture = fixture();
    fixture.run.plan.scaled = Some(0.01);
    for statistic in [Statistic::Max, Statistic::Count, Statistic::Missed, Statistic::Late, Statistic::Above(100_000)] {
        let (verdict, detail) = judged(&fixture, &expect(&[], statistic, Op::AtLeast, 0.0));
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(
            detail.ends_with("not measured (scaled): 1 % of the size says nothing about a maximum or a count"),
            "{detail}"
        );
    }
    assert_eq!(judged(&fixture, &expect(&[], Statistic::Mean, Op::AtLeast, 0.0)).0, Verdict::Pass);
    fixture.run.plan.scaled = Some(1.0);
    assert_eq!(judged(&fixture, &expect(&[], Statistic::Max, Op::AtLeast, 0.0)).0, Verdict::Pass);
}

/// However many expectations use a series, latido reads its data once.
#[test]
fn the_data_of_a_series_are_read_once() {
    struct Counting<'a>(&'a Fixture, std::cell::Cell<u32>);
    impl SeriesSource for Counting<'_> {
        fn series(&self, cell: &StoredCell, series: &Series) -> anyhow::Result<SeriesData> {
            self.1.set(self.1.get() + 1);
            self.0.series(cell, series)
        }
    }
    let fixture = fixture();
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, &fixture)).collect::<Vec<_>>();
    let reads = |expectations: u32| {
        let fails = |one: u32| expect(&[], Statistic::Max, Op::Less, f64::from(one));
        let all: Vec<Expect> = (1..=expectations).map(fails).collect();
        let source = Counting(&fixture, std::cell::Cell::new(0));
        let found = weigh(&all, &fixture.run, &cells, &source);
        assert!(found.iter().all(|found| found.all.iter().all(|one| one.verdict == Verdict::Fail)));
        source.1.get()
    };
    assert_eq!((reads(1), reads(10), reads(100)), (4, 4, 4));
}
