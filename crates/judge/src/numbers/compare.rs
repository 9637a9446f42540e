//! Two or more sides with one value per run: each is compared with the first.

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

/// The values of one side, one per run.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The name of the side.
    pub name: String,
    /// The values, at least one.
    pub values: Vec<f64>,
}

/// The result of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The unit of all values.
    pub unit: Kind,
    /// The significance level, for all verdicts together.
    pub level: f64,
    /// The sides in the given order; the first is the base.
    pub arms: Vec<Figures>,
    /// Each other side against the base.
    pub comparisons: Vec<Against>,
    /// The joint outcome: a higher side takes precedence over an undecided one, and that over everything else.
    pub outcome: Outcome,
    /// The correlation of neighbouring values within a side, if it is larger than chance explains for independent values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<f64>,
}

/// The figures of one side.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// The name of the side.
    pub arm: String,
    /// The number of runs.
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

/// One side against the base: in pairs, `a` is the base and `b` the side.
#[derive(Debug, Clone, Serialize)]
pub struct Against {
    /// The name of the side.
    pub arm: String,
    /// The name of the base.
    pub base: String,
    /// The statistics of the comparison.
    #[serde(flatten)]
    pub comparison: Comparison,
    /// The p-value of the comparison after Holm's correction, among all comparisons here.
    pub p_holm: f64,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// The joint outcome of all verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A side is higher: worse.
    Worse,
    /// No side is higher, but at least one is undecided.
    Undecided,
    /// Every side is lower or equivalent.
    NotWorse,
}

/// Compares every other side with the first.
///
/// # Errors
/// There are fewer than two sides, or the question cannot be applied to one of them.
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
    let outcome = worst(comparisons.iter().map(|one| outcome_of(&one.verdict, true)));
    let neighbours = neighbours(arms);
    Ok(Compared { unit, level: LEVEL, arms: arms.iter().map(Figures::of).collect(), comparisons, outcome, neighbours })
}

/// The one-sided 5 % point of the normal distribution.
const BY_CHANCE: f64 = 1.645;

/// Returns the correlation of neighbours within the sides, about each side's mean, if it is above what independent values have in 95 of 100
/// cases. For `n` independent values in a side, its mean is `-1/n` and its variance `1/N`, where `N` is the number of all values (Kendall
/// and Stuart).
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

/// Returns what a verdict means; of a quantity whose lower values are worse, `lower` is the bad one.
pub fn outcome_of(verdict: &Verdict, higher_is_worse: bool) -> Outcome {
    match (verdict, higher_is_worse) {
        (Verdict::Higher, true) | (Verdict::Lower, false) => Outcome::Worse,
        (Verdict::Undecided { .. }, _) => Outcome::Undecided,
        (Verdict::Lower | Verdict::Higher | Verdict::Equivalent, _) => Outcome::NotWorse,
    }
}

/// Returns the joint outcome: worse takes precedence over undecided.
pub fn worst(all: impl Iterator<Item = Outcome>) -> Outcome {
    all.min().unwrap_or(Outcome::NotWorse)
}

impl Figures {
    /// Computes the figures of a side.
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

    /// For independent values latido must report a correlation in about 5 of 100 cases.
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
