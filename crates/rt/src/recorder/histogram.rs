//! A histogram of samples whose counts at given band edges are exact.
//!
//! An edge is inside one bucket. The counter of that bucket starts with its top bit set. When a rare sample of that bucket increments the
//! counter, the sign sends it to a cold path, which compares the sample with the edge. The bands cost all other samples nothing.

use super::distribution::Distribution;
use crate::{
    buckets::{self, HIGHEST, LEN},
    word::{WordCell, words},
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};

const MARK: u64 = 1 << 63;

#[derive(Debug)]
struct Edge {
    edge: u64,
    bucket: usize,
    /// Samples in the bucket that are above the edge.
    above: WordCell,
}

/// A histogram with exact bands; written by one thread.
#[derive(Debug)]
pub(super) struct Counters {
    words: Arc<[WordCell]>,
    edges: Box<[Edge]>,
    overflow: WordCell,
    negative: WordCell,
}

impl Counters {
    /// Creates a histogram. `edges` must ascend and be at most [`HIGHEST`].
    pub fn new(edges: &[u64]) -> Self {
        let edge = |&edge: &u64| Edge { edge, bucket: buckets::index(edge), above: WordCell::default() };
        Self {
            words: words(LEN).into(),
            edges: edges.iter().map(edge).collect(),
            overflow: WordCell::default(),
            negative: WordCell::default(),
        }
    }

    /// Counts a sample of at most [`HIGHEST`].
    #[inline(always)]
    pub fn count(&self, value: u64) {
        self.count_in(&self.words, value);
    }

    /// Counts like [`Counters::count`], with the writer's own handle of the counters, which saves access to one cache line.
    #[inline(always)]
    pub fn count_in(&self, words: &[WordCell], value: u64) {
        let bucket = buckets::index(value);
        if let Some(word) = words.get(bucket)
            && (word.add(1) as i64) < 0
        {
            self.count_above(value, bucket);
        }
    }

    /// Returns a handle of the counters.
    pub fn words(&self) -> Arc<[WordCell]> {
        Arc::clone(&self.words)
    }

    #[cold]
    #[inline(never)]
    fn count_above(&self, value: u64, bucket: usize) {
        for edge in &self.edges {
            if edge.bucket == bucket && value > edge.edge {
                edge.above.add(1);
            }
        }
    }

    /// Counts any sample. A negative one counts as 0 and in `negative`, one beyond the histogram only in `overflow`.
    pub fn count_any(&self, value: i64) {
        match u64::try_from(value) {
            Ok(value) if value <= HIGHEST => self.count(value),
            Ok(_) => _ = self.overflow.add(1),
            Err(_) => {
                self.negative.add(1);
                self.count(0);
            }
        }
    }

    /// Counts `times` samples with the same value, which is not negative.
    pub fn count_alike(&self, value: u64, times: u64) {
        if value > HIGHEST {
            self.overflow.add(times);
            return;
        }
        let bucket = buckets::index(value);
        if let Some(word) = self.words.get(bucket) {
            word.add(times);
        }
        for edge in self.edges.iter().filter(|edge| edge.bucket == bucket && value > edge.edge) {
            edge.above.add(times);
        }
    }

    /// Returns the smallest value that counts like this one: it is in the same bucket and on the same side of every edge.
    pub fn least_alike(&self, value: u64) -> u64 {
        let edges = self.edges.iter().map(|edge| edge.edge).filter(|edge| *edge < value);
        let above = edges.map(|edge| edge.saturating_add(1)).max().unwrap_or(0);
        let bucket = if value > HIGHEST { HIGHEST.saturating_add(1) } else { buckets::lowest(buckets::index(value)) };
        bucket.max(above.min(value))
    }

    /// Returns the count of a bucket, or 0 beyond the last bucket.
    pub fn bucket(&self, index: usize) -> u64 {
        self.words.get(index).map_or(0, |word| word.get() & !MARK)
    }

    /// Iterates over the band edges.
    pub fn edges(&self) -> impl Iterator<Item = u64> {
        self.edges.iter().map(|edge| edge.edge)
    }

    /// Clears everything and touches all its memory.
    pub fn reset(&self) {
        for word in self.words.iter() {
            word.set(0);
        }
        for edge in &self.edges {
            edge.above.set(0);
            if edge.edge < buckets::highest(edge.bucket)
                && let Some(word) = self.words.get(edge.bucket)
            {
                word.set(MARK);
            }
        }
        self.overflow.set(0);
        self.negative.set(0);
    }

    /// Copies the counts, up to the last bucket with a sample, into a distribution without sums.
    pub fn read(&self, largest: Option<i64>) -> Distribution {
        let top = largest.and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
        let used = buckets::index(top.min(HIGHEST)).saturating_add(1);
        let mut counts: Vec<u64> = self.words.iter().take(used).map(|word| word.get() & !MARK).collect();
        while counts.last() == Some(&0) {
            counts.pop();
        }
        let count_in = |range: core::ops::Range<usize>| {
            let end = range.end.min(counts.len());
            counts.get(range.start.min(end)..end).unwrap_or(&[]).iter().fold(0u64, |sum, n| sum.wrapping_add(*n))
        };
        let mut bands = Vec::with_capacity(self.edges.len().saturating_add(1));
        let (mut upto, mut bucket, mut total) = (0u64, 0, 0u64);
        for edge in &self.edges {
            // The samples up to and including the edge's bucket, minus the samples of this bucket above the edge.
            let next = edge.bucket.saturating_add(1);
            total = total.wrapping_add(count_in(bucket..next));
            bucket = next;
            let below = total.wrapping_sub(edge.above.get());
            bands.push(below.wrapping_sub(upto));
            upto = below;
        }
        total = total.wrapping_add(count_in(bucket..LEN)).wrapping_add(self.overflow.get());
        bands.push(total.wrapping_sub(upto));
        Distribution {
            edges: self.edges.iter().map(|edge| edge.edge).collect(),
            bands,
            counts,
            overflow: self.overflow.get(),
            negative: self.negative.get(),
            ..Distribution::default()
        }
    }
}
