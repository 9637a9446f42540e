//! Comparisons of cells with cells, on runs in memory.

use super::{tests::expect, *};
use crate::{
    judge::{judging::of_cell, verdict_wording},
    span::plain,
};
use latido_model::{
    cell::{Cell, Conditions, Scheduling},
    plan::{Citation, Than},
    quantity::Quantity,
    record::Second,
    run::CellState,
    sample::{Fixture, cell, level, under},
};
use proptest::prelude::*;

/// What all expectations of a plan come to.
fn together(fixture: &Fixture, all: &[Expect]) -> Vec<ExpectJudgement> {
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, fixture)).collect::<Vec<_>>();
    let mut found: Vec<Found> = all.iter().map(|one| look(one, &fixture.run, &cells, fixture)).collect();
    settle::family(&mut found);
    found.into_iter().zip(all).map(|(found, one)| found.decide(one, &fixture.run).0).collect()
}

fn told(one: &ExpectJudgement) -> (Outcome, String) {
    (one.outcome, plain(&verdict_wording::decision(one.decision.as_ref())))
}

fn judged(fixture: &Fixture, one: &Expect) -> (Outcome, String) {
    told(&together(fixture, std::slice::from_ref(one))[0])
}

/// A repeat of a tuning whose largest sample is this.
fn repeat(tuning: &str, load: &str, repeat: u32, max: i64) -> (Cell, Vec<Vec<i64>>) {
    let own = if load == "idle" { cell() } else { under(load) };
    let conditions = Conditions { limit: None, ..own.conditions.clone() };
    (Cell { tuning: level(tuning, &[]), repeat, conditions, ..own }, vec![vec![2_000, 2_100, 2_500], vec![2_000, max]])
}

/// The repeats of two tunings under a load, in turn.
fn sides_under(load: &str, stock: &[i64], isolated: &[i64]) -> Vec<(Cell, Vec<Vec<i64>>)> {
    let of = |tuning, all: &[i64]| {
        (1..).zip(all.to_vec()).map(move |(n, max)| repeat(tuning, load, n, max)).collect::<Vec<_>>()
    };
    of("stock", stock).into_iter().chain(of("isolated", isolated)).collect()
}

fn sides(stock: &[i64], isolated: &[i64]) -> Fixture {
    Fixture::new(sides_under("idle", stock, isolated))
}

/// Ten maxima that scatter by about 40 %.
const TEN: [i64; 10] = [91_000, 160_000, 120_000, 75_000, 210_000, 101_000, 140_000, 88_000, 130_000, 110_000];

fn grown(all: &[i64], times: f64) -> Vec<i64> {
    all.iter().map(|one| (*one as f64 * times) as i64).collect()
}

fn than(filter: &[(&str, &str)], statistic: Statistic, op: Op, levels: &[(&str, &str)]) -> Expect {
    let levels = levels.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    let against = Against::Than(Than { levels, by: 0.0, times: 1.0, margin: None });
    let unit = if matches!(statistic, Statistic::Above(_) | Statistic::Share(_)) { "" } else { "ns" };
    Expect { against, unit: unit.into(), ..expect(filter, statistic, op, 0.0) }
}

fn shifted(one: Expect, change: impl Fn(&mut Than)) -> Expect {
    let Against::Than(mut than) = one.against else { panic!() };
    change(&mut than);
    Expect { against: Against::Than(than), ..one }
}

const ISOLATED: &[(&str, &str)] = &[("tuning", "isolated")];
const STOCK: &[(&str, &str)] = &[("tuning", "stock")];

fn lower() -> Expect {
    than(ISOLATED, Statistic::Max, Op::Less, STOCK)
}

