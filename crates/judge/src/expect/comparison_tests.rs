//! Comparisons of cells with cells, on runs in memory.

mod left_out;
mod pairs;

use super::{tests::expect, *};
use crate::{judging::of_cell, span::plain, verdict_wording};
use latido_model::{
    cell::{Cell, Conditions, Scheduling},
    plan::{Citation, Than},
    quantity::Quantity,
    record::Second,
    run::CellState,
    sample::{Fixture, cell, level, under},
};
use proptest::prelude::*;

/// Judges all expectations of a plan together.
fn together(fixture: &Fixture, all: &[Expect]) -> Vec<ExpectJudgement> {
    let cells = fixture.run.cells.iter().map(|cell| of_cell(cell, fixture)).collect::<Vec<_>>();
    let mut found = weigh(all, &fixture.run, &cells, fixture);
    settle::family(&mut found);
    found.into_iter().zip(all).map(|(found, one)| found.decide(one, &fixture.run).0).collect()
}

fn told(one: &ExpectJudgement) -> (Outcome, String) {
    (one.outcome, plain(&verdict_wording::decision(one.decision.as_ref())))
}

fn judged(fixture: &Fixture, one: &Expect) -> (Outcome, String) {
    told(&together(fixture, std::slice::from_ref(one))[0])
}

/// A repeat of a tuning, with this largest sample.
fn repeat(tuning: &str, load: &str, repeat: u32, max: i64) -> (Cell, Vec<Vec<i64>>) {
    let own = if load == "idle" { cell() } else { under(load) };
    let conditions = Conditions { limit: None, ..own.conditions.clone() };
    (Cell { tuning: level(tuning, &[]), repeat, conditions, ..own }, vec![vec![2_000, 2_100, 2_500], vec![2_000, max]])
}

/// The repeats of two tunings under a load, first all of one and then all of the other.
fn sides_under(load: &str, stock: &[i64], isolated: &[i64]) -> Vec<(Cell, Vec<Vec<i64>>)> {
    let of = |tuning, all: &[i64]| {
        (1..).zip(all.to_vec()).map(move |(n, max)| repeat(tuning, load, n, max)).collect::<Vec<_>>()
    };
    of("stock", stock).into_iter().chain(of("isolated", isolated)).collect()
}

fn sides(stock: &[i64], isolated: &[i64]) -> Fixture {
    Fixture::new(sides_under("idle", stock, isolated))
}

/// Ten maxima that vary by about 40 %.
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

/// Ten repeats per side must find a planted factor of 2, with each operator in its direction; an expectation of the opposite direction does
/// not hold.
#[test]
fn a_planted_factor_is_decided() {
    let fixture = sides(&grown(&TEN, 2.2), &TEN);
    let (outcome, detail) = judged(&fixture, &lower());
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 115 µs against stock 253 µs, ratio 0.455 (0.338 to 0.612), p below 0.0001, 10 repeats per side");
    for (op, expected) in
        [(Op::AtMost, Outcome::Holds), (Op::Greater, Outcome::DoesNotHold), (Op::AtLeast, Outcome::DoesNotHold)]
    {
        assert_eq!(judged(&fixture, &Expect { op, ..lower() }).0, expected, "{op:?}");
    }
    let words = [Outcome::Holds, Outcome::DoesNotHold, Outcome::Undecided, Outcome::NotMeasured].map(|o| o.to_string());
    assert_eq!(words, ["holds", "does not hold", "undecided", "not measured"]);
}

