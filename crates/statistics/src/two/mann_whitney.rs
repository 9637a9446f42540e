//! The exact test of Mann & Whitney (Annals of Mathematical Statistics 18, 1947).

use super::{DRAWS, P, by_draws};
use crate::{Refusal, refusal::check};
use serde::Serialize;

/// The most work, in additions, for which the test counts all relabellings.
const MOST_WORK: f64 = 3e8;

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MannWhitney {
    /// Pairs in which a is larger, ties counted half.
    pub u_a: f64,
    /// Pairs in which b is larger, ties counted half.
    pub u_b: f64,
    /// The two-sided p: the share of relabellings whose U is at least as far from its mean.
    #[serde(flatten)]
    pub p: P,
}

/// Returns Cliff's delta of b over a (Psychological Bulletin 114, 1993), which shows how far two sides are apart whatever their scale: the
/// share of pairs in which b is larger minus the share in which a is, `1 - 2 U_a/(nm)`. It is between -1 (all of b below a) and 1.
pub fn cliffs_delta(u_a: f64, n: usize, m: usize) -> Option<f64> {
    (n > 0 && m > 0).then(|| 1.0 - 2.0 * u_a / (n as f64 * m as f64))
}

/// Compares two sides. The test relabels midranks if there are ties. It uses all relabellings by counting the subsets of each rank sum
/// (Streitberg & Roehmel, Biometrical Journal 28, 1986); where that is too much work, 99,999 random ones. Returns `Err` if a side has no
/// values, or a value is not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Result<MannWhitney, Refusal> {
    check(a, "repeats", 1)?;
    check(b, "repeats", 1)?;
    let (n, m) = (a.len() as f64, b.len() as f64);
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    // Doubled, so that midranks become integers.
    let doubled: Vec<f64> = midranks(&values).iter().map(|rank| 2.0 * rank).collect();
    let sum: f64 = doubled.iter().take(a.len()).sum();
    let middle = n * (n + m + 1.0);
    let u_a = (sum - n * (n + 1.0)) / 2.0;
    let work = (n + m) * n * (n + m) * (n + m + 1.0);
    let p = if work <= MOST_WORK {
        let distribution = subsets(&doubled, a.len());
        let far = (sum - middle).abs();
        P::exact(
            distribution
                .iter()
                .zip(0..)
                .filter(|(_, other)| (f64::from(*other) - middle).abs() >= far)
                .map(|(p, _)| p)
                .sum(),
        )
    } else {
        let far = (sum - middle).abs();
        by_draws(&doubled, a.len(), 3, DRAWS, |arm| (arm.iter().sum::<f64>() - middle).abs() >= far)
    };
    Ok(MannWhitney { u_a, u_b: n * m - u_a, p })
}

/// Returns the probability of each sum of `n` of these integers, if all subsets are equally likely.
fn subsets(integers: &[f64], n: usize) -> Vec<f64> {
    let total: f64 = integers.iter().sum();
    let mut by_size = vec![vec![0.0; total as usize + 1]; n + 1];
    if let Some(none) = by_size.first_mut().and_then(|sums| sums.first_mut()) {
        *none = 1.0;
    }
    for (integer, seen) in integers.iter().zip(1..) {
        // Go from large to small sizes, so that each integer counts once. The weights prevent an overflow: a random subset of `size` of the
        // `seen` integers contains the new one with probability size/seen.
        for size in (0..=n).rev() {
            let (smaller, rest) = by_size.split_at_mut(size);
            let Some(sums) = rest.first_mut() else { continue };
            let share = size as f64 / f64::from(seen);
            sums.iter_mut().for_each(|p| *p *= (1.0 - share).max(0.0));
            if let Some(smaller) = smaller.last() {
                sums.iter_mut().skip(*integer as usize).zip(smaller).for_each(|(to, from)| *to += share * from);
            }
        }
    }
    by_size.pop().unwrap_or_default()
}

/// Returns the probabilities of U = 0, 1, 2, ... for sides without ties.
pub(super) fn distribution(n: usize, m: usize) -> Vec<f64> {
    let ranks: Vec<f64> = (1..=n + m).map(|rank| rank as f64).collect();
    subsets(&ranks, n).into_iter().skip(n * (n + 1) / 2).take(n * m + 1).collect()
}

/// Returns the smallest two-sided p that sides of this size can reach: 2 of all `(n+m)!/(n! m!)` relabellings.
pub fn smallest_p(n: u64, m: u64) -> f64 {
    let log: f64 = (1..=n.min(m)).map(|i| ((n.max(m) + i) as f64 / i as f64).ln()).sum();
    (2.0 * (-log).exp()).min(1.0)
}

/// Returns how many repeats per side can reach a level at all.
pub fn repeats_needed(level: f64) -> Option<u64> {
    (1..=1000).find(|n| smallest_p(*n, *n) <= level * (1.0 + 1e-12))
}

/// Returns the rank (from 1) of each value; equal values get the mean of their ranks.
pub fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(f64, usize)> = values.iter().copied().zip(0..).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        let rank = before as f64 + (group.len() as f64 + 1.0) / 2.0;
        for (_, at) in group {
            if let Some(place) = ranks.get_mut(*at) {
                *place = rank;
            }
        }
        before += group.len();
    }
    ranks
}