/// A planted factor of 2 is found with ten repeats a side, by each operator in its direction; what is decided the other
/// way does not hold.
#[test]
fn a_planted_factor_is_decided() {
    let fixture = sides(&grown(&TEN, 2.2), &TEN);
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 115 µs against stock 253 µs, ratio 0.455 (0.338 to 0.612), p below 0.0001, 10 repeats a side");
    for (op, expected) in
        [(Op::AtMost, Outcome::Holds), (Op::Greater, Outcome::DoesNotHold), (Op::AtLeast, Outcome::DoesNotHold)]
    {
        assert_eq!(judged(&fixture, &Expect { op, ..lower() }).0, expected, "{op:?}");
    }
    let words = [Outcome::Holds, Outcome::DoesNotHold, Outcome::Undecided, Outcome::NotMeasured].map(|o| o.to_string());
    assert_eq!(words, ["holds", "does not hold", "undecided", "not measured"]);
}

/// Equal sides are undecided whatever is asked, and never a failure; with a margin that they keep they are equal, which
/// neither direction survives.
#[test]
fn equal_sides_are_undecided() {
    let fixture = sides(&TEN, &grown(&TEN, 1.02));
    for op in [Op::Less, Op::AtMost, Op::Greater, Op::AtLeast] {
        let (outcome, detail) = judged(&fixture, &Expect { op, ..lower() });
        assert_eq!(outcome, Outcome::Undecided, "{detail}");
        assert!(detail.ends_with("10 repeats a side; undecided: this may be chance"), "{detail}");
        let (outcome, detail) = judged(&fixture, &shifted(Expect { op, ..lower() }, |than| than.margin = Some(0.6)));
        assert_eq!(outcome, Outcome::DoesNotHold, "{detail}");
        assert!(detail.ends_with("; equal within 60.0 %"), "{detail}");
    }
    assert_eq!(together(&fixture, &[lower()])[0].verdict, Verdict::Inconclusive);
}

/// However far apart two runs lie, one a side decides nothing; nor do three, which cannot reach 5 %.
#[test]
fn too_few_repeats_decide_nothing() {
    let (outcome, detail) = judged(&sides(&[715_000], &[1_000]), &lower());
    assert_eq!(outcome, Outcome::Undecided);
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 2.50 µs against stock 715 µs, ratio 0.00350, one run a side; undecided: one run a side cannot reach 5 %; 4 needed");
    let (outcome, detail) = judged(&sides(&[715_000, 700_000, 730_000], &[10_000, 11_000, 12_000]), &lower());
    assert_eq!(outcome, Outcome::Undecided);
    assert!(detail.ends_with("; undecided: 3 repeats a side cannot reach 5 %; 4 needed"), "{detail}");
    assert_eq!(judged(&sides(&[715_000; 4], &[10_000, 11_000, 12_000, 13_000]), &lower()).0, Outcome::Holds);
}

/// `times` and `by` ask for a distance: a factor of about 2 is more than 1.3, not more than 3.
#[test]
fn times_and_by_shift_what_is_asked() {
    let fixture = sides(&grown(&TEN, 2.2), &TEN);
    let higher = than(STOCK, Statistic::Max, Op::Greater, ISOLATED);
    let judged = |one: &Expect, times, by| {
        let one = shifted(one.clone(), |than| (than.times, than.by) = (times, by));
        super::comparison_tests::judged(&fixture, &one).0
    };
    for one in [lower(), higher] {
        assert_eq!(judged(&one, 1.3, 0.0), Outcome::Holds);
        assert_eq!(judged(&one, 2.2, 0.0), Outcome::Undecided);
        assert_eq!(judged(&one, 4.0, 0.0), Outcome::DoesNotHold);
        assert_eq!(judged(&one, 1.0, 40_000.0), Outcome::Holds);
        assert_eq!(judged(&one, 1.0, 140_000.0), Outcome::Undecided);
        assert_eq!(judged(&one, 1.0, 900_000.0), Outcome::DoesNotHold);
    }
    // What was asked shifts the question, not what was found.
    let (_, detail) = super::comparison_tests::judged(&fixture, &shifted(lower(), |than| than.times = 4.0));
    assert!(detail.contains("ratio 0.45"), "{detail}");
}