/// Options of the probe make sides, too: cells that agree in all other options form a pair.
#[test]
fn options_of_the_probe_are_compared() {
    let of = |between: &str, switches: i64, repeat: u32, max: i64| {
        let (mut cell, samples) = self::repeat("stock", "idle", repeat, max);
        cell.probe.options.insert("between".into(), between.into());
        cell.probe.options.insert("switches".into(), switches.into());
        (cell, samples)
    };
    let side = |between, switches, all: Vec<i64>| {
        (1..).zip(all).map(move |(repeat, max)| of(between, switches, repeat, max)).collect::<Vec<_>>()
    };
    let dear = || grown(&TEN, 2.2);
    let both = |switches| [side("threads", switches, TEN.to_vec()), side("processes", switches, dear())].concat();
    let fixture = Fixture::new([both(10), both(20)].concat());
    let one = |here, op| than(&[("option.between", here)], Statistic::Max, op, &[("option.between", "threads")]);
    let (outcome, detail) = judged(&fixture, &one("processes", Op::Greater));
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    assert!(detail.contains("processes") && detail.ends_with("(and 1 more)"), "{detail}");
    assert_eq!(judged(&fixture, &one("processes", Op::Less)).0, Outcome::DoesNotHold);
    // Cells with different numbers of switches form no pair.
    let fixture = Fixture::new([side("threads", 10, TEN.to_vec()), side("processes", 20, dear())].concat());
    assert_eq!(judged(&fixture, &one("processes", Op::Greater)).0, Outcome::NotMeasured);
}

/// Equal sides are undecided for every operator, and never a failure. With a margin that they keep, they are equivalent, and no direction
/// holds.
#[test]
fn equal_sides_are_undecided() {
    let fixture = sides(&TEN, &grown(&TEN, 1.02));
    for op in [Op::Less, Op::AtMost, Op::Greater, Op::AtLeast] {
        let (outcome, detail) = judged(&fixture, &Expect { op, ..lower() });
        assert_eq!(outcome, Outcome::Undecided, "{detail}");
        assert!(detail.ends_with("10 repeats per side; undecided: this may be chance"), "{detail}");
        let (outcome, detail) = judged(&fixture, &shifted(Expect { op, ..lower() }, |than| than.margin = Some(0.6)));
        assert_eq!(outcome, Outcome::DoesNotHold, "{detail}");
        assert!(detail.ends_with("; equal within 60.0 %"), "{detail}");
    }
    assert_eq!(together(&fixture, &[lower()])[0].verdict, Verdict::Inconclusive);
}

/// However far apart two runs are, one repeat per side decides nothing; three cannot reach 5 % either.
#[test]
fn too_few_repeats_decide_nothing() {
    let (outcome, detail) = judged(&sides(&[715_000], &[1_000]), &lower());
    assert_eq!(outcome, Outcome::Undecided);
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 2.50 µs against stock 715 µs, ratio 0.00350, one run per side; undecided: one run per side cannot reach 5 %; 4 needed");
    let (outcome, detail) = judged(&sides(&[715_000, 700_000, 730_000], &[10_000, 11_000, 12_000]), &lower());
    assert_eq!(outcome, Outcome::Undecided);
    assert!(detail.ends_with("; undecided: 3 repeats per side cannot reach 5 %; 4 needed"), "{detail}");
    assert_eq!(judged(&sides(&[715_000; 4], &[10_000, 11_000, 12_000, 13_000]), &lower()).0, Outcome::Holds);
}

/// `times` and `by` require a distance: a factor of about 2 is more than 1.3, but not more than 3.
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
    // They shift the question, not the result.
    let (_, detail) = super::comparison_tests::judged(&fixture, &shifted(lower(), |than| than.times = 4.0));
    assert!(detail.contains("ratio 0.45"), "{detail}");
}

/// Four repeats against two have 15 relabellings: they decide nothing, in any unit and order of the values.
#[test]
fn fewer_repeats_of_one_side_decide_no_more_than_their_relabellings() {
    for by in [1, 2, 7, 1000] {
        let fixture = sides(&[112_112 * by, 104_132 * by], &[235_519, 266_596, 324_048, 339_527].map(|one| one * by));
        let (outcome, detail) = judged(&fixture, &lower());
        assert_eq!(outcome, Outcome::Undecided, "{detail}");
        assert!(detail.ends_with("; undecided: 4 against 2 repeats cannot reach 5 %; 4 of each needed"), "{detail}");
    }
}

