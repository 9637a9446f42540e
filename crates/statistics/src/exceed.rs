//! How often a limit is exceeded: the share of the samples, the rate per hour, and bursts counted once.

use crate::{Refusal, confidence::exceedance as bounds};
use serde::Serialize;

/// What is counted.
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
    /// The upper bound; it is one-sided if no sample is above the limit.
    pub upper: f64,
}

/// How often a limit was exceeded, and how often it may really be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Exceedance {
    /// What was counted.
    pub counted: Counted,
    /// How many samples or clusters were above the limit.
    pub above: u64,
    /// The number of all samples.
    pub count: u64,
    /// The probability that a sample is above the limit, or that a cluster begins with it.
    pub share: Bounded,
    /// The rate per hour; `None` where the length is not known.
    pub per_hour: Option<Bounded>,
}

/// Calculates the exceedances of a limit by Clopper & Pearson (see [`bounds`]), and their rate where the measured length, in seconds, is
/// known. Returns `Err` without samples, or if `above` is larger than `count`.
pub fn exceedance(counted: Counted, above: u64, count: u64, length_s: Option<f64>) -> Result<Exceedance, Refusal> {
    if above > count {
        return Err(Refusal::OutOfRange { what: "more samples are above the limit than there are in all" });
    }
    let (lower, upper) = bounds(above, count).ok_or(Refusal::TooSmall { of: "samples", needed: 1, given: 0 })?;
    let share = Bounded { value: above as f64 / count as f64, lower, upper };
    let per_hour = length_s.filter(|length| *length > 0.0 && length.is_finite()).map(|length| {
        let samples = count as f64 * 3600.0 / length;
        Bounded { value: share.value * samples, lower: lower * samples, upper: upper * samples }
    });
    Ok(Exceedance { counted, above, count, share, per_hour })
}

/// Independent clusters begin within a stretch this short with less than this probability. If they do, they count as one crowd.
const BY_CHANCE: f64 = 0.01;

/// The largest share of the samples that one crowd may fill: exceedances with two kinds of distances (bursts of bursts) gather in longer
/// stretches, too.
const ONE_FILLS: f64 = 0.1;

/// Returns the largest distance between exceedances that are one crowd. If `n` clusters among `count` samples are independent, all begin
/// within `span` with a probability of at most `n (span / count)^(n - 1)` (each in turn the first). The intervals estimator of the extremal
/// index cannot recognise one crowd, because there is no distance to another one. Returns `None` where chance may have brought the clusters
/// together, or where they fill more than a tenth of the samples. The samples of a cluster depend on each other, so the function uses
/// clusters (exceedances at most `gap` samples apart), not samples.
pub fn one_crowd(indices: &[u64], gap: u64, count: u64) -> Option<u64> {
    let begins = begins(indices, gap);
    let (first, last) = begins.first().zip(begins.last())?;
    let n = begins.len() as f64;
    let span = (last.saturating_sub(*first) + 1) as f64 / count.max(1) as f64;
    (span <= ONE_FILLS && n * span.powf(n - 1.0) < BY_CHANCE).then(|| gap_between(indices, 0.0))
}

/// Returns how many clusters exceedances form: exceedances at most `gap` samples apart belong to one cluster (the runs method; Smith &
/// Weissman, JRSS B 56, 1994). The indices are those of the samples above the limit, in ascending order.
pub fn clusters(indices: &[u64], gap: u64) -> u64 {
    begins(indices, gap).len() as u64
}

/// Returns the largest distance within clusters if there are `clusters` of them: the longest distances separate them (Ferro & Segers, JRSS
/// B 65, 2003).
pub fn gap_between(indices: &[u64], clusters: f64) -> u64 {
    let mut apart: Vec<u64> =
        indices.iter().zip(indices.iter().skip(1)).map(|(one, next)| next.saturating_sub(*one)).collect();
    apart.sort_unstable_by(|one, other| other.cmp(one));
    apart.get(clusters.floor().max(0.0) as usize).copied().unwrap_or(0)
}

/// Counts each cluster once, with bounds that include the uncertainty of the number of clusters. That uncertainty comes from the extremal
/// index `theta`, which is estimated from the distances between exceedances. Its relative standard error is one divided by the square root
/// of the number of clusters (the delta method on the intervals estimator's moments of exponential distances). The bounds include the
/// numbers of clusters for 1.96 standard errors below and above `theta`.
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

/// Returns the first index of each cluster.
fn begins(indices: &[u64], gap: u64) -> Vec<u64> {
    let later = indices.iter().zip(indices.iter().skip(1)).filter(|(one, next)| next.saturating_sub(**one) > gap);
    indices.first().copied().into_iter().chain(later.map(|(_, next)| *next)).collect()
}
