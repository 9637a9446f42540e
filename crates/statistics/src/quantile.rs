//! Quantiles as order statistics, with intervals given by ranks.

use crate::{Refusal, dependence::design_effect, special::binomial_at_most};
use serde::Serialize;

/// The ranks (from 1) of a quantile and of its two-sided interval among `n` sorted samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Ranks {
    /// The quantile is the sample of rank `ceil(n p)`.
    pub rank: u64,
    /// The rank of the lower limit; `None` if there are too few samples for one.
    pub lower: Option<u64>,
    /// The rank of the upper limit; `None` if there are too few samples for one. It never falls back to the maximum.
    pub upper: Option<u64>,
}

/// A quantile with its interval, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantile {
    /// The share of samples that are at most this large.
    pub p: f64,
    /// The ranks of the value and its limits.
    pub ranks: Ranks,
    /// The sample of rank `ceil(n p)`.
    pub value: i64,
    /// The lower limit, if it exists.
    pub lower: Option<i64>,
    /// The upper limit, if it exists.
    pub upper: Option<i64>,
    /// How many samples contain as much information about the quantile as one independent sample, because samples above it come in crowds;
    /// 1 for independent samples.
    pub design_effect: f64,
}

/// Returns the ranks for the quantile `p` of `n` samples, with an interval of the given confidence.
///
/// Lower rank `max{l: P(Bin(n,p) <= l-1) <= a/2}`, upper rank `min{u: P(Bin(n,p) <= u-1) >= 1 - a/2}` with `a` one minus the confidence
/// (Conover, Practical Nonparametric Statistics, 1999, section 3.2). The function assumes independent samples. Returns `Err` without
/// samples and outside of 0 < p < 1.
pub fn ranks(n: u64, p: f64, confidence: f64) -> Result<Ranks, Refusal> {
    if !(p > 0.0 && p < 1.0 && confidence > 0.0 && confidence < 1.0) {
        return Err(Refusal::OutOfRange { what: "a quantile and its confidence lie between 0 and 1" });
    }
    if n == 0 {
        return Err(Refusal::TooSmall { of: "samples", needed: 1, given: 0 });
    }
    let tail = (1.0 - confidence) / 2.0;
    // The number of counts, from 0 on, whose distribution function meets the condition.
    let upto = |holds: &dyn Fn(f64) -> bool| first(n.saturating_add(1), |k| !holds(binomial_at_most(k, n, p)));
    // P(Bin <= l-1) <= a/2 is true for l-1 = 0 .. count-1, so that the last l is the count.
    let lower = upto(&|below| below <= tail);
    let upper = upto(&|below| below < 1.0 - tail).saturating_add(1);
    Ok(Ranks { rank: ranks_of(n, p), lower: (lower >= 1).then_some(lower), upper: (upper <= n).then_some(upper) })
}

/// Returns the ranks of a quantile where `design_effect` samples contain as much information about it as one independent sample. They are
/// the ranks for `n / design_effect` independent samples, converted to ranks among all `n` and rounded outwards. With a design effect of 1
/// these are [`ranks`].
///
/// # Errors
/// Those of [`ranks`]. Fewer samples than a design effect count as one.
pub fn ranks_among(n: u64, p: f64, confidence: f64, design_effect: f64) -> Result<Ranks, Refusal> {
    if design_effect.is_nan() || design_effect <= 1.0 {
        return ranks(n, p, confidence);
    }
    let effective = ((n as f64 / design_effect).floor() as u64).max(u64::from(n > 0));
    let found = ranks(effective, p, confidence)?;
    let each = n as f64 / effective.max(1) as f64;
    // Convert the number of samples above: near the top it is small and exact.
    let above = |rank: u64| (effective.saturating_sub(rank)) as f64 * each;
    let lower = found.lower.map(|rank| n.saturating_sub(above(rank).ceil() as u64)).filter(|rank| *rank >= 1);
    let upper = found.upper.map(|rank| n.saturating_sub(above(rank).floor() as u64));
    Ok(Ranks { rank: ranks_of(n, p), lower, upper })
}

/// Returns `ceil(n p)`. A product that is an integer except for rounding counts as that integer: 100 times 0.07 is 7.
pub(crate) fn ranks_of(n: u64, p: f64) -> u64 {
    let product = n as f64 * p;
    let near = product.round();
    let exact = if (product - near).abs() <= 4.0 * f64::EPSILON * n as f64 { near } else { product.ceil() };
    (exact as u64).clamp(1, n)
}

/// Returns the first number below `end` from which on a condition is true, or `end` if there is none.
fn first(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Returns the quantile `p` of independent samples in ascending order.
///
/// # Errors
/// Those of [`ranks`].
pub fn quantile(sorted: &[i64], p: f64, confidence: f64) -> Result<Quantile, Refusal> {
    with(sorted, p, confidence, 1.0)
}

/// Returns the quantile `p` of a series, given in time order and in ascending order. Its limits are also correct where samples come in
/// crowds.
///
/// # Errors
/// Those of [`ranks`].
pub fn quantile_of_series(series: &[i64], sorted: &[i64], p: f64, confidence: f64) -> Result<Quantile, Refusal> {
    let n = sorted.len() as u64;
    let value =
        ranks(n, p, confidence).map(|ranks| sorted.get(ranks.rank as usize - 1).copied().unwrap_or_default())?;
    let above: Vec<(u64, f64)> = (0..).zip(series).filter(|(_, one)| **one > value).map(|(at, _)| (at, 1.0)).collect();
    with(sorted, p, confidence, design_effect(&above, n, n))
}

fn with(sorted: &[i64], p: f64, confidence: f64, design_effect: f64) -> Result<Quantile, Refusal> {
    let ranks = ranks_among(sorted.len() as u64, p, confidence, design_effect)?;
    let of = |rank: u64| sorted.get(rank as usize - 1).copied();
    Ok(Quantile {
        p,
        ranks,
        value: of(ranks.rank).unwrap_or_default(),
        lower: ranks.lower.and_then(of),
        upper: ranks.upper.and_then(of),
        design_effect,
    })
}

/// Returns how many samples are necessary for an upper limit of the quantile `p` to exist, where the limit may fail with probability
/// `tail`: `ln tail / ln p` rounded up. That is 59, 299 and 2,995 for p95, p99 and p99.9 and a one-sided 5 %; a two-sided interval of 95 %
/// has a tail of 0.025. `None` outside of 0 < p < 1.
pub fn needed(p: f64, tail: f64) -> Option<u64> {
    (p > 0.0 && p < 1.0 && tail > 0.0 && tail < 1.0).then(|| (tail.ln() / p.ln()).ceil() as u64)
}
