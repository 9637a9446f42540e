//! What holds for any data: no NaN, no panic, and the same answer in another order or unit.

use latido_statistics::{
    Refusal, change, exceed, factorial, quantile, seen, special,
    tail::{Level, Observed, Peak, gate, tail},
    two::{self, Question, Verdict, compare, power, rates},
};
use proptest::prelude::*;

/// A value as JSON text, for messages: serde_json writes null for NaN.
fn whole(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

const ABSURD: &[&[f64]] = &[
    &[],
    &[5.0],
    &[5.0, 5.0, 5.0, 5.0],
    &[3.0, 4.0],
    &[1e15, 1e15 + 1.0, 1e15 + 2.0, 1e15 + 3.0],
    &[1.0, 2.0, 3.0, 1e9],
    &[0.0, 1.0, 2.0],
    &[f64::NAN, 1.0],
    &[f64::INFINITY, 1.0],
    &[1e-308, 1e308, 1.0],
];

fn finite(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.is_finite())
}

/// Each pair of absurd sides is compared with finite numbers, or refused.
#[test]
fn absurd_arms_have_an_answer_or_a_refusal() {
    for a in ABSURD {
        for b in ABSURD {
            for question in [Question::RATIO, Question::DIFFERENCE, Question { margin: Some(0.05), ..Question::RATIO }]
            {
                let Ok(said) = compare(a, b, question) else { continue };
                assert!(
                    finite(&[said.mann_whitney.p.p, said.permutation.p, said.cliffs_delta, said.mann_whitney.u_a]),
                    "{said:?}"
                );
                assert!(!said.estimate.value.is_nan(), "{said:?}");
                // Only sides of at least four and three repeats can be decided.
                let decided = matches!(said.verdict(said.mann_whitney.p.p, 1), Verdict::Lower | Verdict::Higher);
                assert!(!decided || a.len() + b.len() >= 7, "{said:?}");
            }
            let _ = power::plan(&[a, b], 2.0, 24, 0.9).map(|plan| assert!(finite(&[plan.spread, plan.spread_upper])));
        }
        let _ = change::changes(a);
    }
    assert_eq!(compare(&[], &[1.0], Question::RATIO).unwrap_err().to_string(), "too few repeats: 0; the minimum is 1");
    assert_eq!(compare(&[0.0], &[1.0], Question::RATIO).unwrap_err(), Refusal::NotPositive);
}

/// Tails of constants, of two values, with an offset of 1e15, with an outlier of 1e9, and of the extremes of i64: an error or the gate
/// refuses each.
#[test]
fn absurd_tails_have_an_answer_or_a_refusal() {
    let spread = |i: u64| ((i * 2_654_435_761) % 10_007) as f64 / 10_007.0;
    let exponential = |i: u64| (-1e4 * (1.0 - spread(i)).ln()) as i64;
    let kinds: [(&str, &dyn Fn(u64) -> i64); 5] = [
        ("constant", &|_| 7),
        ("two", &|i| (i % 2) as i64),
        ("offset", &|i| 1_000_000_000_000_000 + (i % 7) as i64),
        ("outlier", &move |i| if i == 50 { 1_000_000_000 } else { exponential(i) }),
        ("extremes", &|i| if i % 2 == 0 { i64::MIN } else { i64::MAX }),
    ];
    let mut refused = 0;
    for (name, value) in kinds {
        for count in [0, 1, 2, 12, 101, 600] {
            let peaks: Vec<Peak> = (0..count).map(|i| Peak { index: i * 50, value: value(i) }).collect();
            let maxima: Vec<i64> = peaks.iter().map(|peak| peak.value).collect();
            let observed = Observed { peaks: &peaks, count: 50 * count, length_s: 10.0, block_maxima: &maxima };
            let Ok(tail) = tail(&observed, count.saturating_sub(1).min(500), &[100.0, 1e9, f64::NAN, 0.0]) else {
                continue;
            };
            assert_eq!(tail.gate.verdict, gate::Verdict::Refused, "{name} {count}: {}", whole(&tail));
            assert!(tail.levels.is_none());
            assert!(
                finite(&[tail.fit.gpd.xi, tail.fit.gpd.sigma, tail.fit.log_likelihood]),
                "{name} {count}: {tail:?}"
            );
            refused += 1;
        }
    }
    assert!(refused > 0, "no tail reached the gate");
}