/// Every pair that a conclusion compares counts: what five repeats decide alone, they do not decide among twenty.
#[test]
fn a_family_shares_its_doubt() {
    let (stock, isolated) =
        ([300_000, 310_000, 320_000, 330_000, 340_000], [100_000, 110_000, 120_000, 130_000, 140_000]);
    let fixture = sides(&stock, &isolated);
    let alone = together(&fixture, &[lower()]);
    assert_eq!(alone[0].outcome, Outcome::Holds);
    let all = together(&fixture, &vec![lower(); 20]);
    let (outcome, detail) = told(&all[0]);
    assert_eq!(outcome, Outcome::Undecided);
    assert!(
        detail.ends_with("; undecided: 5 repeats a side cannot reach 5 % for one of 20 comparisons; 6 needed"),
        "{detail}"
    );
    // Pairs of one conclusion count as well.
    let loads: Vec<String> = (0..20).map(|n| format!("load-{n}")).collect();
    let fixture = Fixture::new(loads.iter().flat_map(|load| sides_under(load, &stock, &isolated)).collect());
    assert!(judged(&fixture, &lower()).1.contains("for one of 20 comparisons"));
}

/// What a plan will compare is what its run then does: as many pairs, with as many repeats, labels told apart; and a pilot
/// has the same figures.
#[test]
fn planned_comparisons_are_those_that_are_made() {
    let mut fixture = Fixture::new([sides_under("idle", &TEN, &TEN), sides_under("busy", &TEN[..4], &TEN)].concat());
    let labels = vec![("kind".to_owned(), vec!["normal".to_owned(), "inherit".to_owned()])];
    for number in 1..=fixture.run.cells.len() {
        for (series, kind) in fixture.record(number).series.iter_mut().zip(["normal", "inherit"]) {
            series.labels = [("kind".to_owned(), kind.to_owned())].into();
        }
        let cell = &mut fixture.run.cells[number - 1];
        (cell.measurand.labels, cell.cell.seed) = (labels.clone(), number as u64);
    }
    let kinds = than(&[("kind", "inherit")], Statistic::Max, Op::Less, &[("kind", "normal")]);
    fixture.run.plan.expect = vec![lower(), expect(&[], Statistic::Max, Op::Less, 1.0), kinds];
    let known: Vec<_> = fixture.run.cells.iter().map(|cell| (&cell.cell, &cell.measurand)).collect();
    let all = planned::planned(&fixture.run.plan, &known);
    let repeats =
        |number: usize| all.iter().filter(|one| one.expect == number).map(|one| one.repeats).collect::<Vec<_>>();
    assert_eq!(repeats(0), [(10, 10), (10, 10), (10, 4), (10, 4)]);
    let mut of_kinds = repeats(2);
    of_kinds.sort_unstable();
    assert_eq!(of_kinds, [(4, 4), (10, 10), (10, 10), (10, 10)]);
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, &fixture)).collect::<Vec<_>>();
    let pilots = pilot::pilots(&fixture.run, &cells, &fixture);
    let arms: Vec<_> = pilots.iter().map(|one| (one.arms[0].len() as u64, one.arms[1].len() as u64)).collect();
    assert_eq!(arms, all.iter().map(|one| one.repeats).collect::<Vec<_>>());
    // What a scale takes away is not compared.
    fixture.run.plan.scaled = Some(0.5);
    let known: Vec<_> = fixture.run.cells.iter().map(|cell| (&cell.cell, &cell.measurand)).collect();
    assert_eq!(planned::planned(&fixture.run.plan, &known), []);
}

