//! The reading end: drains finished blocks and copies the state of one moment, while the measuring thread continues.

use super::{
    Distribution, Recorder, RecorderPhase, SlotCounts, SpinCounts, TALLIES,
    ring::RawBlock,
    shared::{Live, NO_MAX, NO_MIN, SharedMemory},
};
use crate::block::{Block, BlockSeries, Sample};
use alloc::{sync::Arc, vec::Vec};
use core::sync::atomic::{
    Ordering::{Acquire, Relaxed},
    fence,
};

/// The state of a recorder at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The phase of the measurement. Before [`RecorderPhase::Counting`] the data here do not count.
    pub phase: RecorderPhase,
    /// The clock reading that is the origin of all times: for a periodic loop its first slot, for the busy loop 0.
    pub origin: u64,
    /// Increases with every reset.
    pub(super) generation: u64,
    /// The samples.
    pub plain: Distribution,
    /// The delays of the missed slots, if the recorder keeps them.
    pub missed: Option<Distribution>,
    /// The slots; all zero for a loop without slots.
    pub slots: SlotCounts,
    /// What the busy loop did apart from its samples; all zero for other loops.
    pub spin: SpinCounts,
    /// What the loop counted in addition to its samples, see [`Recorder::tally`].
    pub tallies: [u64; TALLIES],
    /// The last sample, in ns; with a table the last remarkable one.
    pub last: i64,
    /// The largest samples, in descending order, equal ones in time order.
    pub largest: Vec<Sample>,
    /// The block under construction.
    pub current: Block,
    /// The sample above `stop_on` that ended the measurement.
    pub stopped: Option<Sample>,
    /// How often the ring had no room for a finished block, so that the block continued to grow.
    pub late_drains: u64,
    /// Number of blocks passed on before this moment.
    pub(super) head: u64,
}

impl Snapshot {
    /// Returns the distribution for limits and headlines: the samples and the delays of the missed slots together.
    pub fn corrected(&self) -> Option<Distribution> {
        let mut corrected = self.plain.clone();
        corrected.merge(self.missed.as_ref()?);
        Some(corrected)
    }
}

/// How often the reader repeats a copy when the writer was active during it.
const TRIES: u32 = 200;

/// The reading end, for a housekeeping thread. It must be drained at least once per minute; otherwise blocks grow longer.
#[derive(Debug)]
pub struct Reader {
    pub(super) shared: Arc<SharedMemory>,
    series: BlockSeries,
    generation: u64,
}

/// Shows the measuring thread itself, after its loop, whether a sample above `stop_on` ended the loop. It does not copy the rest or
/// allocate memory.
#[derive(Clone, Debug)]
pub struct StopSign(Arc<SharedMemory>);

impl StopSign {
    /// Returns the sample, or `None` where there is none.
    pub fn sample(&self) -> Option<Sample> {
        stop_sample(&self.0)
    }
}

fn stop_sample(shared: &SharedMemory) -> Option<Sample> {
    (shared.stopped.get() != 0).then(|| Sample::unpack(shared.stop_value.get(), shared.stop_stamp.get()))
}

impl Reader {
    pub(super) fn new(shared: Arc<SharedMemory>) -> Self {
        Self { shared, series: BlockSeries::default(), generation: 0 }
    }

    /// Returns a [`StopSign`] for the writing thread.
    pub fn stop_sign(&self) -> StopSign {
        StopSign(Arc::clone(&self.shared))
    }

    /// Takes the finished blocks. This is cheap; a few times per second is fine.
    pub fn drain(&mut self) {
        self.drain_to(self.shared.ring.head());
    }

    fn drain_to(&mut self, head: u64) {
        while self.shared.ring.tail() != head
            && let Some((generation, block)) = self.shared.ring.pop()
        {
            self.enter(generation);
            if generation == self.generation {
                self.series.push(block);
            }
        }
    }

    /// Clears the blocks of an earlier generation.
    fn enter(&mut self, generation: u64) {
        if generation > self.generation {
            self.generation = generation;
            self.series.clear();
        }
    }

    /// Returns the finished blocks that the last [`Reader::drain`] or [`Reader::snapshot`] and earlier ones took.
    pub fn blocks(&self) -> &[Block] {
        self.series.blocks()
    }

    /// Returns the phase of the measurement, without copying the rest.
    pub fn phase(&self) -> RecorderPhase {
        RecorderPhase::of(self.shared.phase.get())
    }

