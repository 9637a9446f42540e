//! The largest samples of a measurement: a min-heap of fixed size, exact.

use crate::{block::Sample, word::WordCell};
use alloc::{boxed::Box, vec::Vec};

/// How many samples it keeps.
pub const CAPACITY: usize = 4096;

/// Value and stamp.
#[derive(Debug, Default)]
struct HeapNode(WordCell, WordCell);

impl HeapNode {
    fn value(&self) -> i64 {
        self.0.get() as i64
    }

    fn get(&self) -> (i64, u64) {
        (self.0.get() as i64, self.1.get())
    }

    fn set(&self, (value, stamp): (i64, u64)) {
        self.0.set(value as u64);
        self.1.set(stamp);
    }
}

/// The largest samples, written by one thread. Nodes have numbers from 1, the smallest sample. The children of node `i` are pair `i`, so
/// that one bounds check covers both. Node 0 is unused, and the missing sibling of the last node is larger than everything.
#[derive(Debug)]
pub(super) struct Largest {
    pairs: Box<[[HeapNode; 2]]>,
    held: WordCell,
}

impl Largest {
    pub fn new() -> Self {
        Self { pairs: (0..=CAPACITY / 2).map(|_| Default::default()).collect(), held: WordCell::default() }
    }

    /// Returns the value that a sample must exceed to be kept. Until there are [`CAPACITY`] samples, every sample is kept.
    pub fn threshold(&self) -> i64 {
        match self.pairs.first() {
            Some([_, root]) if self.held.get() >= CAPACITY as u64 => root.value(),
            _ => i64::MIN,
        }
    }

    /// Keeps the sample if it is one of the largest. Among equal samples at the threshold it is not defined which are kept.
    pub fn offer(&self, value: i64, stamp: u64) {
        let held = self.held.get() as usize;
        if held < CAPACITY {
            let held = held.wrapping_add(1);
            self.rise(held, (value, stamp));
            self.held.set(held as u64);
        } else if value > self.threshold() {
            self.sink((value, stamp));
        }
    }

    fn node(&self, number: usize) -> Option<&HeapNode> {
        let [left, right] = self.pairs.get(number / 2)?;
        Some(if number & 1 == 0 { left } else { right })
    }

    fn rise(&self, number: usize, sample: (i64, u64)) {
        let Some(mut hole) = self.node(number) else { return };
        let mut number = number;
        while number > 1
            && let Some(parent) = self.node(number / 2)
            && sample.0 < parent.value()
        {
            hole.set(parent.get());
            hole = parent;
            number /= 2;
        }
        hole.set(sample);
    }

    /// Replaces the smallest sample.
    fn sink(&self, sample: (i64, u64)) {
        let pairs = &*self.pairs;
        let Some([_, root]) = pairs.first() else { return };
        let (mut hole, mut number) = (root, 1usize);
        while let Some([left, right]) = pairs.get(number) {
            let (a, b) = (left.value(), right.value());
            let (value, child, odd) = if b < a { (b, right, 1) } else { (a, left, 0) };
            if value >= sample.0 {
                break;
            }
            hole.set((value, child.1.get()));
            (hole, number) = (child, number.wrapping_mul(2).wrapping_add(odd));
        }
        hole.set(sample);
    }

    /// Clears everything and touches all its memory.
    pub fn reset(&self) {
        for node in self.pairs.iter().flatten() {
            node.set((i64::MAX, 0));
        }
        self.held.set(0);
    }

    /// Copies the kept samples, in no particular order.
    pub fn read(&self) -> Vec<Sample> {
        self.iter().collect()
    }

    /// Iterates over the kept samples, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Sample> {
        let held = (self.held.get() as usize).min(CAPACITY);
        let nodes = self.pairs.iter().flatten().skip(1).take(held);
        nodes.map(|node| Sample::unpack(node.0.get(), node.1.get()))
    }
}
