//! Passes finished blocks from the measuring thread to the reader.

use crate::{
    block::{Block, KEPT, Sample},
    word::WordCell,
};
use alloc::boxed::Box;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Number of blocks in the ring: with blocks of one second, this is how many seconds the reader may be late before a block grows longer.
pub const SLOTS: u64 = 64;

/// A block, under construction or in the ring. The words that each sample changes come first, so that they share a cache line.
#[derive(Debug)]
#[repr(C)]
pub(super) struct RawBlock {
    pub count: WordCell,
    /// The part of the sum from small samples, below 2^32 each, so that 2^32 of them cannot overflow it.
    pub sum_small: WordCell,
    pub squares_low: WordCell,
    pub sum_low: WordCell,
    pub sum_high: WordCell,
    pub squares_high: WordCell,
    pub generation: WordCell,
    pub start: WordCell,
    pub length: WordCell,
    pub held: WordCell,
    /// Value and stamp of the largest samples, in descending order.
    pub largest: [(WordCell, WordCell); KEPT],
}

impl RawBlock {
    pub fn new() -> Self {
        Self {
            generation: WordCell::default(),
            start: WordCell::default(),
            length: WordCell::default(),
            count: WordCell::default(),
            sum_small: WordCell::default(),
            sum_low: WordCell::default(),
            sum_high: WordCell::default(),
            squares_low: WordCell::default(),
            squares_high: WordCell::default(),
            held: WordCell::default(),
            largest: core::array::from_fn(|_| (WordCell::default(), WordCell::default())),
        }
    }

    /// Adds a sample of less than 2^32 to the sums.
    #[inline(always)]
    pub fn add_small(&self, value: u64) {
        self.count.add(1);
        self.sum_small.add(value);
        let square = value.wrapping_mul(value);
        if self.squares_low.add(square) < square {
            self.squares_high.add(1);
        }
    }

    /// Adds `times` samples of one value to the sums.
    pub fn add(&self, value: i64, times: u64) {
        self.count.add(times);
        self.set_sum(self.sum().wrapping_add(i128::from(value).wrapping_mul(i128::from(times))));
        let square = u128::from(value.unsigned_abs()).wrapping_mul(u128::from(value.unsigned_abs()));
        self.set_squares(self.squares().wrapping_add(square.wrapping_mul(u128::from(times))));
    }

    /// Adds `times` samples to the sums. Each sample is `step` smaller than the one before; none is negative.
    pub fn add_falling(&self, largest: u64, step: u64, times: u64) {
        let (a, s, n) = (u128::from(largest), u128::from(step), u128::from(times));
        let before = n.saturating_sub(1);
        // The sums of k and of k squared below n.
        let ks = n.wrapping_mul(before) / 2;
        let squares = n.wrapping_mul(before).wrapping_mul(n.wrapping_add(before)) / 6;
        self.count.add(times);
        let sum = n.wrapping_mul(a).wrapping_sub(ks.wrapping_mul(s));
        self.set_sum(self.sum().wrapping_add(sum as i128));
        let square = n.wrapping_mul(a.wrapping_mul(a)).wrapping_sub(a.wrapping_mul(s).wrapping_mul(ks).wrapping_mul(2));
        let square = square.wrapping_add(squares.wrapping_mul(s.wrapping_mul(s)));
        self.set_squares(self.squares().wrapping_add(square));
    }

    pub fn sum(&self) -> i128 {
        let large = u128::from(self.sum_high.get()) << 64 | u128::from(self.sum_low.get());
        (large as i128).wrapping_add(i128::from(self.sum_small.get()))
    }

    /// Sets the sum, and empties the partial sum of small samples.
    fn set_sum(&self, sum: i128) {
        self.sum_small.set(0);
        self.sum_low.set(sum as u64);
        self.sum_high.set((sum >> 64) as u64);
    }

    pub fn squares(&self) -> u128 {
        u128::from(self.squares_high.get()) << 64 | u128::from(self.squares_low.get())
    }

    fn set_squares(&self, squares: u128) {
        self.squares_low.set(squares as u64);
        self.squares_high.set((squares >> 64) as u64);
    }

    /// Adds another block's sums to this one's.
    pub fn add_sums(&self, other: &Self) {
        self.count.add(other.count.get());
        self.set_sum(self.sum().wrapping_add(other.sum()));
        self.set_squares(self.squares().wrapping_add(other.squares()));
    }

    /// Moves the partial sum of small samples into the sum, so that it can take further ones.
    pub fn carry(&self) {
        self.set_sum(self.sum());
    }

