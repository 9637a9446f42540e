//! A distribution as plain numbers, for the reader.

use crate::buckets::{self, HIGHEST};
use alloc::vec::Vec;

/// The statistics of a set of samples in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Number of samples, including negative and overflowing ones.
    pub count: u64,
    /// Exact sum, in ns.
    pub sum: i128,
    /// Exact sum of squares, in ns².
    pub sum_squares: u128,
    /// Smallest sample.
    pub min: Option<i64>,
    /// Largest sample.
    pub max: Option<i64>,
    /// Number of samples below 0. Every other figure includes them; the histogram counts them as 0.
    pub negative: u64,
    /// Number of samples above [`HIGHEST`]. Every other figure except the histogram includes them.
    pub overflow: u64,
    /// Counts of the buckets of [`crate::buckets`]; missing ones at the end are 0.
    pub counts: Vec<u64>,
    /// The band edges, ascending.
    pub edges: Vec<u64>,
    /// Per edge the number of samples above the previous edge and at most this edge, then the number above the last edge.
    pub bands: Vec<u64>,
}

impl Distribution {
    /// Adds `times` samples of one value.
    pub fn add(&mut self, value: i64, times: u64) {
        if times == 0 {
            return;
        }
        self.count = self.count.wrapping_add(times);
        self.sum = self.sum.wrapping_add(i128::from(value).wrapping_mul(i128::from(times)));
        let square = u128::from(value.unsigned_abs()).wrapping_mul(u128::from(value.unsigned_abs()));
        self.sum_squares = self.sum_squares.wrapping_add(square.wrapping_mul(u128::from(times)));
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        let clamped = u64::try_from(value).unwrap_or(0);
        if value < 0 {
            self.negative = self.negative.wrapping_add(times);
        }
        if clamped > HIGHEST {
            self.overflow = self.overflow.wrapping_add(times);
        } else {
            add_to(&mut self.counts, buckets::index(clamped), times);
        }
        let band = self.edges.iter().take_while(|edge| clamped > **edge).count();
        add_to(&mut self.bands, band, times);
    }

    /// Adds all samples of another distribution with the same edges. Plain and missed samples together give the corrected distribution.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.sum = self.sum.wrapping_add(other.sum);
        self.sum_squares = self.sum_squares.wrapping_add(other.sum_squares);
        let both = |a: Option<i64>, b: Option<i64>, pick: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (a, b) => a.or(b),
        };
        self.min = both(self.min, other.min, i64::min);
        self.max = both(self.max, other.max, i64::max);
        self.negative = self.negative.wrapping_add(other.negative);
        self.overflow = self.overflow.wrapping_add(other.overflow);
        if self.edges.is_empty() {
            self.edges.clone_from(&other.edges);
        }
        for (to, from) in [(&mut self.counts, &other.counts), (&mut self.bands, &other.bands)] {
            for (index, times) in from.iter().enumerate() {
                add_to(to, index, *times);
            }
        }
    }

    /// Returns the value of the sample with this rank in ascending order (from 1): the upper end of its bucket, but never above the
    /// maximum. The result is an order statistic with the histogram's 3 digits. `None` for a rank that does not exist.
    pub fn at_rank(&self, rank: u64) -> Option<i64> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0u64;
        for (index, times) in self.counts.iter().enumerate() {
            seen = seen.wrapping_add(*times);
            if seen >= rank {
                let upper = i64::try_from(buckets::highest(index)).unwrap_or(i64::MAX);
                return self.max.map(|max| upper.min(max));
            }
        }
        self.max
    }
}

fn add_to(counts: &mut Vec<u64>, index: usize, times: u64) {
    if times == 0 {
        return;
    }
    if counts.len() <= index {
        counts.resize(index.saturating_add(1), 0);
    }
    if let Some(count) = counts.get_mut(index) {
        *count = count.wrapping_add(times);
    }
}