    /// Returns the first samples in time order, as many as the configuration requests; `None` if it requests none. The result is complete
    /// only after the loop has ended; before, the last sample may be half written.
    pub fn ordered(&self) -> Option<Vec<Sample>> {
        self.shared.ordered.is_on().then(|| self.shared.ordered.read())
    }

    /// Returns how many samples the recorder keeps in order at most.
    pub fn room(&self) -> usize {
        self.shared.ordered.room()
    }

    /// Returns the last of the samples kept in order.
    pub fn latest(&self) -> Option<i64> {
        self.shared.ordered.latest()
    }

    /// Copies the state of one moment. Returns `None` when the writer left no pause long enough (then try again later).
    ///
    /// Afterwards [`Reader::blocks`] and the snapshot's current block together contain exactly the counted samples.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        let snapshot = self.at_rest(|_| self.copy())?;
        self.enter(snapshot.generation);
        self.drain_to(snapshot.head);
        Some(self.arrange(snapshot))
    }

    /// Reads a state that the writer did not change during the read. Returns `None` when the writer left no pause long enough.
    pub(super) fn at_rest<T>(&self, read: impl Fn(&SharedMemory) -> T) -> Option<T> {
        for _ in 0..TRIES {
            let before = self.shared.sequence.load(Acquire);
            if before & 1 == 0 {
                let result = read(&self.shared);
                fence(Acquire);
                if self.shared.sequence.load(Relaxed) == before {
                    return Some(result);
                }
            }
            core::hint::spin_loop();
        }
        None
    }

    /// Returns the whole result of a measurement that has ended. Taking the writing end back proves that it has ended.
    pub fn finish(mut self, recorder: Recorder) -> (Snapshot, Vec<Block>) {
        // With the recorder of another reader, the writer of this one could still be running.
        debug_assert!(Arc::ptr_eq(&self.shared, &recorder.shared));
        let snapshot = self.copy();
        self.enter(snapshot.generation);
        self.drain_to(snapshot.head);
        let snapshot = self.arrange(snapshot);
        let mut blocks = self.series;
        if snapshot.current.count > 0 {
            blocks.push(snapshot.current.clone());
        }
        (snapshot, blocks.blocks().to_vec())
    }

    /// Returns the blocks so far including the one under construction, for a checkpoint.
    pub fn blocks_with(&self, snapshot: &Snapshot) -> Vec<Block> {
        let mut blocks = self.series.clone();
        if snapshot.current.count > 0 {
            blocks.push(snapshot.current.clone());
        }
        blocks.blocks().to_vec()
    }

    pub(super) fn copy(&self) -> Snapshot {
        let shared = &*self.shared;
        let mut plain = distribution(&shared.plain, Some(&shared.block));
        let mut current = shared.block.read();
        if let Some(table) = &shared.table {
            table.expand(&mut plain, &mut current);
        }
        Snapshot {
            phase: RecorderPhase::of(shared.phase.get()),
            origin: shared.origin.get(),
            generation: shared.generation.get(),
            plain,
            missed: shared.missed.as_ref().map(|missed| distribution(missed, None)),
            slots: shared.slots(),
            spin: shared.spin(),
            tallies: shared.tallies.each_ref().map(|word| word.get()),
            last: shared.last.get() as i64,
            largest: shared.largest.read(),
            current,
            stopped: stop_sample(shared),
            late_drains: shared.ring.full(),
            head: shared.ring.head(),
        }
    }

    fn arrange(&self, mut snapshot: Snapshot) -> Snapshot {
        snapshot.largest.sort_unstable_by_key(|sample| (core::cmp::Reverse(sample.value), sample.at_ns));
        snapshot
    }
}

fn distribution(live: &Live, block: Option<&RawBlock>) -> Distribution {
    let (min, max) = (live.min.get() as i64, live.max.get() as i64);
    let max = (max != NO_MAX).then_some(max);
    let mut read = live.counters.read(max);
    read.min = (min != NO_MIN).then_some(min);
    read.max = max;
    for sums in [Some(&live.sums), block].into_iter().flatten() {
        let sums = sums.read();
        read.count = read.count.wrapping_add(sums.count);
        read.sum = read.sum.wrapping_add(sums.sum);
        read.sum_squares = read.sum_squares.wrapping_add(sums.sum_squares);
    }
    read
}
