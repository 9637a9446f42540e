//! Two or more arms of one value a run: each against the first.

use super::{Kind, finite};
use crate::statistics::{mean, median};
use latido_statistics::{
    Refusal,
    two::{
        Comparison, Question, Verdict, compare,
        verdict::{LEVEL, verdicts},
    },
};
use serde::Serialize;

/// The values of one arm, one a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// What it is called.
    pub name: String,
    /// At least one.
    pub values: Vec<f64>,
}

/// Arms compared.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Of all values.
    pub unit: Kind,
    /// The level of a verdict, for all of them together.
    pub level: f64,
    /// The arms in the order in which they were given; the first is the base.
    pub arms: Vec<Figures>,
    /// Each other arm against the base.
    pub comparisons: Vec<Against>,
    /// What counts: a higher one before an undecided one before all else.
    pub outcome: Outcome,
    /// How alike values are that follow each other within an arm, where that is more than chance makes of independent ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<f64>,
}

/// An arm by itself.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// What it is called.
    pub arm: String,
    /// How many runs.
    pub count: u64,
    /// The smallest value.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The largest value.
    pub max: f64,
}

/// One arm against the base: of pairs, `a` is the base and `b` the arm.
#[derive(Debug, Clone, Serialize)]
pub struct Against {
    /// The arm.
    pub arm: String,
    /// The base.
    pub base: String,
    /// All that was computed.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The p of Mann-Whitney after Holm, among all comparisons here.
    pub p_holm: f64,
    /// What follows.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What all verdicts say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// An arm is higher: worse.
    Worse,
    /// None is higher, and of one it cannot be said.
    Undecided,
    /// Every arm is lower or equivalent.
    NotWorse,
}

/// Compares every further arm with the first.
///
/// # Errors
/// There are fewer than two arms, or one of them cannot be compared so.
pub fn of(arms: &[Arm], question: Question, unit: Kind) -> Result<Compared, Refusal> {
    let Some((base, others)) = arms.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err(Refusal::TooSmall { of: "arms", needed: 2, given: arms.len() as u64 });
    };
    let all: Vec<Comparison> =
        others.iter().map(|arm| compare(&base.values, &arm.values, question)).collect::<Result<_, _>>()?;
    let decided = verdicts(&all);
    let comparisons = others.iter().zip(all).zip(decided).map(|((arm, mut comparison), (p_holm, verdict))| {
        for estimate in [&mut comparison.estimate, &mut comparison.estimate_90] {
            estimate.interval = finite(estimate.interval);
        }
        Against { arm: arm.name.clone(), base: base.name.clone(), comparison, p_holm, verdict }
    });
    let comparisons: Vec<Against> = comparisons.collect();
    let outcome = outcome(comparisons.iter().map(|one| &one.verdict));
    let neighbours = neighbours(arms);
    Ok(Compared { unit, level: LEVEL, arms: arms.iter().map(Figures::of).collect(), comparisons, outcome, neighbours })
}

/// The one-sided 5 % point of the normal distribution.
const BY_CHANCE: f64 = 1.645;

/// The correlation of neighbours within the arms, about each arm's mean, where it lies above what independent values have in 95 of 100
/// cases: of `n` of them in an arm it is distributed about `-1/n` with a variance of `1/N`, of `N` in all (Kendall and Stuart).
fn neighbours(arms: &[Arm]) -> Option<f64> {
    let (mut products, mut squares, mut pairs) = (0.0, 0.0, 0.0);
    for arm in arms {
        let middle = mean(&arm.values);
        let off: Vec<f64> = arm.values.iter().map(|value| value - middle).collect();
        products += off.iter().zip(off.iter().skip(1)).map(|(one, next)| one * next).sum::<f64>();
        squares += off.iter().map(|one| one * one).sum::<f64>();
        pairs += off.len().saturating_sub(1) as f64;
    }
    let values = pairs + arms.len() as f64;
    let expected = -(arms.len() as f64) / values;
    let found = products / squares;
    (pairs >= 8.0 && found > expected + BY_CHANCE / values.sqrt()).then_some(found)
}

/// What verdicts say together.
pub fn outcome<'a>(all: impl Iterator<Item = &'a Verdict> + Clone) -> Outcome {
    if all.clone().any(|verdict| *verdict == Verdict::Higher) {
        Outcome::Worse
    } else if all.clone().any(|verdict| matches!(verdict, Verdict::Undecided { .. })) {
        Outcome::Undecided
    } else {
        Outcome::NotWorse
    }
}

impl Figures {
    /// Those of an arm.
    pub fn of(arm: &Arm) -> Self {
        let extreme = |pick: fn(f64, f64) -> f64| arm.values.iter().copied().reduce(pick).unwrap_or(0.0);
        Self {
            arm: arm.name.clone(),
            count: arm.values.len() as u64,
            min: extreme(f64::min),
            median: median(&arm.values),
            mean: mean(&arm.values),
            max: extreme(f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(values: [Vec<f64>; 2]) -> Vec<Arm> {
        let named = ["a", "b"].into_iter().zip(values);
        named.map(|(name, values)| Arm { name: name.into(), values }).collect()
    }

    #[test]
    fn values_that_follow_each_other_are_noted() {
        let wave = |shift: f64| (0..12).map(|at| 100.0 + 10.0 * (f64::from(at) / 2.0 + shift).sin()).collect();
        assert!(neighbours(&arms([wave(0.0), wave(1.0)])).is_some_and(|alike| alike > 0.5));
        let turns = |shift: u32| (0..12).map(|at| f64::from((at + shift) % 2)).collect();
        assert_eq!(neighbours(&arms([turns(0), turns(1)])), None);
        let few = |shift: f64| (0..4).map(|at| f64::from(at) + shift).collect();
        assert_eq!(neighbours(&arms([few(0.0), few(9.0)])), None, "of so few nobody can say");
    }

    /// Of independent values latido notes it in about 5 of 100 cases.
    #[test]
    fn independent_values_are_noted_as_often_as_chance_says() {
        // Knuth's linear congruential generator, its upper 53 bits.
        let mut state = 7_u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut eight = || (0..8).map(|_| uniform()).collect::<Vec<f64>>();
        let noted = (0..2_000).filter(|_| neighbours(&arms([eight(), eight()])).is_some()).count();
        assert!((40..=160).contains(&noted), "{noted} of 2000");
    }
}
