//! The shift function: each quantile of b compared with that of a (Doksum, Annals of Statistics 2, 1974).

use crate::{Refusal, random};
use rand::Rng as _;
use serde::Serialize;
use std::collections::BTreeSet;

/// The quantiles that the function compares.
pub const QUANTILES: [f64; 6] = [0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];
/// The number of bootstrap draws.
const DRAWS: usize = 999;

/// The samples of one repeat as a histogram: values in ascending order, and the count of each.
pub type Repeat = [(i64, u64)];

/// One quantile of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// The quantile.
    pub p: f64,
    /// Its value among all samples of a.
    pub a: i64,
    /// Its value among all samples of b.
    pub b: i64,
    /// b - a.
    pub difference: i64,
    /// The 95 % band of the difference by a bootstrap over repeats; `None` with fewer than three repeats per side.
    pub band: Option<(i64, i64)>,
    /// b/a, where both are above zero.
    pub ratio: Option<f64>,
    /// Its band.
    pub ratio_band: Option<(f64, f64)>,
}

/// Returns the shift function p50..p99.99 of pooled repeats. The band is pointwise: the function draws repeats with replacement, because
/// samples within a repeat are not independent repeats (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3). It omits
/// quantiles that have no sample above them. Returns `Err` if a side or a repeat has no samples.
pub fn shift(a: &[&Repeat], b: &[&Repeat]) -> Result<Vec<Shift>, Refusal> {
    let (a, b) = (Arm::of(a)?, Arm::of(b)?);
    let enough = a.columns.len() >= 3 && b.columns.len() >= 3;
    let mut rng = random::generator(7);
    let whole = |arm: &Arm| arm.quantiles(&vec![1; arm.columns.len()]);
    let mut draw = |arm: &Arm| {
        let n = arm.columns.len();
        let mut weights = vec![0; n];
        (0..n).for_each(|_| weights.get_mut(rng.random_range(0..n)).into_iter().for_each(|weight| *weight += 1));
        arm.quantiles(&weights)
    };
    let draws: Vec<_> = (0..if enough { DRAWS } else { 0 }).map(|_| (draw(&a), draw(&b))).collect();
    let least = a.total().min(b.total()) as f64;
    let both = QUANTILES.into_iter().zip(whole(&a)).zip(whole(&b)).enumerate();
    let shown = both.filter(|(_, ((p, _), _))| least * (1.0 - p) >= 1.0);
    Ok(shown
        .map(|(at, ((p, a), b))| {
            let at = |values: &[i64]| values.get(at).copied().unwrap_or_default();
            let pairs: Vec<(i64, i64)> = draws.iter().map(|(a, b)| (at(a), at(b))).collect();
            let ratio = |a: i64, b: i64| (a > 0 && b > 0).then(|| b as f64 / a as f64);
            let ratios: Option<Vec<f64>> = pairs.iter().map(|(a, b)| ratio(*a, *b)).collect();
            let difference = |a: i64, b: i64| b.saturating_sub(a);
            Shift {
                p,
                a,
                b,
                difference: difference(a, b),
                band: band(pairs.iter().map(|(a, b)| difference(*a, *b)).collect(), Ord::cmp),
                ratio: ratio(a, b),
                ratio_band: ratios.and_then(|ratios| band(ratios, f64::total_cmp)),
            }
        })
        .collect())
}

/// Returns the middle 95 % of the draws.
fn band<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> std::cmp::Ordering) -> Option<(T, T)> {
    values.sort_by(order);
    let cut = (values.len() + 1) / 40;
    Some((*values.get(cut.checked_sub(1)?)?, *values.get(values.len().checked_sub(cut)?)?))
}

/// The repeats of one side as counts of the values that occur.
struct Arm {
    values: Vec<i64>,
    columns: Vec<Vec<u64>>,
}

impl Arm {
    fn of(repeats: &[&Repeat]) -> Result<Self, Refusal> {
        let values: BTreeSet<i64> =
            repeats.iter().flat_map(|repeat| repeat.iter().filter(|(_, n)| *n > 0).map(|(v, _)| *v)).collect();
        let empty = repeats.iter().position(|repeat| repeat.iter().all(|(_, count)| *count == 0));
        if values.is_empty() || empty.is_some() {
            return Err(Refusal::TooSmall { of: "samples in a repeat", needed: 1, given: 0 });
        }
        let values: Vec<i64> = values.into_iter().collect();
        let column = |repeat: &Repeat| {
            let mut counts = vec![0; values.len()];
            for (value, count) in repeat {
                let place = values.binary_search(value).ok().and_then(|at| counts.get_mut(at));
                place.into_iter().for_each(|place: &mut u64| *place += count);
            }
            counts
        };
        Ok(Self { columns: repeats.iter().map(|repeat| column(repeat)).collect(), values })
    }

    fn total(&self) -> u64 {
        self.columns.iter().flatten().sum()
    }

    /// Returns the quantiles if each repeat counts as often as its weight.
    fn quantiles(&self, weights: &[u64]) -> Vec<i64> {
        let mut counts = vec![0_u64; self.values.len()];
        for (column, weight) in self.columns.iter().zip(weights).filter(|(_, weight)| **weight > 0) {
            counts.iter_mut().zip(column).for_each(|(sum, count)| *sum += count * weight);
        }
        let n: u64 = counts.iter().sum();
        let (mut seen, mut below) = (0, self.values.iter().zip(&counts).peekable());
        let of = |p: f64| {
            let rank = crate::quantile::ranks_of(n, p);
            while let Some((value, count)) = below.peek() {
                if seen + **count >= rank {
                    return **value;
                }
                seen += **count;
                below.next();
            }
            self.values.last().copied().unwrap_or_default()
        };
        QUANTILES.into_iter().map(of).collect()
    }
}
