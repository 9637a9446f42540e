//! The samples of about one second, summarised so that summaries can be merged without loss.

use alloc::vec::Vec;

/// How many of its largest samples a block keeps.
pub const KEPT: usize = 4;

/// What is known about the cause of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// Nothing.
    #[default]
    Unknown,
    /// Another task ran meanwhile: the kernel counted a run delay.
    Preempted,
    /// The thread stayed on its CPU: an interrupt, an SMI or the hypervisor delayed it.
    InPlace,
    /// The kernel's own limit on real-time tasks made the thread wait: the real-time throttle or the fair server.
    Throttled,
}

/// One sample that a block keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sample {
    /// The value, in ns.
    pub value: i64,
    /// When, in ns since the origin of the measurement (the first slot).
    pub at_ns: u64,
    /// Its cause, where known.
    pub class: Class,
}

impl Sample {
    /// Packs time and class into one 64-bit word.
    pub(crate) const fn stamp(at_ns: u64, class: Class) -> u64 {
        at_ns << 2 | class as u64
    }

    pub(crate) const fn unpack(value: u64, stamp: u64) -> Self {
        let class = match stamp & 3 {
            1 => Class::Preempted,
            2 => Class::InPlace,
            3 => Class::Throttled,
            _ => Class::Unknown,
        };
        Self { value: value as i64, at_ns: stamp >> 2, class }
    }
}

/// The samples of about one second, or of a power of two of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Start since the origin, in ns.
    pub start_ns: u64,
    /// Length in ns.
    pub length_ns: u64,
    /// Number of samples.
    pub count: u64,
    /// Sum of the samples, in ns.
    pub sum: i128,
    /// Sum of their squares, in ns².
    pub sum_squares: u128,
    /// How many entries of `largest` contain samples.
    held: u8,
    largest: [Sample; KEPT],
}

impl Block {
    /// Returns the largest samples, at most four, in descending order (equal ones in the order of their times); the first is the maximum.
    pub fn largest(&self) -> &[Sample] {
        self.largest.get(..usize::from(self.held)).unwrap_or(&self.largest)
    }

    /// Keeps a sample if it is one of the largest. The sums of the block must already include it.
    pub fn keep(&mut self, sample: Sample) {
        let held = usize::from(self.held);
        let (mut sample, mut shifting) = (sample, false);
        for (index, kept) in self.largest.iter_mut().enumerate() {
            if index >= held {
                *kept = sample;
                self.held = self.held.saturating_add(1);
                return;
            }
            shifting = shifting || sample.value > kept.value;
            if shifting {
                core::mem::swap(kept, &mut sample);
            }
        }
    }

    /// Adds the block that follows this one in time.
    pub fn merge(&mut self, next: &Self) {
        if self.length_ns == 0 && self.count == 0 {
            self.start_ns = next.start_ns;
        }
        let end = next.start_ns.saturating_add(next.length_ns);
        self.length_ns = end.saturating_sub(self.start_ns);
        self.count = self.count.wrapping_add(next.count);
        self.sum = self.sum.wrapping_add(next.sum);
        self.sum_squares = self.sum_squares.wrapping_add(next.sum_squares);
        for sample in next.largest() {
            self.keep(*sample);
        }
    }
}

/// The blocks of a measurement of any length. [`BlockSeries::push`] merges them in pairs whenever there would be more than
/// [`BlockSeries::MOST`].
#[derive(Clone, Debug)]
pub struct BlockSeries {
    blocks: Vec<Block>,
    /// How many blocks of the loop one block here contains: a power of two.
    factor: u32,
    /// How many blocks of the loop the last one contains so far.
    filled: u32,
}

impl Default for BlockSeries {
    fn default() -> Self {
        Self { blocks: Vec::new(), factor: 1, filled: 0 }
    }
}

impl BlockSeries {
    /// The most blocks kept: one per second for an hour.
    pub const MOST: usize = 3600;

    /// Adds a block that follows the last one in time.
    pub fn push(&mut self, block: Block) {
        if self.filled < self.factor
            && let Some(last) = self.blocks.last_mut()
        {
            last.merge(&block);
            self.filled = self.filled.wrapping_add(1);
            return;
        }
        if self.blocks.len() == Self::MOST {
            self.halve();
        }
        self.blocks.push(block);
        self.filled = 1;
    }

    fn halve(&mut self) {
        let mut merged = Vec::with_capacity(Self::MOST);
        for pair in self.blocks.chunks(2) {
            let mut block = Block::default();
            for part in pair {
                block.merge(part);
            }
            merged.push(block);
        }
        self.blocks = merged;
        self.factor = self.factor.saturating_mul(2);
    }

    /// Returns the blocks so far, in time order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(start_s: u64, values: &[i64]) -> Block {
        let mut block = Block { start_ns: start_s * 1_000_000_000, length_ns: 1_000_000_000, ..Block::default() };
        for (i, &value) in values.iter().enumerate() {
            block.count += 1;
            block.sum += i128::from(value);
            block.sum_squares += u128::from(value.unsigned_abs()).pow(2);
            block.keep(Sample { value, at_ns: block.start_ns + i as u64, class: Class::Unknown });
        }
        block
    }

    #[test]
    fn a_block_keeps_its_four_largest_in_order() {
        let kept = block(0, &[3, 9, 1, 9, 7, -2, 8]);
        assert_eq!(
            kept.largest().iter().map(|s| (s.value, s.at_ns)).collect::<Vec<_>>(),
            [(9, 1), (9, 3), (8, 6), (7, 4)]
        );
        assert_eq!(block(0, &[-5, -7]).largest().len(), 2);
    }

    proptest! {
        /// Whatever the number of blocks, merging preserves all samples, all sums and the four largest samples.
        #[test]
        fn merging_preserves_everything(
            values in proptest::collection::vec(proptest::collection::vec(-5i64..1_000, 0..6), 1..40),
            repeat in 1usize..400,
        ) {
            let mut series = BlockSeries::default();
            let n = values.len() * repeat;
            // This block adds up what goes in, without a merge.
            let mut whole = Block { length_ns: n as u64 * 1_000_000_000, ..Block::default() };
            for i in 0..n {
                let one = block(i as u64, &values[i % values.len()]);
                whole.count += one.count;
                whole.sum += one.sum;
                whole.sum_squares += one.sum_squares;
                one.largest().iter().for_each(|sample| whole.keep(*sample));
                series.push(one);
            }
            prop_assert!(series.blocks().len() <= BlockSeries::MOST);
            prop_assert!(n < BlockSeries::MOST || series.blocks().len() >= BlockSeries::MOST / 2);
            let mut again = Block::default();
            let mut end = 0;
            for part in series.blocks() {
                prop_assert_eq!(part.start_ns, end);
                end += part.length_ns;
                again.merge(part);
            }
            prop_assert_eq!(again, whole);
        }

        #[test]
        fn stamps_come_back(value: i64, at_ns in 0u64..1 << 62, class in 0u64..4) {
            let class = [Class::Unknown, Class::Preempted, Class::InPlace, Class::Throttled][class as usize];
            let sample = Sample { value, at_ns, class };
            prop_assert_eq!(Sample::unpack(value as u64, Sample::stamp(at_ns, class)), sample);
        }
    }
}
