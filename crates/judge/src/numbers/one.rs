//! One run: quantiles with their intervals, how often a limit is exceeded, what the time was enough to see, and the tail.

use super::CONFIDENCE;
use crate::extremes::{Seen, limit::Limit, tail};
use latido_model::ranks::supported;
use latido_statistics::{
    Refusal,
    moments::Moments,
    quantile::{self, Ranks},
};
use serde::Serialize;

/// The quantiles in the result.
const QUANTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// What the user requests for one run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question {
    /// The time from one sample to the next, ns; figures per hour or in days need it.
    pub interval_ns: Option<u64>,
    /// The limit, ns: latido counts the samples above it.
    pub limit_ns: Option<i64>,
    /// How many of the largest samples make the tail; a fiftieth if not given.
    pub tail: Option<u64>,
}

/// The statistics of one run.
#[derive(Debug, Clone, Serialize)]
pub struct One {
    /// The unit of all values, `ns`.
    pub unit: &'static str,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The number of samples.
    pub count: u64,
    /// The smallest sample, ns.
    pub min: i64,
    /// The mean, ns, from an exact sum.
    pub mean: f64,
    /// The standard deviation (n - 1), ns; absent for a single sample.
    pub sd: Option<f64>,
    /// The largest sample, ns.
    pub max: i64,
    /// The time from one sample to the next, ns, if known.
    pub interval_ns: Option<u64>,
    /// The length of the measurement, seconds, if known.
    pub length_s: Option<f64>,
    /// The quantiles.
    pub quantiles: Vec<Quantile>,
    /// How often the limit was exceeded, if the user gave one.
    pub limit: Option<Limit>,
    /// What the time was enough to see, if known.
    pub seen: Option<Seen>,
    /// How far the tail reaches.
    pub tail: tail::Answer,
}

/// A quantile with its limits, and how many samples its upper limit needs.
#[derive(Debug, Clone, Serialize)]
pub struct Quantile {
    /// The share of samples that are at most this large.
    pub p: f64,
    /// The ranks of the value and its limits.
    pub ranks: Ranks,
    /// The sample of rank `ceil(n p)`, ns; absent if fewer than 1/(1-p) samples support it: it would be the largest one, whatever p is.
    pub value: Option<i64>,
    /// The lower limit, ns, if it exists.
    pub lower: Option<i64>,
    /// The upper limit, ns, if it exists.
    pub upper: Option<i64>,
    /// How many samples contain as much information about the quantile as one independent sample.
    pub design_effect: f64,
    /// How many samples an upper limit needs.
    pub needed: Option<u64>,
}

/// Computes the statistics of samples in order of time, ns.
///
/// # Errors
/// There are no samples.
pub fn of(samples: &[i64], question: &Question) -> Result<One, Refusal> {
    let none = Refusal::TooSmall { of: "samples", needed: 1, given: 0 };
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let (Some(min), Some(max)) = (sorted.first().copied(), sorted.last().copied()) else { return Err(none) };
    let count = sorted.len() as u64;
    let (mean, sd) = moments(samples, min);
    let length_s = question.interval_ns.map(|interval| count as f64 * (interval as f64 / 1e9));
    let of_quantile = |p: f64| -> Result<Quantile, Refusal> {
        let found = quantile::quantile_of_series(samples, &sorted, p, CONFIDENCE)?;
        let quantile::Quantile { ranks, value, lower, upper, design_effect, .. } = found;
        let independent = quantile::needed(p, (1.0 - CONFIDENCE) / 2.0);
        let needed = independent.map(|needed| (needed as f64 * design_effect).ceil() as u64);
        let value = supported(count, p).then_some(value);
        Ok(Quantile { p, ranks, value, lower, upper, design_effect, needed })
    };
    Ok(One {
        unit: "ns",
        confidence: CONFIDENCE,
        count,
        min,
        mean,
        sd,
        max,
        interval_ns: question.interval_ns,
        length_s,
        quantiles: QUANTILES.into_iter().map(of_quantile).collect::<Result<_, _>>()?,
        limit: question.limit_ns.map(|limit| Limit::of_samples(samples, limit, length_s)).transpose()?,
        seen: length_s.and_then(Seen::of),
        tail: tail::of(samples, &sorted, question.tail, length_s),
    })
}

/// Computes the mean and the standard deviation (n - 1) from exact integer sums of distances from one of the values, so that no offset
/// costs a digit. Where the squares are too large even for 128 bits, it uses running moments, the best alternative.
fn moments(samples: &[i64], from: i64) -> (f64, Option<f64>) {
    let n = samples.len() as i128;
    let distance = |value: &i64| i128::from(*value) - i128::from(from);
    let sum: i128 = samples.iter().map(distance).sum();
    let mean = from as f64 + sum as f64 / n as f64;
    if n < 2 {
        return (mean, None);
    }
    let squares = samples.iter().map(distance).try_fold(0_i128, |sum, d| sum.checked_add(d.checked_mul(d)?));
    let exact = squares.and_then(|squares| n.checked_mul(squares)?.checked_sub(sum.checked_mul(sum)?));
    let variance = exact.map_or_else(
        || {
            let mut running = Moments::default();
            samples.iter().for_each(|sample| running.push(*sample));
            running.variance() * (n as f64 / (n - 1) as f64)
        },
        |exact| exact as f64 / n as f64 / (n - 1) as f64,
    );
    (mean, Some(variance.max(0.0).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 95th percentile needs 20 samples, the 99th 100. With fewer, the sample of its rank is the largest one, whatever p is.
    #[test]
    fn a_quantile_that_the_samples_do_not_support_is_absent() {
        let values = |n: i64| {
            let samples: Vec<i64> = (1..=n).collect();
            let found = of(&samples, &Question::default()).unwrap();
            found.quantiles.iter().map(|one| one.value).collect::<Vec<_>>()
        };
        assert_eq!(values(10)[..4], [Some(5), Some(9), None, None]);
        assert_eq!(values(20)[..4], [Some(10), Some(18), Some(19), None]);
        assert_eq!(values(100)[..5], [Some(50), Some(90), Some(95), Some(99), None]);
        // A lower limit exists even there: the samples show that the quantile is not below it.
        let ten = of(&(1..=10).collect::<Vec<i64>>(), &Question::default()).unwrap();
        assert_eq!((ten.quantiles[4].value, ten.quantiles[4].lower), (None, Some(10)));
    }
}