fn sound(n: u64, step: i64) -> (Vec<Peak>, Vec<i64>) {
    let mut state = 1_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 + 0.5) / (1_u64 << 31) as f64
    };
    let values: Vec<i64> = (0..n).map(|_| (-10_000.0 * draw().ln()) as i64 / step * step).collect();
    let maxima = values.chunks(n as usize / 100).map(|block| *block.iter().max().unwrap()).collect();
    let mut peaks: Vec<Peak> = values.iter().zip(0..).map(|(value, index)| Peak { index, value: *value }).collect();
    peaks.sort_by_key(|peak| std::cmp::Reverse(peak.value));
    peaks.truncate(501);
    (peaks, maxima)
}

/// The times of ties among the largest samples do not matter: the gate does not call coarse data of one cause uneven.
#[test]
fn coarse_values_are_even() {
    // 100 peaks of 4 steps, 500 of 3, more of fewer, each evenly spread over the run: the largest tenth ends among those of 3.
    let steps = |i: u64| match i * 7919 % 20 {
        0 => 1,
        1..=13 => 2,
        14..=18 => 3,
        _ => 4,
    };
    let peaks: Vec<Peak> = (0..2_001).map(|i| Peak { index: i * 49, value: 5_000 * steps(i) }).collect();
    let maxima: Vec<i64> = peaks.chunks(20).filter_map(|block| block.iter().map(|peak| peak.value).max()).collect();
    let observed = Observed { peaks: &peaks, count: 100_000, length_s: 100.0, block_maxima: &maxima };
    let gate = tail(&observed, 2_000, &[]).unwrap().gate;
    assert!(gate.tests.iter().any(|test| test.name == "evenness-top"));
    for test in gate.tests.iter().filter(|test| test.name.starts_with("evenness")) {
        assert_eq!(test.decision, gate::Decision::Passed, "{test:?}");
    }
}

/// The gate accepts sound data and gives levels within bounds, up to 100 times the length and no further. Quantised data are fitted in
/// bins.
#[test]
fn a_sound_tail_gives_levels() {
    for step in [1, 1_000] {
        let (peaks, maxima) = sound(50_000, step);
        let observed = Observed { peaks: &peaks, count: 50_000, length_s: 50.0, block_maxima: &maxima };
        let tail = tail(&observed, 500, &[3600.0, 86_400.0, 0.001]).unwrap();
        let expected = if step == 1 { gate::Verdict::Accepted } else { gate::Verdict::IntervalCensored };
        assert_eq!(tail.gate.verdict, expected, "{}", whole(&tail.gate));
        let levels = tail.levels.unwrap();
        let Level::Estimated { level, .. } = &levels[0] else { panic!("{levels:?}") };
        // The largest of 3.6 million exponential values with a scale of 10 us.
        let truth = 10_000.0 * 3.6e6_f64.ln();
        assert!(level.lower.unwrap() < truth && truth < level.upper.unwrap(), "{level:?}");
        assert!(
            matches!(levels[1], Level::TooFar { furthest_s: 5000.0, .. })
                && matches!(levels[2], Level::BelowThreshold { .. })
        );
    }
}

/// Constant series, a single outlier and growing spread have no change; a small step in a quiet series has one.
#[test]
fn only_levels_change() {
    let noise = |i: usize| (i * 7919 % 101) as f64 / 101.0 - 0.5;
    let series = |f: &dyn Fn(usize) -> f64| change::changes(&(0..60).map(f).collect::<Vec<f64>>()).unwrap().changes;
    assert_eq!(series(&|_| 3.0), []);
    assert_eq!(series(&|i| if i == 31 { 1e9 } else { noise(i) }), []);
    assert_eq!(series(&|i| noise(i) * (1.0 + i as f64)), []);
    let found = series(&|i| noise(i) + if i < 40 { 0.0 } else { 2.0 });
    assert_eq!(found.iter().map(|change| change.index).collect::<Vec<_>>(), [40]);
}

/// Three repeats per side can never be decided, and the reason says so. Rates with zero counts are compared by their difference.
#[test]
fn small_arms_and_zeros_say_what_they_are() {
    let said = compare(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], Question::RATIO).unwrap();
    let Verdict::Undecided { reason } = said.verdict(said.mann_whitney.p.p, 1) else { panic!() };
    assert_eq!(reason, "3 repeats per side cannot reach 5 %; it takes 4 per side");
    let Verdict::Undecided { reason } = said.verdict(1.0, 24) else { panic!() };
    assert_eq!(reason, "3 repeats per side cannot reach 5 % for one of 24 verdicts; it takes 7 per side");
    let count = |count| rates::Count { count, exposure: 2.0 };
    let rates = rates::compare_rates(&[count(0), count(0)], &[count(4), count(6)], Question::RATIO).unwrap();
    assert_eq!((rates.question.scale, rates.estimate.value), (two::Scale::Difference, 2.5));
    assert_eq!(two::holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
}

