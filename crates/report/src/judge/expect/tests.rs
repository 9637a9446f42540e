//! Expectations on runs in memory.

use super::*;
use crate::{
    judge::{judging::of_cell, verdict_wording},
    span::plain,
};
use latido_model::{
    cell::{Cell, Scheduling},
    plan::{Citation, Than},
    record::Second,
    run::CellState,
    sample::{Fixture, cell, level, probing, quiet, under, with_spike},
};

fn fixture() -> Fixture {
    Fixture::new(vec![
        (cell(), vec![quiet(0), quiet(1)]),
        (under("busy"), vec![quiet(0), with_spike(1, 3_000, 150_000)]),
        (probing("gap"), vec![quiet(2)]),
    ])
}

fn expect(filter: &[(&str, &str)], statistic: Statistic, op: Op, value: f64) -> Expect {
    Expect {
        filter: filter.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect(),
        probe: "wakeup".into(),
        quantity: "latency".into(),
        claim: None,
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
    let judged = super::judge(expect, &fixture.run, &cells, fixture);
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
    let each = super::judge(&max, &fixture.run, &cells, &fixture).each;
    // The heaviest first.
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

/// Two tunings under two loads, repeated twice: `isolated` is quieter than `stock` when idle, and not when busy.
fn tuned() -> Fixture {
    let tuned = |tuning: &str, load: &str, repeat, max| {
        let own = if load == "idle" { cell() } else { under(load) };
        let cell = Cell {
            tuning: level(tuning, &[]),
            repeat,
            conditions: latido_model::cell::Conditions { limit: None, ..own.conditions.clone() },
            ..own
        };
        (cell, vec![quiet(0), with_spike(1, 3_000, max)])
    };
    Fixture::new(vec![
        tuned("stock", "idle", 1, 200_000),
        tuned("isolated", "idle", 1, 90_000),
        tuned("stock", "busy", 1, 400_000),
        tuned("isolated", "busy", 1, 500_000),
        tuned("stock", "idle", 2, 300_000),
        tuned("isolated", "idle", 2, 95_000),
    ])
}

fn than(filter: &[(&str, &str)], statistic: Statistic, op: Op, levels: &[(&str, &str)]) -> Expect {
    let levels = levels.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let against = Against::Than(Than { levels, by: 0.0, times: 1.0 });
    let unit = if matches!(statistic, Statistic::Above(_) | Statistic::Share(_)) { "" } else { "ns" };
    Expect { against, unit: unit.into(), ..expect(filter, statistic, op, 0.0) }
}

const LOWER: &[(&str, &str)] = &[("tuning", "isolated"), ("load", "idle")];
const STOCK: &[(&str, &str)] = &[("tuning", "stock")];

#[test]
fn a_comparison_pools_threads_and_repeats_and_tells_both_figures() {
    let fixture = tuned();
    let (verdict, detail) = judged(&fixture, &than(LOWER, Statistic::Max, Op::Less, STOCK));
    assert_eq!(
        (verdict, detail.as_str()),
        (Verdict::Pass, "wakeup, idle: isolated 95.0 µs against stock 300 µs, 2 runs a side")
    );
    // All pairs must hold: busy does not, with one run a side.
    let (verdict, detail) = judged(&fixture, &than(&LOWER[..1], Statistic::Max, Op::Less, STOCK));
    assert_eq!(
        (verdict, detail.as_str()),
        (Verdict::Fail, "wakeup, busy: isolated 500 µs against stock 400 µs, one run a side")
    );
    // Without `where` the stock cells are still the other side alone.
    let (verdict, detail) = judged(&fixture, &than(&[("load", "idle")], Statistic::Max, Op::Less, STOCK));
    assert_eq!((verdict, detail.contains("(and")), (Verdict::Pass, false), "{detail}");
    for (statistic, holds) in [
        (Statistic::Above(100_000), "isolated 0 against stock 2"),
        (Statistic::Above(150_000), "isolated 0 against stock 2"),
        (Statistic::Mean, "isolated 2.64 µs against stock 2.65 µs"),
    ] {
        let (verdict, detail) = judged(&fixture, &than(LOWER, statistic, Op::Less, STOCK));
        assert_eq!(verdict, Verdict::Pass, "{detail}");
        assert!(detail.contains(holds), "{detail}");
    }
    let (verdict, detail) = judged(&fixture, &than(LOWER, Statistic::Share(100_000), Op::Greater, STOCK));
    assert_eq!(
        (verdict, detail.as_str()),
        (Verdict::Pass, "wakeup, idle: isolated 1 against stock 0.99995, 2 runs a side")
    );
    let (verdict, detail) = judged(&fixture, &than(LOWER, Statistic::Quantile(0.25), Op::AtMost, STOCK));
    assert_eq!(verdict, Verdict::Pass, "{detail}");
    let (verdict, detail) = judged(&fixture, &than(LOWER, Statistic::Above(7), Op::Less, STOCK));
    assert_eq!(
        (verdict, detail.as_str()),
        (Verdict::Inconclusive, "wakeup, idle, isolated: 7 ns is no edge of its bands")
    );
}

#[test]
fn by_and_times_ask_for_a_distance() {
    let fixture = tuned();
    let judged = |op, filter, levels, by: f64, times: f64| {
        let mut expect = than(filter, Statistic::Max, op, levels);
        let Against::Than(than) = &mut expect.against else { panic!() };
        (than.by, than.times) = (by, times);
        super::tests::judged(&fixture, &expect).0
    };
    // 95 µs against 300 µs: lower by 205 µs, or by a factor of a little more than 3.
    assert_eq!(judged(Op::AtMost, LOWER, STOCK, 205_000.0, 1.0), Verdict::Pass);
    assert_eq!(judged(Op::AtMost, LOWER, STOCK, 205_001.0, 1.0), Verdict::Fail);
    assert_eq!(judged(Op::Less, LOWER, STOCK, 0.0, 3.1), Verdict::Pass);
    assert_eq!(judged(Op::Less, LOWER, STOCK, 0.0, 3.2), Verdict::Fail);
    let higher = [("tuning", "stock"), ("load", "idle")];
    let isolated = [("tuning", "isolated")];
    assert_eq!(judged(Op::AtLeast, &higher, &isolated, 205_000.0, 1.0), Verdict::Pass);
    assert_eq!(judged(Op::AtLeast, &higher, &isolated, 205_001.0, 1.0), Verdict::Fail);
    assert_eq!(judged(Op::Greater, &higher, &isolated, 0.0, 3.1), Verdict::Pass);
    assert_eq!(judged(Op::Greater, &higher, &isolated, 0.0, 3.2), Verdict::Fail);
}

#[test]
fn labels_tell_series_apart_and_pair_them() {
    let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), with_spike(1, 5, 90_000), quiet(0), quiet(1)])]);
    let label = |series: &mut Series, kind: &str, shared: &str| {
        series.labels = [("kind", kind), ("shared", shared)].map(|(a, b)| (a.to_string(), b.to_string())).into();
    };
    let record = fixture.record(1);
    label(&mut record.series[0], "normal", "no");
    label(&mut record.series[1], "inherit", "no");
    label(&mut record.series[2], "normal", "yes");
    label(&mut record.series[3], "inherit", "yes");
    let values = |all: [&str; 2]| all.map(String::from).to_vec();
    fixture.run.cells[0].measurand.labels =
        vec![("kind".into(), values(["normal", "inherit"])), ("shared".into(), values(["no", "yes"]))];
    let judged = |filter: &[(&str, &str)], levels: &[(&str, &str)]| {
        super::tests::judged(&fixture, &than(filter, Statistic::Max, Op::Greater, levels))
    };
    let (verdict, detail) = judged(&[("kind", "inherit"), ("shared", "no")], &[("kind", "normal")]);
    let text = "wakeup, idle, kind inherit, shared no: inherit 90.0 µs against normal 24.8 µs, one run a side";
    assert_eq!((verdict, detail.as_str()), (Verdict::Pass, text));
    let (verdict, detail) = judged(&[("kind", "inherit")], &[("kind", "normal")]);
    assert_eq!(verdict, Verdict::Fail, "shared mutexes are no slower: {detail}");
    let (verdict, _) = judged(&[("shared", "no"), ("kind", "inherit")], &[("shared", "yes")]);
    assert_eq!(verdict, Verdict::Pass);
}

