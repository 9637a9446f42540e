//! One run: quantiles with their intervals, how often a limit is exceeded, what the time was enough to see, the tail.

use super::CONFIDENCE;
use crate::extremes::{Seen, limit::Limit, tail};
use latido_statistics::{Refusal, moments::Moments, quantile};
use serde::Serialize;

/// The quantiles that are told.
const QUANTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// What is asked of one run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question {
    /// From one sample to the next, ns; what is per hour or takes days needs it.
    pub interval_ns: Option<u64>,
    /// Samples above this, ns, are counted.
    pub limit_ns: Option<i64>,
    /// The tail above how many of the largest samples; a fiftieth where it is not said.
    pub tail: Option<u64>,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct One {
    /// `ns`: of all values.
    pub unit: &'static str,
    /// Of all intervals.
    pub confidence: f64,
    /// How many samples there are.
    pub count: u64,
    /// The smallest sample, ns.
    pub min: i64,
    /// The mean, ns, of an exact sum.
    pub mean: f64,
    /// The standard deviation (n - 1), ns; none of one sample.
    pub sd: Option<f64>,
    /// The largest sample, ns.
    pub max: i64,
    /// From one sample to the next, ns, if known.
    pub interval_ns: Option<u64>,
    /// How long was measured, seconds, if known.
    pub length_s: Option<f64>,
    /// The quantiles.
    pub quantiles: Vec<Quantile>,
    /// How often the limit was exceeded, if one was named.
    pub limit: Option<Limit>,
    /// What the time was enough to see, if known.
    pub seen: Option<Seen>,
    /// How far the tail reaches.
    pub tail: tail::Answer,
}

/// A quantile, and how many samples its upper limit takes.
#[derive(Debug, Clone, Serialize)]
pub struct Quantile {
    /// The quantile with its ranks.
    #[serde(flatten)]
    pub quantile: quantile::Quantile,
    /// How many samples there must be for an upper limit.
    pub needed: Option<u64>,
}

/// The statistics of samples in order of time, ns.
///
/// # Errors
/// There are none.
pub fn of(samples: &[i64], question: &Question) -> Result<One, Refusal> {
    let none = Refusal::TooSmall { of: "samples", needed: 1, given: 0 };
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let (Some(min), Some(max)) = (sorted.first().copied(), sorted.last().copied()) else { return Err(none) };
    let count = sorted.len() as u64;
    let (mean, sd) = moments(samples, min);
    let length_s = question.interval_ns.map(|interval| count as f64 * (interval as f64 / 1e9));
    let of_quantile = |p: f64| -> Result<Quantile, Refusal> {
        let quantile = quantile::quantile_of_series(samples, &sorted, p, CONFIDENCE)?;
        let independent = quantile::needed(p, (1.0 - CONFIDENCE) / 2.0);
        let needed = independent.map(|needed| (needed as f64 * quantile.design_effect).ceil() as u64);
        Ok(Quantile { quantile, needed })
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

/// The mean and the standard deviation (n - 1) by exact sums of distances from one of the values, in integers: no offset
/// costs a digit. Where the squares are too large even for 128 bits, running moments are as good as it gets.
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