/// An expected factor of b is no finding; other expected factors give one.
#[test]
fn an_expected_factor_shifts_the_null() {
    let a: Vec<f64> = (1..=10).map(|i| 100.0 + f64::from(i)).collect();
    let twice: Vec<f64> = a.iter().map(|a| a * 2.0).collect();
    let ask = |null| compare(&a, &twice, Question { null, ..Question::RATIO }).unwrap();
    assert!(ask(2.0).mann_whitney.p.p > 0.9);
    assert_eq!(ask(3.0).verdict(ask(3.0).mann_whitney.p.p, 1), Verdict::Lower);
    assert_eq!(ask(1.0).verdict(ask(1.0).mann_whitney.p.p, 1), Verdict::Higher);
}

/// The facts that are printed next to a maximum.
#[test]
fn what_was_seen_and_how_much_it_takes() {
    for (hours, missed) in [(1.0, 0.96), (8.0, 0.72), (24.0, 0.37), (72.0, 0.05)] {
        assert!((seen::missed(24.0, hours).unwrap() - missed).abs() < 0.005);
    }
    assert!((seen::length_needed(24.0, 0.95).unwrap() - 71.9).abs() < 0.01);
    assert_eq!([0.95, 0.99, 0.999].map(|p| quantile::needed(p, 0.05).unwrap()), [59, 299, 2995]);
    assert_eq!(exceed::clusters(&[1, 2, 10, 11, 12, 40], 3), 3);
    // Five exceedances within a hundredth of all samples are one crowd; twelve bursts of two over two thirds of the samples are not.
    assert_eq!(exceed::one_crowd(&[100, 110, 130, 145, 180], 5, 10_000), Some(35));
    let spread: Vec<u64> = (0..24).map(|at| 200 + at / 2 * 550 + at % 2 * 100).collect();
    assert_eq!(exceed::one_crowd(&spread, 5, 10_000), None);
    assert_eq!(quantile::quantile(&(1..=100).collect::<Vec<_>>(), 0.07, 0.95).unwrap().value, 7);
}

/// The test of spreads agrees with SciPy's `levene(..., center="median")` of the logarithms. Single values and equal values give no p.
#[test]
fn the_spreads_of_combinations_are_tested() {
    let of = |cells: &[&[f64]]| -> Option<f64> {
        let all = cells.iter().enumerate().flat_map(|(at, values)| {
            let one =
                move |log: &f64| factorial::Observation { levels: vec![at.to_string()], block: None, value: log.exp() };
            values.iter().map(one)
        });
        factorial::spread(&all.collect::<Vec<_>>())
    };
    let p = of(&[&[0.1, 0.2, 0.35, 0.4, 0.5], &[1.0, 3.0, 0.5, 7.0, 2.0], &[0.9, 1.0, 1.1, 1.3]]).unwrap();
    assert!((p - 0.093_609_923_381).abs() < 1e-9, "{p}");
    assert_eq!(of(&[&[0.1], &[0.2], &[1.0, 2.0]]), None);
    assert_eq!(of(&[&[1.0, 1.0], &[2.0, 2.0]]), None);
    assert_eq!(of(&[]), None);
}