/// A quantity is compared with another of the same repeats, cell by cell of the plan; the other is not taken for the first.
#[test]
fn quantities_of_the_same_repeats_are_compared() {
    let mut fixture = Fixture::new(sides_under("idle", &TEN, &grown(&TEN, 3.0)));
    for number in 1..=fixture.run.cells.len() {
        let series = &mut fixture.record(number).series;
        series[0].quantity = "early".into();
        let cell = &mut fixture.run.cells[number - 1];
        let early = cell.measurand.quantities[0].clone();
        cell.measurand.quantities.push(Quantity { name: "early".into(), ..early });
        cell.cell.seed = number as u64;
    }
    let than = than(STOCK, Statistic::Max, Op::Greater, &[("quantity", "early")]);
    for (times, outcome) in [(5.0, Outcome::Holds), (500.0, Outcome::DoesNotHold)] {
        let one = shifted(than.clone(), |than| than.times = times);
        let (found, detail) = judged(&fixture, &one);
        assert_eq!(found, outcome, "{detail}");
        assert!(detail.contains("latency 115 µs against early 2.50 µs"), "{detail}");
        assert!(detail.ends_with("10 repeats a side"), "{detail}");
    }
    fixture.run.plan.expect = vec![than];
    let known: Vec<_> = fixture.run.cells.iter().map(|cell| (&cell.cell, &cell.measurand)).collect();
    let all = planned::planned(&fixture.run.plan, &known);
    assert_eq!(all, [planned::Planned { expect: 0, repeats: (10, 10) }]);
}

/// Counts are compared as rates, and where none was counted as differences.
#[test]
fn counts_are_rates_and_zeros_give_differences() {
    let fixture = sides(&grown(&TEN, 4.0), &[50_000; 10]);
    let (outcome, detail) = judged(&fixture, &than(ISOLATED, Statistic::Above(200_000), Op::Less, STOCK));
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 0 per million against stock 200000 per million, difference -200000 per million (-200000 per million to -200000 per million), p below 0.0001, 10 repeats a side");
    // Twice as long makes no rate higher.
    let mut longer = sides_under("idle", &[300_000; 6], &[300_000; 6]);
    for (_, samples) in longer.iter_mut().skip(6) {
        let again = samples.clone();
        samples.iter_mut().zip(again).for_each(|(all, again)| all.extend(again));
    }
    let (outcome, detail) =
        judged(&Fixture::new(longer), &than(ISOLATED, Statistic::Above(200_000), Op::Greater, STOCK));
    assert_eq!(outcome, Outcome::Undecided, "{detail}");
    assert!(detail.contains("ratio 1.00"), "{detail}");
    for (statistic, op) in [(Statistic::Share(200_000), Op::Greater), (Statistic::Quantile(0.9), Op::Less)] {
        let (outcome, detail) = judged(&fixture, &than(ISOLATED, statistic, op, STOCK));
        assert!(outcome != Outcome::DoesNotHold, "{detail}");
    }
    let (outcome, detail) = judged(&fixture, &than(ISOLATED, Statistic::Above(7), Op::Less, STOCK));
    assert_eq!(
        (outcome, detail.as_str()),
        (Outcome::NotMeasured, "wakeup, idle, isolated: 7 ns is no edge of its bands")
    );
}

fn stolen() -> Second {
    Second { start_ns: 0, length_ns: 1_000_000_000, steal_ns: 10_000_000, ..Second::default() }
}

