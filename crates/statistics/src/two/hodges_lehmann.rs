//! By how much two sides differ: the median of all pairwise differences (Hodges & Lehmann, AMS 34, 1963).

use super::mann_whitney::distribution;
use crate::{Refusal, refusal::check};
use serde::Serialize;

/// A difference with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The median of `b - a` over all pairs.
    pub value: f64,
    /// The limits; `None` where the sides have too few values for the confidence.
    pub interval: Option<(f64, f64)>,
    /// The requested confidence.
    pub confidence: f64,
    /// The confidence that the interval really has, at least the requested one.
    pub reached: Option<f64>,
}

impl Difference {
    /// Converts a difference of logarithms to a ratio.
    pub fn exp(self) -> Self {
        Self { value: self.value.exp(), interval: self.interval.map(|(low, high)| (low.exp(), high.exp())), ..self }
    }
}

/// Returns the difference of b from a, with the interval from the exact distribution of U (Bauer, JASA 67, 1972). It is that of
/// `wilcox.test(conf.int = TRUE)` of R without ties. The limits are the sorted differences of rank c and nm + 1 - c. Here c is the smallest
/// number for which P(U <= c) is at least (1 - confidence)/2; there is no interval if c is 0. Above 400 repeats on both sides together, or
/// 20,000 pairs, the function uses the normal approximation of c.
pub fn hodges_lehmann(a: &[f64], b: &[f64], confidence: f64) -> Result<Difference, Refusal> {
    check(a, "repeats", 1)?;
    check(b, "repeats", 1)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Refusal::OutOfRange { what: "a confidence lies between 0 and 1" });
    }
    let mut differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    differences.sort_by(f64::total_cmp);
    let (rank, missed) = critical(a.len(), b.len(), (1.0 - confidence) / 2.0);
    let limits =
        || Some((*differences.get(rank.checked_sub(1)?)?, *differences.get(differences.len().checked_sub(rank)?)?));
    let interval = limits();
    Ok(Difference { value: median(&differences), interval, confidence, reached: interval.map(|_| 1.0 - 2.0 * missed) })
}

/// Returns the smallest c with P(U <= c) >= tail, and P(U < c).
fn critical(n: usize, m: usize, tail: f64) -> (usize, f64) {
    if n + m > 400 || n * m > 20_000 {
        let (n, m) = (n as f64, m as f64);
        let sd = (n * m * (n + m + 1.0) / 12.0).sqrt();
        let c = n * m / 2.0 + crate::special::normal_quantile(tail) * sd;
        return (c.floor().max(0.0) as usize, tail);
    }
    let mut below = 0.0;
    for (p, u) in distribution(n, m).into_iter().zip(0..) {
        if below + p >= tail * (1.0 + 1e-12) || (below + p - tail).abs() < 1e-14 {
            return (u, below);
        }
        below += p;
    }
    (0, 0.0)
}

/// Returns the median of sorted values, or 0 without values.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let at = |i: usize| sorted.get(i).copied().unwrap_or(0.0);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { at(half) } else { f64::midpoint(at(half.saturating_sub(1)), at(half)) }
}
