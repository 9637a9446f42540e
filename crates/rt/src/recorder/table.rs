//! Exact counts of small samples by their ticks: each sample costs the busy loop only one increment.

use super::{Distribution, ring::RawBlock};
use crate::{
    block::Block,
    word::{WordCell, words},
};
use alloc::{boxed::Box, vec::Vec};
use latido_sys::tsc::Scale;

/// Each number of ticks below this has a separate counter.
pub const TICKS: usize = 4096;

/// The table, written by one thread. The thread changes `cells` also outside open changes, so a reader sees a recent count for each.
#[derive(Debug)]
pub(super) struct TickTable {
    cells: Box<[WordCell]>,
    /// The cells at the end of the last finished block.
    before: Box<[WordCell]>,
    scale: Scale,
}

impl TickTable {
    pub fn new(scale: Scale) -> Self {
        Self { cells: words(TICKS), before: words(TICKS), scale }
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    pub fn cells(&self) -> &[WordCell] {
        &self.cells
    }

    pub fn reset(&self) {
        for word in self.cells.iter().chain(&self.before) {
            word.set(0);
        }
    }

    /// Adds the samples counted since the last block to a block's sums.
    pub fn settle(&self, block: &RawBlock) {
        for ((cell, before), ticks) in self.cells.iter().zip(&self.before).zip(0u64..) {
            let new = cell.get().wrapping_sub(before.get());
            if new != 0 {
                before.set(cell.get());
                block.add(self.scale.ns(ticks) as i64, new);
            }
        }
    }

    /// Returns how many samples no finished block includes.
    pub fn unsettled(&self) -> u64 {
        let new = |(cell, before): (&WordCell, &WordCell)| cell.get().wrapping_sub(before.get());
        self.cells.iter().zip(&self.before).map(new).fold(0, u64::wrapping_add)
    }

    /// Iterates over the numbers of ticks in ascending order: the value in ns and how many samples had it.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        (0u64..).zip(&self.cells).map(|(ticks, cell)| (self.scale.ns(ticks), cell.get()))
    }

    /// Adds the counts to a copy of the other data: all samples to the histogram and the bands, and the samples that no finished block
    /// includes to the sums and to the unfinished block.
    pub fn expand(&self, plain: &mut Distribution, current: &mut Block) {
        let cells: Vec<(u64, u64)> = self.cells.iter().zip(&self.before).map(|(c, b)| (c.get(), b.get())).collect();
        let mut counts = Distribution { edges: plain.edges.clone(), ..Distribution::default() };
        let mut unsettled = Distribution::default();
        for (ticks, (cell, before)) in (0u64..).zip(cells) {
            let value = self.scale.ns(ticks) as i64;
            counts.add(value, cell);
            unsettled.add(value, cell.wrapping_sub(before));
        }
        (counts.count, counts.sum, counts.sum_squares) = (unsettled.count, unsettled.sum, unsettled.sum_squares);
        plain.merge(&counts);
        current.count = current.count.wrapping_add(unsettled.count);
        current.sum = current.sum.wrapping_add(unsettled.sum);
        current.sum_squares = current.sum_squares.wrapping_add(unsettled.sum_squares);
    }
}
