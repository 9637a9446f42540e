//! The first samples in time order, for figures that need every single sample.

use crate::{
    block::{Class, Sample},
    word::{WordCell, words},
};
use alloc::{boxed::Box, vec::Vec};

/// A store that one thread fills from the front. Samples that do not fit are only counted.
#[derive(Debug)]
pub(super) struct Ordered {
    /// Value and time, alternating.
    words: Box<[WordCell]>,
    /// Samples offered so far.
    offered: WordCell,
}

impl Ordered {
    pub fn new(capacity: usize) -> Self {
        Self { words: words(capacity.saturating_mul(2)), offered: WordCell::default() }
    }

    /// Returns whether it keeps samples at all.
    pub fn is_on(&self) -> bool {
        !self.words.is_empty()
    }

    /// Returns the largest number of samples that it can keep.
    pub fn room(&self) -> usize {
        self.words.len() / 2
    }

    /// Clears everything and touches all its memory.
    pub fn reset(&self) {
        for word in &self.words {
            word.set(0);
        }
        self.offered.set(0);
    }

    /// Adds a sample.
    pub fn push(&self, value: i64, at: u64) {
        let index = usize::try_from(self.offered.get()).unwrap_or(usize::MAX).saturating_mul(2);
        if let (Some(first), Some(second)) = (self.words.get(index), self.words.get(index.saturating_add(1))) {
            first.set(value as u64);
            second.set(at);
        }
        self.offered.add(1);
    }

    /// Returns the last value kept, if there is one.
    pub fn latest(&self) -> Option<i64> {
        let held = usize::try_from(self.offered.get()).ok()?.min(self.words.len().checked_div(2)?);
        let at = held.checked_sub(1)?.checked_mul(2)?;
        self.words.get(at).map(|word| word.get() as i64)
    }

    /// Returns the samples kept so far.
    pub fn read(&self) -> Vec<Sample> {
        let held = usize::try_from(self.offered.get()).unwrap_or(usize::MAX);
        let pairs = self.words.chunks_exact(2).take(held);
        let sample = |pair: &[WordCell]| match pair {
            [value, at] => Sample { value: value.get() as i64, at_ns: at.get(), class: Class::Unknown },
            _ => Sample::default(),
        };
        pairs.map(sample).collect()
    }
}