#[test]
fn the_side_that_was_not_measured_is_told_with_the_reason() {
    let reason = "kernel `rt`: this version measures the running kernel alone";
    for (number, whose) in [(1, "wakeup, idle"), (2, "wakeup, idle")] {
        let mut fixture = tuned();
        for repeat in [number, number + 4] {
            fixture.run.cells[repeat - 1].state = CellState::Skipped(reason.into());
        }
        let (verdict, detail) = judged(&fixture, &than(LOWER, Statistic::Max, Op::Less, STOCK));
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(detail.starts_with(&format!("{whose}: not measured: {reason}")), "{detail}");
    }
    // A pair that fails has failed, whatever was skipped elsewhere.
    let mut fixture = tuned();
    fixture.run.cells[0].state = CellState::Skipped(reason.into());
    assert_eq!(judged(&fixture, &than(&LOWER[..1], Statistic::Max, Op::Less, STOCK)).0, Verdict::Fail);
    // What is skipped and in no pair is nobody's business.
    let mut fixture = tuned();
    fixture.run.cells[2].state = CellState::Skipped(reason.into());
    assert_eq!(judged(&fixture, &than(LOWER, Statistic::Max, Op::Less, STOCK)).0, Verdict::Pass);
}

/// An exact name is meant alone on the other side: `other` is not also `other nice -20`.
#[test]
fn an_exact_level_is_the_other_side_alone() {
    let scheduled = |scheduling, max| (Cell { scheduling, ..cell() }, vec![with_spike(0, 5, max)]);
    let nice = Scheduling::Other { nice: -20, by: latido_model::cell::NiceBy::Nice };
    let fixture = Fixture::new(vec![
        scheduled(Scheduling::OTHER, 90_000),
        scheduled(nice, 40_000),
        scheduled(Scheduling::Rr { prio: 95 }, 50_000),
    ]);
    let rr = [("scheduling", "rr")];
    let (verdict, detail) = judged(&fixture, &than(&rr, Statistic::Max, Op::Less, &[("scheduling", "other")]));
    assert_eq!((verdict, detail.contains("more")), (Verdict::Pass, false), "{detail}");
    let against = than(&rr, Statistic::Max, Op::Less, &[("scheduling", "other nice -20")]);
    assert_eq!(judged(&fixture, &against).0, Verdict::Fail);
}

