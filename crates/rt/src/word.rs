//! A 64-bit cell with one writer and any number of readers: plain loads and stores, no locked instruction.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A cell that only one thread writes, so that load and store need not be one operation.
#[derive(Debug, Default)]
pub(crate) struct WordCell(AtomicU64);

impl WordCell {
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    /// Adds and returns the new value; wraps.
    #[inline(always)]
    pub fn add(&self, by: u64) -> u64 {
        let sum = self.get().wrapping_add(by);
        self.set(sum);
        sum
    }
}

/// Creates `count` zero cells. They become resident only when written (see `Recorder::reset`).
pub(crate) fn words(count: usize) -> Box<[WordCell]> {
    (0..count).map(|_| WordCell::default()).collect()
}
