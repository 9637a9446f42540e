//! Decides the comparisons of a plan together: each gets its p after Holm's correction.

use super::{Found, Weighed};
use crate::{
    judgement::SeriesJudgement,
    measured::{Measured, Pair, Ruling},
};
use latido_model::verdict::Verdict;
use latido_statistics::two::{
    self, Comparison, holm,
    mann_whitney::{repeats_needed, smallest_p},
    verdict::LEVEL,
};
use std::collections::BTreeMap;

/// A comparison before the others of its family are known.
pub(super) struct Open {
    /// Whether the side that the expectation is about should be the lower one.
    pub(super) lower: bool,
    pub(super) pair: Pair,
    pub(super) place: String,
    /// The comparison of that side with the other.
    pub(super) comparison: Comparison,
    /// The figures of the repeats that count, one per repeat, for both sides.
    pub(super) arms: [Vec<f64>; 2],
    /// The cells of that side.
    pub(super) cells: Vec<usize>,
    pub(super) quantity: String,
    pub(super) labels: BTreeMap<String, String>,
}

/// Settles all comparisons of a plan.
pub(super) fn family(found: &mut [Found]) {
    let all = found.iter().flat_map(|found| &found.open).map(|open| open.comparison.p());
    let p: Vec<f64> = all.collect();
    let family = p.len();
    let mut adjusted = holm(&p).into_iter();
    for found in found {
        for (open, p) in std::mem::take(&mut found.open).into_iter().zip(adjusted.by_ref()) {
            open.settle(p, family, found);
        }
    }
}

impl Open {
    fn settle(self, p: f64, family: usize, found: &mut Found) {
        let Self { lower, mut pair, place, comparison, cells, quantity, labels, .. } = self;
        let (verdict, ruling) = match comparison.verdict(p, family as u64) {
            two::Verdict::Lower if lower => (Verdict::Pass, Ruling::Decided),
            two::Verdict::Higher if !lower => (Verdict::Pass, Ruling::Decided),
            two::Verdict::Lower | two::Verdict::Higher => (Verdict::Fail, Ruling::Decided),
            two::Verdict::Equivalent => {
                (Verdict::Fail, Ruling::Equivalent(comparison.question.margin.unwrap_or_default()))
            }
            two::Verdict::Undecided { .. } => (Verdict::Inconclusive, undecided(&comparison, family)),
        };
        (pair.p, pair.ruling) = (Some((p, family)), ruling);
        // The smaller the p-value, the farther the verdict is from changing.
        let beyond = match verdict {
            Verdict::Pass => p - 1.0,
            Verdict::Fail => 1.0 - p,
            _ => 0.0,
        };
        let measured = Measured::Pair(Box::new(pair));
        for cell in cells {
            let (quantity, labels, measured) = (quantity.clone(), labels.clone(), measured.clone());
            found.each.push((beyond, SeriesJudgement { cell, quantity, labels, verdict, measured }));
        }
        found.all.push(Weighed { verdict, beyond, place, measured });
    }
}

fn undecided(comparison: &Comparison, family: usize) -> Ruling {
    let level = LEVEL / family.max(1) as f64;
    let (n, m) = comparison.repeats;
    if smallest_p(n, m) > level { Ruling::TooFew(repeats_needed(level)) } else { Ruling::Chance }
}
