//! How often a limit is exceeded: the share of the samples, the rate per hour, and bursts counted once.

use crate::{Refusal, confidence::exceedance as bounds};
use serde::Serialize;

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Each sample above the limit.
    Samples,
    /// Each burst of samples above the limit.
    Clusters,
}

/// A share or a rate with its 95 % bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounded {
    /// The estimate.
    pub value: f64,
    /// The lower bound.
    pub lower: f64,
    /// The upper bound; of none above it is one-sided.
    pub upper: f64,
}

/// How often a limit was exceeded, and how often it may really be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Exceedance {
    /// What was counted.
    pub counted: Counted,
    /// How many lay above the limit.
    pub above: u64,
    /// Of how many samples.
    pub count: u64,
    /// The probability that a sample (that a cluster begins) lies above the limit.
    pub share: Bounded,
    /// How many there are in an hour; `None` where the length is not known.
    pub per_hour: Option<Bounded>,
}

/// Exceedances of a limit by Clopper & Pearson (see [`bounds`]), as a rate too where the length measured is known, in
/// seconds. `Err` without samples, or with more above than there are.
pub fn exceedance(counted: Counted, above: u64, count: u64, length_s: Option<f64>) -> Result<Exceedance, Refusal> {
    if above > count {
        return Err(Refusal::OutOfRange { what: "more samples lie above the limit than there are" });
    }
    let (lower, upper) = bounds(above, count).ok_or(Refusal::TooSmall { of: "samples", needed: 1, given: 0 })?;
    let share = Bounded { value: above as f64 / count as f64, lower, upper };
    let per_hour = length_s.filter(|length| *length > 0.0 && length.is_finite()).map(|length| {
        let samples = count as f64 * 3600.0 / length;
        Bounded { value: share.value * samples, lower: lower * samples, upper: upper * samples }
    });
    Ok(Exceedance { counted, above, count, share, per_hour })
}

/// Independent clusters all begin in so short a stretch with less than this probability: then they are one crowd.
const BY_CHANCE: f64 = 0.01;

/// One crowd fills no more of the samples: exceedances of two kinds of distances, bursts of bursts, gather in longer stretches too.
const ONE_FILLS: f64 = 0.1;

/// The largest distance within exceedances that are one crowd: of `n` independent clusters among `count` samples, all begin within
/// `span` with a probability of at most `n (span / count)^(n - 1)` (each in turn the first). The intervals estimator of the extremal
/// index cannot see that, since it has no distance to another crowd. `None` where chance may have brought them together, or where they fill more than a tenth of the samples. The samples
/// of a cluster depend on each other, so that the function takes clusters (those at most `gap` samples apart), not samples.
pub fn one_crowd(indices: &[u64], gap: u64, count: u64) -> Option<u64> {
    let begins = begins(indices, gap);
    let (first, last) = begins.first().zip(begins.last())?;
    let n = begins.len() as f64;
    let span = (last.saturating_sub(*first) + 1) as f64 / count.max(1) as f64;
    (span <= ONE_FILLS && n * span.powf(n - 1.0) < BY_CHANCE).then(|| gap_between(indices, 0.0))
}

/// How many clusters exceedances form: those at most `gap` samples apart are one (the runs method; Smith & Weissman, JRSS B
/// 56, 1994). The indices are those of the samples above the limit, in ascending order.
pub fn clusters(indices: &[u64], gap: u64) -> u64 {
    begins(indices, gap).len() as u64
}

/// The largest distance within clusters, where there are so many: the longest distances separate them (Ferro & Segers, JRSS B 65,
/// 2003).
pub fn gap_between(indices: &[u64], clusters: f64) -> u64 {
    let mut apart: Vec<u64> =
        indices.iter().zip(indices.iter().skip(1)).map(|(one, next)| next.saturating_sub(*one)).collect();
    apart.sort_unstable_by(|one, other| other.cmp(one));
    apart.get(clusters.floor().max(0.0) as usize).copied().unwrap_or(0)
}

/// Clusters, counted once each, with bounds that hold how uncertain their number is: the extremal index `theta` that tells them apart
/// is estimated from the distances between them, with a standard error of one part in the square root of their number (the delta
/// method on the intervals estimator's moments of exponential distances), and within 1.96 of those others of the exceedances are one.
pub fn clustered(
    indices: &[u64],
    theta: f64,
    gap: u64,
    count: u64,
    length_s: Option<f64>,
) -> Result<Exceedance, Refusal> {
    let of = |number| exceedance(Counted::Clusters, number, count, length_s);
    let n = indices.len() as f64;
    let spread = (1.96 / (theta * n).max(1.0).sqrt()).exp();
    let at = |theta: f64| of(clusters(indices, gap_between(indices, theta * n)));
    let (found, few, many) = (of(clusters(indices, gap))?, at(theta / spread)?, at(theta * spread)?);
    let between = |own: Bounded, few: Bounded, many: Bounded| Bounded {
        lower: own.lower.min(few.lower),
        upper: own.upper.max(many.upper),
        ..own
    };
    let hours = found.per_hour.zip(few.per_hour).zip(many.per_hour);
    let per_hour = hours.map(|((own, few), many)| between(own, few, many));
    Ok(Exceedance { share: between(found.share, few.share, many.share), per_hour, ..found })
}

/// The first index of each cluster.
fn begins(indices: &[u64], gap: u64) -> Vec<u64> {
    let later = indices.iter().zip(indices.iter().skip(1)).filter(|(one, next)| next.saturating_sub(**one) > gap);
    indices.first().copied().into_iter().chain(later.map(|(_, next)| *next)).collect()
}