#[test]
fn foreign_time_decides_no_comparison() {
    let mut fixture = tuned();
    let second =
        Second { start_ns: 3_000_000_000, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() };
    fixture.record(4).quality.timeline.push(second);
    let busy = [("tuning", "isolated"), ("load", "busy")];
    let (verdict, detail) = judged(&fixture, &than(&busy, Statistic::Max, Op::Less, STOCK));
    assert_eq!(verdict, Verdict::Contaminated);
    assert!(detail.ends_with("but all of isolated above 400 µs is foreign time"), "{detail}");
    // It makes no pass either: here the stock side is larger by it.
    let mut fixture = tuned();
    fixture.record(1).quality.timeline.push(second);
    fixture.record(5).quality.timeline.push(second);
    assert_eq!(judged(&fixture, &than(LOWER, Statistic::Max, Op::Less, STOCK)).0, Verdict::Contaminated);
    // Of one repeat alone it does not.
    let mut fixture = tuned();
    fixture.record(1).quality.timeline.push(second);
    assert_eq!(judged(&fixture, &than(LOWER, Statistic::Max, Op::Less, STOCK)).0, Verdict::Pass);
    let mut fixture = tuned();
    fixture.record(2).quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
    assert_eq!(judged(&fixture, &than(LOWER, Statistic::Max, Op::Less, STOCK)).0, Verdict::Inconclusive);
}

/// A quantity in ps is a time; one in another unit is compared with plain numbers alone.
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

#[test]
fn a_studys_conclusions_have_words_of_their_own() {
    let mut fixture = tuned();
    let mut one = than(LOWER, Statistic::Max, Op::Less, STOCK);
    one.claim = Some("Isolation lowers the maximum".into());
    let word = |fixture: &Fixture, one: &Expect| {
        let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, fixture)).collect::<Vec<_>>();
        super::judge(one, &fixture.run, &cells, fixture).word()
    };
    assert_eq!(word(&fixture, &one), "pass");
    let (title, author) = ("A study".into(), "Somebody".into());
    fixture.run.plan.source = Some(Citation { title, author, year: 2019, place: None });
    assert_eq!(word(&fixture, &one), "reproduced");
    assert_eq!(word(&fixture, &Expect { op: Op::Greater, ..one.clone() }), "not reproduced");
    fixture.run.cells[1].state = CellState::Pending;
    assert_eq!(word(&fixture, &one), "not measured");
}
