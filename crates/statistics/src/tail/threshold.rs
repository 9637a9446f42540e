//! Converts the largest samples to excesses: threshold, quantisation, clusters.

use super::{
    excesses::Excesses,
    observed::{Observed, Peak},
};
use crate::{Refusal, exceed::gap_between};

/// If the extremal index is below this, exceedances count as clustered.
const CLUSTERED: f64 = 0.9;

/// The samples above a threshold, one per cluster.
#[derive(Debug, Clone)]
pub struct Exceedances {
    /// The threshold x_(n-k), in ns.
    pub threshold: i64,
    /// The number of samples above the threshold.
    pub raw: u64,
    /// The largest sample of each cluster, in time order; all samples if they were not declustered.
    pub peaks: Vec<Peak>,
    /// The number of different values.
    pub distinct: u64,
    /// The extremal index of all exceedances.
    pub extremal_index: f64,
    /// The distance between the last sample of a cluster and the first of the next is larger than this; 0 if not declustered.
    pub gap: u64,
    /// The step of quantised values, in ns.
    pub step_ns: Option<f64>,
    /// The excesses of the peaks over the threshold; in bins if quantised.
    pub excesses: Excesses,
}

impl Exceedances {
    /// Returns the exceedances of x_(n-k) in the observed data.
    pub fn of(observed: &Observed<'_>, k: u64) -> Result<Self, Refusal> {
        let mut largest: Vec<Peak> = observed.peaks.to_vec();
        largest.sort_by_key(|peak| std::cmp::Reverse(peak.value));
        let given = largest.len() as u64;
        let threshold = usize::try_from(k).ok().and_then(|k| largest.get(k)).map(|peak| peak.value);
        let threshold = threshold.ok_or(Refusal::TooSmall { of: "stored largest samples", needed: k + 1, given })?;
        if observed.count < given {
            return Err(Refusal::OutOfRange { what: "there are more peaks than samples" });
        }
        largest.retain(|peak| peak.value > threshold);
        largest.sort_by_key(|peak| peak.index);
        let raw = largest.len() as u64;
        let (extremal_index, gap) = extremal_index(&largest);
        let gap = if extremal_index < CLUSTERED { gap } else { 0 };
        let peaks = decluster(&largest, gap);
        let mut values: Vec<i64> = peaks.iter().map(|peak| peak.value).collect();
        values.sort_unstable();
        let (distinct, step) = (distinct(&values), step(threshold, &values));
        let excesses = match step {
            Some(step) => Excesses::Binned(bins(threshold, &values, step)),
            None => Excesses::Exact(values.iter().map(|value| excess(*value, threshold)).collect()),
        };
        Ok(Self { threshold, raw, peaks, distinct, extremal_index, gap, step_ns: step, excesses })
    }

    /// Returns where excesses begin, in ns: half a step above the threshold if quantised.
    pub fn origin(&self) -> f64 {
        self.threshold as f64 + self.step_ns.unwrap_or(0.0) / 2.0
    }
}

/// Returns the difference, even if it does not fit into an i64.
fn excess(value: i64, threshold: i64) -> f64 {
    (i128::from(value) - i128::from(threshold)) as f64
}

/// Returns the intervals estimator of the extremal index (Ferro & Segers, JRSS B 65, 2003), and the run length that follows from it: `N`
/// exceedances have `theta N` clusters, which the longest times separate.
fn extremal_index(peaks: &[Peak]) -> (f64, u64) {
    let indices: Vec<u64> = peaks.iter().map(|peak| peak.index).collect();
    let times: Vec<u64> =
        indices.iter().zip(indices.iter().skip(1)).map(|(one, next)| next.saturating_sub(*one)).collect();
    let n = times.len() as f64;
    let large = times.iter().any(|time| *time > 2);
    let (mut sum, mut squares) = (0.0, 0.0);
    for time in times.iter().map(|time| *time as f64) {
        sum += if large { time - 1.0 } else { time };
        squares += if large { (time - 1.0) * (time - 2.0) } else { time * time };
    }
    if squares <= 0.0 {
        return (1.0, 0);
    }
    let theta = (2.0 * sum * sum / (n * squares)).min(1.0);
    (theta, gap_between(&indices, theta * (n + 1.0)))
}

/// Returns the largest peak of each run of peaks that are at most `gap` apart.
fn decluster(peaks: &[Peak], gap: u64) -> Vec<Peak> {
    let mut kept: Vec<Peak> = Vec::new();
    let mut last = None;
    for peak in peaks {
        let same = last.is_some_and(|last| peak.index.saturating_sub(last) <= gap);
        match kept.last_mut() {
            Some(largest) if same && peak.value > largest.value => *largest = *peak,
            Some(_) if same => {}
            _ => kept.push(*peak),
        }
        last = Some(peak.index);
    }
    kept
}

fn distinct(sorted: &[i64]) -> u64 {
    let mut values = sorted.to_vec();
    values.dedup();
    values.len() as u64
}

/// Returns the step of the values: a common divisor of all differences, or, if there are too many ties for another reason, the median
/// difference of neighbours. Values on a grid count as quantised however fine the grid is: the binned fit is equally good then.
fn step(threshold: i64, sorted: &[i64]) -> Option<f64> {
    let from = |value: &i64| (i128::from(*value) - i128::from(threshold)).unsigned_abs();
    let common = sorted.iter().map(from).fold(0, divisor);
    if common > 1 {
        return Some(common as f64);
    }
    // For values with scale s on a grid of step g, a pair is tied with probability g/2s.
    let (mut ties, mut run) = (0.0, 0.0);
    let mut last = None;
    for value in sorted {
        run = if last == Some(value) { run + 1.0 } else { 0.0 };
        ties += run;
        last = Some(value);
    }
    let n = sorted.len() as f64;
    if ties / (n * (n - 1.0) / 2.0).max(1.0) < 0.01 {
        return None;
    }
    let mut steps: Vec<u128> =
        sorted.iter().zip(sorted.iter().skip(1)).map(|(a, b)| from(b) - from(a)).filter(|step| *step > 0).collect();
    steps.sort_unstable();
    Some(steps.get(steps.len() / 2).copied().unwrap_or(1) as f64)
}

fn divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Returns bins of one step around each value, counted from half a step above the threshold.
fn bins(threshold: i64, sorted: &[i64], step: f64) -> Vec<(f64, f64, f64)> {
    let mut bins: Vec<(f64, f64, f64)> = Vec::new();
    for value in sorted {
        let bin = ((excess(*value, threshold) / step).round() - 1.0).max(0.0);
        let (low, high) = (bin * step, (bin + 1.0) * step);
        match bins.last_mut() {
            Some((last, _, count)) if *last == low => *count += 1.0,
            _ => bins.push((low, high, 1.0)),
        }
    }
    bins
}