    /// Returns the value that a sample must exceed to be kept.
    pub fn threshold(&self) -> i64 {
        match self.largest.last() {
            Some((value, _)) if self.held.get() == KEPT as u64 => value.get() as i64,
            _ => i64::MIN,
        }
    }

    /// Keeps the sample if it is one of the largest.
    pub fn offer(&self, value: i64, stamp: u64) {
        let held = self.held.get();
        let (mut carry, mut shifting) = ((value as u64, stamp), false);
        for (index, (kept_value, kept_stamp)) in self.largest.iter().enumerate() {
            let kept = (kept_value.get(), kept_stamp.get());
            let empty = index as u64 >= held;
            shifting = shifting || empty || carry.0 as i64 > kept.0 as i64;
            if shifting {
                kept_value.set(carry.0);
                kept_stamp.set(carry.1);
                carry = kept;
            }
            if empty {
                self.held.set(held.wrapping_add(1));
                break;
            }
        }
    }

    fn copy_from(&self, other: &Self) {
        self.generation.set(other.generation.get());
        self.start.set(other.start.get());
        self.length.set(other.length.get());
        self.count.set(other.count.get());
        self.set_sum(other.sum());
        self.set_squares(other.squares());
        self.held.set(other.held.get());
        for (to, from) in self.largest.iter().zip(&other.largest) {
            to.0.set(from.0.get());
            to.1.set(from.1.get());
        }
    }

    /// Clears everything; the block starts again.
    pub fn restart(&self, generation: u64, start: u64) {
        self.generation.set(generation);
        self.start.set(start);
        self.length.set(0);
        self.count.set(0);
        self.set_sum(0);
        self.set_squares(0);
        self.held.set(0);
        for (value, stamp) in &self.largest {
            value.set(0);
            stamp.set(0);
        }
    }

    pub fn read(&self) -> Block {
        let mut block = Block::default();
        block.start_ns = self.start.get();
        block.length_ns = self.length.get();
        block.count = self.count.get();
        block.sum = self.sum();
        block.sum_squares = self.squares();
        for (value, stamp) in self.largest.iter().take(self.held.get() as usize) {
            block.keep(Sample::unpack(value.get(), stamp.get()));
        }
        block
    }
}

/// A ring with one writer and one reader.
#[derive(Debug)]
pub(super) struct Ring {
    slots: Box<[RawBlock]>,
    /// Number of blocks written so far.
    head: AtomicU64,
    /// Number of blocks read so far.
    tail: AtomicU64,
    /// How often a block found the ring full and continued to grow.
    full: WordCell,
}

impl Ring {
    pub fn new() -> Self {
        Self {
            slots: (0..SLOTS).map(|_| RawBlock::new()).collect(),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            full: WordCell::default(),
        }
    }

    /// For the writer: passes a block on, or counts that the ring was full and returns false.
    pub fn push(&self, block: &RawBlock) -> bool {
        let head = self.head.load(Relaxed);
        let free = head.wrapping_sub(self.tail.load(Acquire)) < SLOTS;
        if free && let Some(slot) = self.slots.get((head % SLOTS) as usize) {
            slot.copy_from(block);
            self.head.store(head.wrapping_add(1), Release);
            return true;
        }
        self.full.add(1);
        false
    }

    /// For the reader: takes the oldest block with its generation.
    pub fn pop(&self) -> Option<(u64, Block)> {
        let tail = self.tail.load(Relaxed);
        if tail == self.head.load(Acquire) {
            return None;
        }
        let slot = self.slots.get((tail % SLOTS) as usize)?;
        let taken = (slot.generation.get(), slot.read());
        self.tail.store(tail.wrapping_add(1), Release);
        Some(taken)
    }

    /// Returns the number of blocks written so far.
    pub fn head(&self) -> u64 {
        self.head.load(Acquire)
    }

    /// Returns the number of blocks read so far.
    pub fn tail(&self) -> u64 {
        self.tail.load(Relaxed)
    }

    /// Returns how often the ring was full.
    pub fn full(&self) -> u64 {
        self.full.get()
    }

    /// For the writer: touches all memory that the reader does not read at the moment.
    pub fn touch(&self) {
        let (head, tail) = (self.head.load(Relaxed), self.tail.load(Acquire));
        for position in head..tail.wrapping_add(SLOTS) {
            if let Some(slot) = self.slots.get((position % SLOTS) as usize) {
                slot.restart(0, 0);
            }
        }
        self.full.set(0);
    }
}
