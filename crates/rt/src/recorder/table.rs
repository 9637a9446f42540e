//! Exact counts of small samples by their ticks: what the busy loop pays for is one increment.

use super::{Distribution, ring::RawBlock};
use crate::{
    block::Block,
    word::{WordCell, words},
};
use alloc::{boxed::Box, vec::Vec};
use latido_sys::tsc::Scale;

/// Samples of fewer ticks have a counter each.
pub const TICKS: usize = 4096;

/// Written by one thread; `cells` also between changes, so that a reader sees any recent count of each.
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

    /// Adds to a block's sums what was counted since the last block.
    pub fn settle(&self, block: &RawBlock) {
        for ((cell, before), ticks) in self.cells.iter().zip(&self.before).zip(0u64..) {
            let new = cell.get().wrapping_sub(before.get());
            if new != 0 {
                before.set(cell.get());
                block.add(self.scale.ns(ticks) as i64, new);
            }
        }
    }

    /// How many samples no finished block has.
    pub fn unsettled(&self) -> u64 {
        let new = |(cell, before): (&WordCell, &WordCell)| cell.get().wrapping_sub(before.get());
        self.cells.iter().zip(&self.before).map(new).fold(0, u64::wrapping_add)
    }

    /// The value of each number of ticks, ascending, and how many samples had it.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        (0u64..).zip(&self.cells).map(|(ticks, cell)| (self.scale.ns(ticks), cell.get()))
    }

    /// Adds the counts to what was copied of the rest: all to the histogram and the bands, and those that no finished
    /// block has to the sums and to the unfinished block.
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
