//! Tests that a stored series gives the same answer as all of its samples.

use super::*;
use crate::numbers::one::{self, Question};
use latido_model::{
    sample::{Fixture, cell},
    units::Ns,
};
use latido_statistics::tail::gate::Verdict;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// One sample per ms above 10 us, with excesses from a generalised Pareto distribution.
fn pareto(n: usize, xi: f64, seed: u64) -> Vec<i64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut excess = || {
        let above: f64 = 1.0 - random.random::<f64>();
        if xi == 0.0 { -above.ln() } else { (above.powf(-xi) - 1.0) / xi }
    };
    (0..n).map(|_| 10_000 + (2_000.0 * excess()) as i64).collect()
}

/// The extremes of these samples as computed from a record.
fn stored(samples: &[i64], limit: Option<i64>) -> Extremes {
    let mut cell = cell();
    cell.conditions.duration = Ns::from_millis(samples.len() as u64);
    cell.conditions.limit = limit.map(|limit| Ns(limit as u64));
    let fixture = Fixture::new(vec![(cell, vec![samples.to_vec()])]);
    let own = &fixture.run.cells[0];
    let repeat = Repeat::of("run", own, own.record().unwrap(), &fixture, &mut Vec::new());
    Extremes::of(&repeat, &repeat.quantities[0].tracks[0], limit)
}

fn all(samples: &[i64], limit_ns: Option<i64>) -> one::One {
    one::of(samples, &Question { interval_ns: Some(1_000_000), limit_ns, tail: None }).unwrap()
}

fn same<T: Serialize>(a: &T, b: &T) {
    let [a, b] = [a, b].map(|one| serde_json::to_value(one).unwrap());
    assert_eq!(a, b);
}

/// Where each block of the gate contains a stored sample, every figure must be the same to the last digit: fit, intervals, each test,
/// levels, the limit with its bursts, and what was seen.
#[test]
fn a_record_gives_the_answer_that_its_samples_give() {
    for (xi, seed) in [(0.0, 1), (0.2, 2), (-0.2, 3)] {
        let samples = pareto(10_000, xi, seed);
        let (own, other) = (stored(&samples, Some(25_000)), all(&samples, Some(25_000)));
        assert!(matches!(own.tail, tail::Answer::Fitted(_)) && own.limit.is_some() && own.seen.is_some(), "xi {xi}");
        same(&own.tail, &other.tail);
        same(&own.limit, &other.limit);
        same(&own.seen, &other.seen);
        assert_eq!((own.count, own.max), (other.count, Some(other.max)));
    }
}

/// Of many samples the record stores only the largest: fit and levels must be the same, and so must each test's decision.
#[test]
fn what_is_not_stored_is_not_missed() {
    let samples = pareto(100_000, 0.1, 7);
    let (tail::Answer::Fitted(own), tail::Answer::Fitted(other)) =
        (stored(&samples, None).tail, all(&samples, None).tail)
    else {
        panic!("both are fitted");
    };
    same(&(own.u, own.k, own.xi, own.levels.clone()), &(other.u, other.k, other.xi, other.levels.clone()));
    let decisions =
        |one: &tail::Fitted| one.gate.tests.iter().map(|test| (test.name, test.decision)).collect::<Vec<_>>();
    assert_eq!(decisions(&own), decisions(&other));
    assert_eq!(own.blocks, 500);
    assert!(own.levels.iter().any(|one| one.level.is_some()), "{:?}", own.gate);
}

/// The gate must also refuse a record whose values double halfway, although the first half has no stored sample. It must fit values in
/// steps of a microsecond as bins.
#[test]
fn the_gate_sees_in_a_record_what_it_is_there_to_see() {
    let calm = pareto(100_000, 0.0, 11);
    let shifted: Vec<i64> = calm.iter().zip(0..).map(|(v, at)| if at < 50_000 { *v } else { v * 2 }).collect();
    let refused = stored(&shifted, None).tail;
    let reasons = refused.reasons();
    assert!(reasons.iter().any(|why| why.contains("two halves differ")), "{reasons:?}");
    let steps: Vec<i64> = calm.iter().map(|v| v / 1_000 * 1_000).collect();
    let tail::Answer::Fitted(binned) = stored(&steps, None).tail else { panic!("no fit") };
    assert_eq!((binned.step, binned.gate.verdict), (Some(1_000.0), Verdict::IntervalCensored), "{:?}", binned.gate);
}

/// latido names what a record lacks, and invents nothing for it.
#[test]
fn a_record_that_lacks_what_it_takes_says_so() {
    let mut cell = cell();
    cell.conditions.duration = Ns::from_millis(1_000);
    let fixture = Fixture::new(vec![(cell, vec![pareto(1_000, 0.0, 5)])]);
    let own = &fixture.run.cells[0];
    let of = |change: &dyn Fn(&mut Track)| {
        let mut repeat = Repeat::of("run", own, own.record().unwrap(), &fixture, &mut Vec::new());
        repeat.tracks_mut().for_each(change);
        Extremes::of(&repeat, &repeat.quantities[0].tracks[0], None).tail.reasons().join("; ")
    };
    assert_eq!(of(&|track| track.largest.clear()), "not possible: the largest samples are not stored");
    assert!(of(&|track| track.plain.count = 3).contains("more samples are stored than were counted"));
    let few = of(&|track| track.largest.truncate(50));
    assert!(few.contains("50"), "{few}");
    // Without blocks latido treats the samples as evenly spread over the whole run.
    assert_eq!(of(&|track| track.blocks.clear()), of(&|_| ()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any samples: a refused tail has a reason and no level, an accepted tail has only finite levels, and nothing panics.
    #[test]
    fn a_refused_tail_gives_no_level(
        values in prop::collection::vec((0i64..60_000, 0u32..12), 1..3_000),
        drift in prop_oneof![Just(0i64), 0i64..40],
        is_exponential in any::<bool>(),
    ) {
        // The gate accepts exponential excesses without a drift. It hardly ever accepts the other samples.
        let own = |v: i64, power: u32| match is_exponential {
            true => 10_000 - (2_000.0 * ((v + 1) as f64 / 60_001.0).ln()) as i64,
            false => v >> power,
        };
        let samples: Vec<i64> = values.iter().zip(0..).map(|((v, power), at)| own(*v, *power) + drift * at).collect();
        let found = stored(&samples, Some(20_000));
        prop_assert!(found.tail.reasons().iter().all(|why| !why.is_empty()));
        if let tail::Answer::Fitted(fitted) = &found.tail {
            let refused = fitted.gate.verdict == Verdict::Refused;
            prop_assert_eq!(refused, !found.tail.reasons().is_empty());
            // JSON has null for a number that is not finite.
            prop_assert!(fitted.xi.value.is_finite() && fitted.sigma.is_finite());
            for level in &fitted.levels {
                prop_assert!(level.level.is_none() || !refused);
                prop_assert!(level.level.is_none_or(|one| one.value.is_finite()));
                prop_assert!(level.level.is_some() || level.refused.is_some());
            }
        } else {
            prop_assert!(!found.tail.reasons().is_empty());
        }
        prop_assert!(!serde_json::to_string(&found).unwrap().contains("NaN"));
    }
}
