//! Figures of a distribution: quantiles as order statistics, exact moments, bands.

use crate::{
    ranks::{rank, supported},
    record::{Band, QUANTILES, Summary},
};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The exact facts about the samples, in addition to their histogram. Integers as in the record: ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact {
    /// Number of samples, including those outside the histogram's range.
    pub count: u64,
    /// Smallest sample.
    pub min: Option<i64>,
    /// Largest sample.
    pub max: Option<i64>,
    /// Sum of the samples.
    pub sum: i128,
    /// Sum of their squares.
    pub sum_squares: u128,
    /// Samples above the histogram's range, which are not in it.
    pub overflow: u64,
}

/// Samples that are counted in buckets.
pub trait Counted {
    /// Returns how many samples there are.
    fn total(&self) -> u64;
    /// Returns the used buckets, ascending: upper end and count.
    fn steps(&self) -> impl Iterator<Item = (u64, u64)>;
}

impl Counted for Histogram<u64> {
    fn total(&self) -> u64 {
        self.len()
    }

    fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

/// Returns the figures of one distribution from its exact sums, its histogram and its exact bands.
pub fn summarise(exact: &Exact, histogram: &impl Counted, bands: Vec<Band>) -> Summary {
    Summary {
        count: exact.count,
        min: exact.min,
        max: exact.max,
        mean: (exact.count > 0).then(|| exact.sum as f64 / exact.count as f64),
        sd: sd(exact),
        quantiles: quantiles(exact, histogram),
        bands,
        bounds: None,
    }
}

/// Returns the standard deviation (n - 1) from the exact sums. It subtracts in integers, which lose no digits.
fn sd(exact: &Exact) -> Option<f64> {
    if exact.count < 2 {
        return None;
    }
    let n = u128::from(exact.count);
    let square = exact.sum.unsigned_abs().checked_mul(exact.sum.unsigned_abs());
    let scatter = match (n.checked_mul(exact.sum_squares), square) {
        (Some(a), Some(b)) => a.saturating_sub(b) as f64 / n as f64,
        // Beyond 128 bits, with billions of 64-bit samples: doubles are then the best available.
        _ => exact.sum_squares as f64 - (exact.sum as f64).powi(2) / n as f64,
    };
    Some((scatter.max(0.0) / (exact.count - 1) as f64).sqrt())
}

/// Returns the quantiles that every summary states; null if fewer than 1/(1-p) samples support them.
pub fn quantiles(exact: &Exact, histogram: &impl Counted) -> BTreeMap<String, Option<i64>> {
    QUANTILES.iter().map(|&(key, p)| (key.to_string(), quantile(exact, histogram, p))).collect()
}

/// Returns the order statistic ceil(n p); `None` if fewer than 1/(1-p) samples support it.
pub fn quantile(exact: &Exact, histogram: &impl Counted, p: f64) -> Option<i64> {
    if supported(exact.count, p) { at_rank(exact, histogram, rank(exact.count, p)) } else { None }
}

/// Returns the sample of this rank, from 1, to the histogram's resolution (its bucket's upper end) within the exact extremes.
pub fn at_rank(exact: &Exact, histogram: &impl Counted, rank: u64) -> Option<i64> {
    let (min, max) = (exact.min?, exact.max?);
    // Apart from the overflow, the histogram lacks only negative samples, which are below it.
    let below = exact.count.saturating_sub(exact.overflow).saturating_sub(histogram.total());
    if rank <= below {
        return Some(min);
    }
    let value = value_at_rank(histogram, rank - below).map_or(max, |value| i64::try_from(value).unwrap_or(i64::MAX));
    Some(value.max(min).min(max))
}

/// Returns the value of the sample with this rank, from 1; `None` beyond the last.
fn value_at_rank(histogram: &impl Counted, rank: u64) -> Option<u64> {
    if rank > histogram.total() {
        return None;
    }
    let mut seen = 0u64;
    for (end, count) in histogram.steps() {
        seen = seen.saturating_add(count);
        if seen >= rank {
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run::codec;
    use proptest::prelude::*;

    /// Returns the exact facts of these samples, and their histogram.
    pub(crate) fn of(values: &[i64]) -> (Exact, Histogram<u64>) {
        let mut histogram = codec::histogram().unwrap();
        let mut exact = Exact::default();
        for &value in values {
            exact.count += 1;
            exact.min = Some(exact.min.map_or(value, |m| m.min(value)));
            exact.max = Some(exact.max.map_or(value, |m| m.max(value)));
            exact.sum += i128::from(value);
            exact.sum_squares += u128::from(value.unsigned_abs()).pow(2);
            if let Ok(value) = u64::try_from(value) {
                histogram.record(value).unwrap();
            }
        }
        (exact, histogram)
    }

    proptest! {
        /// The figures agree with sorted samples: the order statistic to 1 part in 1000, the moments to rounding.
        #[test]
        fn figures_agree_with_the_sorted_samples(mut values in prop::collection::vec(-50i64..50_000_000, 1..400)) {
            let (exact, histogram) = of(&values);
            let summary = summarise(&exact, &histogram, Vec::new());
            values.sort_unstable();
            let n = values.len();
            for &(key, p) in QUANTILES {
                let Some(found) = summary.quantiles[key] else {
                    prop_assert!((n as f64) * (1.0 - p) < 1.0);
                    continue;
                };
                let naive = values[(n as f64 * p).ceil() as usize - 1];
                // A negative sample is only known to be between the smallest and zero.
                if naive >= 0 {
                    prop_assert!(found >= naive && found as f64 <= naive as f64 * 1.001 + 1.0, "{} {} {}", key, found, naive);
                } else {
                    prop_assert_eq!(Some(found), exact.min);
                }
            }
            let mean = values.iter().sum::<i64>() as f64 / n as f64;
            prop_assert!((summary.mean.unwrap() - mean).abs() <= 1e-9 * mean.abs().max(1.0));
            if n > 1 {
                let sd = (values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt();
                prop_assert!((summary.sd.unwrap() - sd).abs() <= 1e-6 * sd.max(1.0));
            } else {
                prop_assert_eq!(summary.sd, None);
            }
        }
    }

    #[test]
    fn samples_beyond_the_histogram_count_as_the_largest() {
        let (mut exact, histogram) = of(&[1, 2, 3]);
        (exact.count, exact.max, exact.overflow) = (4, Some(70_000_000_000), 1);
        assert_eq!(quantile(&exact, &histogram, 0.5), Some(2));
        assert_eq!(at_rank(&exact, &histogram, 4), Some(70_000_000_000));
    }

    #[test]
    fn round_products_keep_their_rank() {
        assert_eq!(rank(100_000, 0.99999), 99_999);
        assert_eq!(rank(1000, 0.999), 999);
        assert!(supported(100_000, 0.99999) && !supported(99_999, 0.99999));
    }
}
