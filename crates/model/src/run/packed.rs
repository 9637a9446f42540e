//! Distributions, thousands of which are in memory at once: only the used buckets of each histogram.
//!
//! A histogram has room for each bucket up to its largest value, some 60 KB; a few samples use a few of them.

use super::codec::HISTOGRAM_DIGITS;
use crate::summary::Counted;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The used buckets of a histogram of latido's resolution (see [`super::codec::histogram`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Counts by the upper ends of their buckets.
    rows: BTreeMap<u64, u64>,
}

impl Packed {
    /// Packs the used buckets of a histogram.
    pub fn from_histogram(histogram: &Histogram<u64>) -> Self {
        let mut packed = Self::default();
        packed.add(histogram);
        packed
    }

    /// Adds up several distributions.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.add(part));
        sum
    }

    /// Adds the counts of another distribution.
    pub fn add(&mut self, other: &impl Counted) {
        for (end, count) in other.steps() {
            let own = self.rows.entry(end).or_default();
            *own = own.saturating_add(count);
        }
    }

    /// Returns the middle of the bucket that ends here, as HdrHistogram does (`median_equivalent`).
    pub fn middle(end: u64) -> u64 {
        // With three digits, the histogram distinguishes 2,048 values per power of two.
        let told_apart = (2 * 10u64.pow(u32::from(HISTOGRAM_DIGITS))).next_power_of_two();
        let width = 1u64 << (64 - (end | (told_apart - 1)).leading_zeros()).saturating_sub(told_apart.trailing_zeros());
        (end | (width - 1)) - (width - 1) + width / 2
    }
}

impl Counted for Packed {
    fn total(&self) -> u64 {
        self.rows.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    fn steps(&self) -> impl Iterator<Item = (u64, u64)> {
        self.rows.iter().map(|(end, count)| (*end, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{codec, pool};
    use proptest::prelude::*;

    proptest! {
        /// Packed distributions that are added up and read are the original histograms.
        #[test]
        fn packed_ones_are_the_histograms(
            parts in prop::collection::vec(prop::collection::vec((0u64..1 << 60, 1u64..1000), 0..50), 0..4),
            shift in 0u32..60,
        ) {
            let histogram = |rows: &Vec<(u64, u64)>| {
                let mut own = codec::histogram().unwrap();
                rows.iter().for_each(|(value, count)| own.record_n(value >> shift, *count).unwrap());
                own
            };
            let whole: Vec<_> = parts.iter().map(histogram).collect();
            let packed: Vec<Packed> = whole.iter().map(Packed::from_histogram).collect();
            let sum = pool::histograms(&whole).unwrap();
            let found = Packed::sum(&packed);
            prop_assert_eq!(&found, &Packed::from_histogram(&sum));
            prop_assert_eq!(found.total(), sum.len());
            for (end, _) in found.steps() {
                prop_assert_eq!(Packed::middle(end), sum.median_equivalent(end));
            }
        }
    }

    /// A few samples take little memory, however large they are.
    #[test]
    fn few_samples_are_few_rows() {
        let mut histogram = codec::histogram().unwrap();
        histogram.record_n(1 << 40, 3).unwrap();
        assert_eq!(Packed::from_histogram(&histogram).rows.len(), 1);
    }
}