/// Without repeats effects have no intervals; the error names a missing cell.
#[test]
fn factorials_without_repeats_or_cells() {
    let at = |a: &str, b: &str, value| factorial::Observation { levels: vec![a.into(), b.into()], block: None, value };
    let cells = [at("off", "off", 8.0), at("on", "off", 4.0), at("off", "on", 2.0), at("on", "on", 1.0)];
    let effects = factorial::effects(&["a", "b"], &cells, 2).unwrap();
    assert_eq!((effects.freedom, &effects.contrasts[0].interval), (0, &None));
    assert!((effects.contrasts[0].ratio - 0.5).abs() < 1e-12 && (effects.contrasts[1].ratio - 0.25).abs() < 1e-12);
    assert!((effects.contrasts[2].ratio - 1.0).abs() < 1e-12);
    let refused = factorial::effects(&["a", "b"], &[&cells[..3], &cells[..2]].concat(), 2).unwrap_err();
    assert_eq!(refused.to_string(), "effects cannot be told apart: on/on not measured");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Neither the order of repeats nor the unit changes a verdict, a p or a ratio.
    #[test]
    fn order_and_unit_do_not_matter(
        a in prop::collection::vec(1u32..50, 1..8), b in prop::collection::vec(1u32..50, 1..8), power in 0i32..20
    ) {
        let plain = |arm: &[u32]| arm.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        // A power of two keeps every digit, so that ties stay ties.
        let other = |arm: &[u32]| arm.iter().rev().map(|v| f64::from(*v) * 2.0_f64.powi(power)).collect::<Vec<f64>>();
        let (one, two) = (compare(&plain(&a), &plain(&b), Question::RATIO).unwrap(), compare(&other(&a), &other(&b), Question::RATIO).unwrap());
        prop_assert!((one.mann_whitney.p.p - two.mann_whitney.p.p).abs() < 1e-12);
        prop_assert!((one.permutation.p - two.permutation.p).abs() < 1e-9);
        prop_assert!((one.estimate.value / two.estimate.value - 1.0).abs() < 1e-9);
        prop_assert_eq!(one.verdict(one.mann_whitney.p.p, 1), two.verdict(one.mann_whitney.p.p, 1));
        // With the sides exchanged the result is mirrored.
        let back = compare(&plain(&b), &plain(&a), Question::RATIO).unwrap();
        prop_assert!((one.mann_whitney.p.p - back.mann_whitney.p.p).abs() < 1e-12);
        prop_assert!((one.estimate.value * back.estimate.value - 1.0).abs() < 1e-9);
        prop_assert!((one.cliffs_delta + back.cliffs_delta).abs() < 1e-12);
    }

    /// The shift function of a side against itself is zero, and its band contains zero.
    #[test]
    fn an_arm_is_like_itself(values in prop::collection::btree_map(1i64..1000, 1u64..50, 1..30)) {
        let repeat: Vec<(i64, u64)> = values.into_iter().collect();
        let arm = [&repeat[..], &repeat[..], &repeat[..]];
        let shifts = two::shift::shift(&arm, &arm).unwrap();
        prop_assert_eq!(shifts.first().map(|shift| shift.p), Some(0.5));
        for shift in shifts {
            prop_assert_eq!((shift.difference, shift.band), (0, Some((0, 0))));
        }
    }

    /// Ranks enclose the quantile, and widen with confidence.
    #[test]
    fn ranks_are_in_order(n in 1u64..1_000_000_000, p in 0.0001f64..0.9999) {
        let (narrow, wide) = (quantile::ranks(n, p, 0.8).unwrap(), quantile::ranks(n, p, 0.99).unwrap());
        prop_assert!(wide.lower <= narrow.lower && narrow.lower.is_none_or(|lower| lower <= narrow.rank));
        prop_assert!(narrow.upper.is_none_or(|upper| upper >= narrow.rank && wide.upper.is_none_or(|wide| wide >= upper)));
    }
}

/// The smallest ratio that repeats find is the one for which these repeats are planned, and falls with their number.
#[test]
fn the_smallest_ratio_is_the_inverse_of_a_plan() {
    let mut before = f64::INFINITY;
    for repeats in [8, 10, 20, 200] {
        let ratio = power::smallest_ratio(repeats, 0.4, 24, 0.9).unwrap();
        assert!(ratio < before, "{ratio} at {repeats}");
        before = ratio;
        // A pilot whose upper limit of the spread is .40: two values apart by what makes it so.
        let spread = 0.4 / f64::sqrt(1.0 / special::chi_square_quantile(0.2, 1.0));
        let pilot = [1.0, (spread * 2f64.sqrt()).exp()];
        let plan = power::plan(&[&pilot], ratio, 24, 0.9).unwrap();
        assert!((plan.spread_upper - 0.4).abs() < 1e-9, "{plan:?}");
        let off = plan.repeats.unwrap().abs_diff(repeats);
        assert!(off <= 1 + repeats / 20, "{repeats} repeats find {ratio}, for which {plan:?} is made");
    }
    assert_eq!(power::smallest_ratio(3, 0.4, 1, 0.9), None);
    assert_eq!(power::smallest_ratio(5, 0.4, 24, 0.9), None);
}
