//! The largest samples of a measurement: a min-heap of fixed size, exact.

use crate::{
    block::Sample,
    word::{Word, words},
};
use alloc::{boxed::Box, vec::Vec};

/// How many samples are kept.
pub const CAPACITY: usize = 4096;

/// Written by one thread. Node `i` is the pair of words `2i` (value) and `2i + 1` (stamp); the root is the smallest.
#[derive(Debug)]
pub(super) struct Largest {
    words: Box<[Word]>,
    held: Word,
}

impl Largest {
    pub fn new() -> Self {
        Self { words: words(CAPACITY.wrapping_mul(2)), held: Word::default() }
    }

    /// The value that a sample must exceed to be kept; every sample is kept until there are [`CAPACITY`].
    pub fn threshold(&self) -> i64 {
        if self.held.get() < CAPACITY as u64 { i64::MIN } else { self.node(0).0 }
    }

    /// Keeps the sample if it is one of the largest; of equal ones the earlier stay.
    pub fn offer(&self, value: i64, stamp: u64) {
        let held = self.held.get() as usize;
        if held < CAPACITY {
            self.rise(held, (value, stamp));
            self.held.set(held.wrapping_add(1) as u64);
        } else if value > self.node(0).0 {
            self.sink((value, stamp));
        }
    }

    fn node(&self, index: usize) -> (i64, u64) {
        let at = index.wrapping_mul(2);
        match (self.words.get(at), self.words.get(at.wrapping_add(1))) {
            (Some(value), Some(stamp)) => (value.get() as i64, stamp.get()),
            _ => (i64::MAX, 0),
        }
    }

    fn set(&self, index: usize, (value, stamp): (i64, u64)) {
        let at = index.wrapping_mul(2);
        if let (Some(v), Some(s)) = (self.words.get(at), self.words.get(at.wrapping_add(1))) {
            v.set(value as u64);
            s.set(stamp);
        }
    }

    /// Whether `a` goes before `b` when one must go: the smaller value, of equal ones the later.
    fn before(a: (i64, u64), b: (i64, u64)) -> bool {
        a.0 < b.0 || (a.0 == b.0 && a.1 > b.1)
    }

    fn rise(&self, mut index: usize, sample: (i64, u64)) {
        while index > 0 {
            let parent = index.wrapping_sub(1) / 2;
            let above = self.node(parent);
            if !Self::before(sample, above) {
                break;
            }
            self.set(index, above);
            index = parent;
        }
        self.set(index, sample);
    }

    fn sink(&self, sample: (i64, u64)) {
        let mut index = 0usize;
        loop {
            let left = index.wrapping_mul(2).wrapping_add(1);
            if left >= CAPACITY {
                break;
            }
            let right = left.wrapping_add(1);
            let child = if right < CAPACITY && Self::before(self.node(right), self.node(left)) { right } else { left };
            let below = self.node(child);
            if !Self::before(below, sample) {
                break;
            }
            self.set(index, below);
            index = child;
        }
        self.set(index, sample);
    }

    /// Forgets everything, touching all its memory.
    pub fn reset(&self) {
        for word in &self.words {
            word.set(0);
        }
        self.held.set(0);
    }

    /// Copies what is held, in no order.
    pub fn read(&self) -> Vec<Sample> {
        let held = (self.held.get() as usize).min(CAPACITY);
        (0..held).map(|index| self.node(index)).map(|(value, stamp)| Sample::unpack(value as u64, stamp)).collect()
    }
}