/// Counts are compared as rates, and as differences where a side has no count.
#[test]
fn counts_are_rates_and_zeros_give_differences() {
    let fixture = sides(&grown(&TEN, 4.0), &[50_000; 10]);
    let (outcome, detail) = judged(&fixture, &than(ISOLATED, Statistic::Above(200_000), Op::Less, STOCK));
    assert_eq!(outcome, Outcome::Holds, "{detail}");
    insta::assert_snapshot!(detail, @"wakeup, idle: isolated 0 per million against stock 200000 per million, difference -200000 per million (-200000 per million to -200000 per million), p below 0.0001, 10 repeats per side");
    // A run of twice the length has no higher rate.
    let mut longer = sides_under("idle", &[300_000; 6], &[300_000; 6]);
    for (_, samples) in longer.iter_mut().skip(6) {
        let again = samples.clone();
        samples.iter_mut().zip(again).for_each(|(all, again)| all.extend(again));
    }
    let (outcome, detail) =
        judged(&Fixture::new(longer), &than(ISOLATED, Statistic::Above(200_000), Op::Greater, STOCK));
    assert_eq!(outcome, Outcome::Undecided, "{detail}");
    assert!(detail.contains("ratio 1.00"), "{detail}");
    // The five samples of a repeat have no 90th percentile.
    for (statistic, op, expected) in [
        (Statistic::Share(200_000), Op::Greater, Outcome::Holds),
        (Statistic::Quantile(0.9), Op::Less, Outcome::NotMeasured),
    ] {
        let (outcome, detail) = judged(&fixture, &than(ISOLATED, statistic, op, STOCK));
        assert_eq!(outcome, expected, "{detail}");
    }
    let (outcome, detail) = judged(&fixture, &than(ISOLATED, Statistic::Above(7), Op::Less, STOCK));
    assert_eq!(
        (outcome, detail.as_str()),
        (Outcome::NotMeasured, "wakeup, idle, isolated: 7 ns is not an edge of its bands")
    );
}

/// The headline counts a study's conclusions with the same words.
#[test]
fn a_studys_conclusions_are_counted() {
    let mut fixture = sides(&grown(&TEN, 2.2), &TEN);
    let (title, author) = ("A study".into(), "Somebody".into());
    fixture.run.plan.source = Some(Citation { title, author, year: 2019, place: None });
    let undecided = shifted(lower(), |than| than.times = 2.2);
    let missing = Expect { statistic: Statistic::Above(7), unit: String::new(), ..lower() };
    fixture.run.plan.expect = vec![lower(), Expect { op: Op::Greater, ..lower() }, undecided, missing];
    let judgement = crate::judging::of_run(&fixture.run, &fixture);
    let said = judgement.headline.sentence();
    assert!(
        said.starts_with("of 4 conclusions of the study, 1 holds, 1 does not hold, 1 undecided, 1 not measured"),
        "{said}"
    );
    assert_eq!(judgement.exit, 3);
    let told: Vec<_> = judgement.expectations.iter().map(|one| serde_json::json!(one)["outcome"].clone()).collect();
    assert_eq!(told, ["holds", "does not hold", "undecided", "not measured"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Neither the order of the repeats nor the unit of time changes the outcome.
    #[test]
    fn outcomes_do_not_depend_on_order_or_units(
        stock in proptest::collection::vec(5_000i64..500_000, 1..8),
        isolated in proptest::collection::vec(5_000i64..500_000, 1..8),
        (up, down) in prop::sample::select(vec![(1i64, 1i64), (10, 1), (1, 10)]),
        by in 1i64..50,
    ) {
        // Sides of the same size are hardly ever decided; sides that are ten times apart often are.
        let apart = |all: &[i64], times: i64| all.iter().map(|v| v * times).collect::<Vec<_>>();
        let (stock, isolated) = (apart(&stock, up), apart(&isolated, down));
        let outcome = |stock: &[i64], isolated: &[i64]| judged(&sides(stock, isolated), &lower()).0;
        let one = outcome(&stock, &isolated);
        let (mut a, mut b) = (stock.clone(), isolated.clone());
        a.rotate_left(by as usize % stock.len());
        b.reverse();
        prop_assert_eq!(outcome(&a, &b), one);
        prop_assert_eq!(outcome(&apart(&stock, by), &apart(&isolated, by)), one);
    }
}