/// A repeat whose excess is foreign, or that was not measured as asked, does not count; with none left nothing is said.
#[test]
fn doubtful_repeats_are_left_out() {
    let isolated = grown(&TEN, 4.0);
    let mut fixture = sides(&TEN, &isolated);
    assert_eq!(judged(&fixture, &lower()).0, Outcome::DoesNotHold);
    fixture.record(11).quality.timeline.push(stolen());
    fixture.record(12).quality.policy_refused = Some("fifo 80 was refused: EPERM".into());
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!(outcome, Outcome::DoesNotHold, "{detail}");
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 460 µs against stock 115 µs, ratio 4.00 (2.89 to 5.45), p below 0.0001, 8 repeats against 10; one repeat of isolated left out: policy: fifo 80 was refused: EPERM; one repeat of isolated left out: all above 115 µs is foreign time");
    for number in 11..=20 {
        fixture.record(number).quality.timeline.push(stolen());
    }
    let one = &together(&fixture, &[lower()])[0];
    assert_eq!((one.verdict, one.outcome), (Verdict::Contaminated, Outcome::Undecided));
    let (_, detail) = told(one);
    for said in
        ["undecided: isolated has no repeat that counts", "; 9 repeats of isolated left out: all above 115 µs is"]
    {
        assert!(detail.contains(said), "{detail}");
    }
    // It makes no pass either: what makes the larger side larger must be its own.
    let mut fixture = sides(&isolated, &TEN);
    for number in 1..=10 {
        fixture.record(number).quality.timeline.push(stolen());
    }
    assert_eq!(together(&fixture, &[lower()])[0].verdict, Verdict::Contaminated);
    // Foreign time in what is the smaller side all the same takes nothing from it.
    let mut fixture = sides(&isolated, &TEN);
    for number in 11..=20 {
        fixture.record(number).quality.timeline.push(stolen());
    }
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!((outcome, detail.contains("left out")), (Outcome::Holds, false), "{detail}");
}

#[test]
fn labels_tell_series_apart_and_pair_them() {
    let cells = (1..=4).map(|n| {
        let spike = 90_000 + i64::from(n) * 1_000;
        (
            Cell { repeat: n, ..cell() },
            vec![vec![2_000, 24_000], vec![2_000, spike], vec![2_000, 24_000], vec![2_000, 24_000]],
        )
    });
    let mut fixture = Fixture::new(cells.collect());
    let values = |all: [&str; 2]| all.map(String::from).to_vec();
    for number in 1..=4 {
        let kinds = [("normal", "no"), ("inherit", "no"), ("normal", "yes"), ("inherit", "yes")];
        for (series, (kind, shared)) in fixture.record(number).series.iter_mut().zip(kinds) {
            series.labels = [("kind", kind), ("shared", shared)].map(|(a, b)| (a.to_string(), b.to_string())).into();
        }
        fixture.run.cells[number - 1].measurand.labels =
            vec![("kind".into(), values(["normal", "inherit"])), ("shared".into(), values(["no", "yes"]))];
    }
    let judged = |filter: &[(&str, &str)], levels: &[(&str, &str)]| {
        super::comparison_tests::judged(&fixture, &than(filter, Statistic::Max, Op::Greater, levels))
    };
    let (outcome, detail) = judged(&[("kind", "inherit"), ("shared", "no")], &[("kind", "normal")]);
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    assert!(
        detail.starts_with("wakeup, idle, kind inherit, shared no: inherit 92.5 µs against normal 24.0 µs"),
        "{detail}"
    );
    // Shared mutexes are no slower: all pairs must hold.
    let (outcome, detail) = judged(&[("kind", "inherit")], &[("kind", "normal")]);
    assert_eq!(outcome, Outcome::Undecided, "{detail}");
    assert_eq!(judged(&[("shared", "no"), ("kind", "inherit")], &[("shared", "yes")]).0, Outcome::Holds);
}

/// A repeat that was not measured is one fewer; a side without any is told with the reason.
#[test]
fn the_side_that_was_not_measured_is_told_with_the_reason() {
    let reason = "kernel `rt`: this version measures the running kernel alone";
    let skip = |fixture: &mut Fixture, cells: std::ops::RangeInclusive<usize>| {
        for number in cells {
            fixture.run.cells[number - 1].state = CellState::Skipped(reason.into());
        }
    };
    for cells in [1..=10, 11..=20] {
        let mut fixture = sides(&grown(&TEN, 2.2), &TEN);
        skip(&mut fixture, cells);
        let expected = (Outcome::NotMeasured, format!("wakeup, idle: not measured: {reason}"));
        assert_eq!(judged(&fixture, &lower()), expected);
    }
    let mut fixture = sides(&grown(&TEN, 2.2), &TEN);
    skip(&mut fixture, 20..=20);
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    assert!(detail.ends_with("9 repeats against 10"), "{detail}");
    // A pair that fails has failed, whatever was skipped elsewhere.
    let both = [sides_under("idle", &grown(&TEN, 2.2), &TEN), sides_under("busy", &TEN, &grown(&TEN, 2.2))].concat();
    let mut fixture = Fixture::new(both);
    skip(&mut fixture, 1..=10);
    assert_eq!(judged(&fixture, &lower()).0, Outcome::DoesNotHold);
    // What is skipped and in no pair is nobody's business.
    let idle = than(&[("tuning", "isolated"), ("load", "busy")], Statistic::Max, Op::Greater, STOCK);
    assert_eq!(judged(&fixture, &idle).0, Outcome::Holds);
}

