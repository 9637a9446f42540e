//! One run: quantiles with their intervals, how often a limit is exceeded, what the time was enough to see, the tail.

mod text;

use super::{CONFIDENCE, tail};
use latido_statistics::{
    Refusal,
    exceed::{Counted, Exceedance, clusters, exceedance},
    moments::Moments,
    quantile, seen,
    tail::{Exceedances, Observed, Peak},
};
use serde::Serialize;

/// The quantiles that are told.
const QUANTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];
/// How often the cause strikes that every maximum is held against, seconds.
const DAY_S: f64 = 86_400.0;

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

/// A limit and what lies above it.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// The limit, ns; a sample equal to it is not above it.
    pub limit: i64,
    /// Every sample counted.
    pub samples: Exceedance,
    /// How much those above crowd together (Ferro & Segers); 1 of independent ones.
    pub extremal_index: f64,
    /// Those at most so many samples apart are one burst; 0 where they come one by one.
    pub gap: u64,
    /// Every burst counted once; none where they come one by one.
    pub clusters: Option<Exceedance>,
}

/// What may be missing in the maximum.
#[derive(Debug, Clone, Serialize)]
pub struct Seen {
    /// The probability that this run missed a cause that strikes once a day.
    pub missed_once_a_day: f64,
    /// How long one must measure to have seen such a cause with 95 %, seconds.
    pub needed_s: f64,
    /// The mean interval of the rarest cause that this run has seen with 95 %, seconds.
    pub rarest_seen_s: f64,
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
        let needed = quantile::needed(p, (1.0 - CONFIDENCE) / 2.0);
        Ok(Quantile { quantile: quantile::quantile(&sorted, p, CONFIDENCE)?, needed })
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
        limit: question.limit_ns.map(|limit| of_limit(samples, limit, length_s)).transpose()?,
        seen: length_s.and_then(of_length),
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

fn of_limit(samples: &[i64], limit: i64, length_s: Option<f64>) -> Result<Limit, Refusal> {
    let count = samples.len() as u64;
    let indexed = (0..).zip(samples).filter(|(_, value)| **value > limit);
    let mut peaks: Vec<Peak> = indexed.map(|(index, value)| Peak { index, value: *value }).collect();
    let indices: Vec<u64> = peaks.iter().map(|peak| peak.index).collect();
    let above = indices.len() as u64;
    // The limit itself is the threshold: the first of the peaks that is not above it.
    peaks.push(Peak { index: 0, value: limit });
    let observed = Observed { peaks: &peaks, count: count + 1, length_s: 1.0, block_maxima: &[] };
    let (extremal_index, gap) = Exceedances::of(&observed, above).map_or((1.0, 0), |all| (all.extremal_index, all.gap));
    let bursts = (gap > 0).then(|| clusters(&indices, gap));
    Ok(Limit {
        limit,
        samples: exceedance(Counted::Samples, above, count, length_s)?,
        extremal_index,
        gap,
        clusters: bursts.map(|bursts| exceedance(Counted::Clusters, bursts, count, length_s)).transpose()?,
    })
}

fn of_length(length_s: f64) -> Option<Seen> {
    Some(Seen {
        missed_once_a_day: seen::missed(DAY_S, length_s)?,
        needed_s: seen::length_needed(DAY_S, CONFIDENCE)?,
        rarest_seen_s: seen::rarest_seen(length_s, CONFIDENCE)?,
    })
}