/// An exact name is meant alone on the other side: `other` is not also `other nice -20`.
#[test]
fn an_exact_level_is_the_other_side_alone() {
    let nice = Scheduling::Other { nice: -20, by: latido_model::cell::NiceBy::Nice };
    let levels = [(Scheduling::OTHER, 90_000), (nice, 40_000), (Scheduling::Rr { prio: 95 }, 50_000)];
    let cells = levels.into_iter().flat_map(|(scheduling, max)| {
        (1..=5).map(move |repeat| (Cell { scheduling, repeat, ..cell() }, vec![vec![2_000, max + i64::from(repeat)]]))
    });
    let fixture = Fixture::new(cells.collect());
    let rr = [("scheduling", "rr")];
    let (outcome, detail) = judged(&fixture, &than(&rr, Statistic::Max, Op::Less, &[("scheduling", "other")]));
    assert_eq!((outcome, detail.contains("more")), (Outcome::Holds, false), "{detail}");
    let against = than(&rr, Statistic::Max, Op::Less, &[("scheduling", "other nice -20")]);
    assert_eq!(judged(&fixture, &against).0, Outcome::DoesNotHold);
}

/// The headline counts a study's conclusions in the same words.
#[test]
fn a_studys_conclusions_are_counted() {
    let mut fixture = sides(&grown(&TEN, 2.2), &TEN);
    let (title, author) = ("A study".into(), "Somebody".into());
    fixture.run.plan.source = Some(Citation { title, author, year: 2019, place: None });
    let undecided = shifted(lower(), |than| than.times = 2.2);
    let missing = Expect { statistic: Statistic::Above(7), unit: String::new(), ..lower() };
    fixture.run.plan.expect = vec![lower(), Expect { op: Op::Greater, ..lower() }, undecided, missing];
    let judgement = crate::judge::judging::of_run(&fixture.run, &fixture);
    let said = judgement.headline.sentence();
    assert!(said.starts_with("of 4 conclusions 1 holds, 1 does not hold, 1 undecided, 1 not measured"), "{said}");
    assert_eq!(judgement.exit, 3);
    let told: Vec<_> = judgement.expectations.iter().map(|one| serde_json::json!(one)["outcome"].clone()).collect();
    assert_eq!(told, ["holds", "does not hold", "undecided", "not measured"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Neither the order of the repeats nor the unit of time decides anything.
    #[test]
    fn outcomes_do_not_depend_on_order_or_units(
        stock in proptest::collection::vec(5_000i64..500_000, 1..8),
        isolated in proptest::collection::vec(5_000i64..500_000, 1..8),
        by in 1i64..50,
    ) {
        let outcome = |stock: &[i64], isolated: &[i64]| judged(&sides(stock, isolated), &lower()).0;
        let one = outcome(&stock, &isolated);
        let (mut a, mut b) = (stock.clone(), isolated.clone());
        a.rotate_left(by as usize % stock.len());
        b.reverse();
        prop_assert_eq!(outcome(&a, &b), one);
        let times = |all: &[i64]| all.iter().map(|v| v * by).collect::<Vec<_>>();
        prop_assert_eq!(outcome(&times(&stock), &times(&isolated)), one);
    }
}
