//! The reading end: drains finished blocks and copies the state of one moment, while the measuring thread goes on.

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
    /// How far the measurement has come: before [`RecorderPhase::Counting`] nothing here counts.
    pub phase: RecorderPhase,
    /// The clock's reading that times are relative to: of a periodic loop its first slot. 0 for the busy loop.
    pub origin: u64,
    /// Raised by every reset.
    pub(super) generation: u64,
    /// The samples.
    pub plain: Distribution,
    /// The delays of the missed slots, where they are recorded.
    pub missed: Option<Distribution>,
    /// The slots; all zero for a loop without.
    pub slots: SlotCounts,
    /// What the busy loop did besides; all zero for another loop.
    pub spin: SpinCounts,
    /// What the loop counted besides its samples, see [`Recorder::tally`].
    pub tallies: [u64; TALLIES],
    /// The last sample, in ns; with a table the last remarkable one.
    pub last: i64,
    /// The largest samples, in descending order, equal ones in the order of time.
    pub largest: Vec<Sample>,
    /// The block under construction.
    pub current: Block,
    /// The sample above `stop_on` that ended the measurement.
    pub stopped: Option<Sample>,
    /// How often a block could not be handed over in time and grew instead.
    pub late_drains: u64,
    /// Blocks handed over before this moment.
    pub(super) head: u64,
}

impl Snapshot {
    /// The distribution that limits and headlines look at: the samples and the delays of the missed slots.
    pub fn corrected(&self) -> Option<Distribution> {
        let mut corrected = self.plain.clone();
        corrected.merge(self.missed.as_ref()?);
        Some(corrected)
    }
}

/// How often a copy is tried again when the writer was at work meanwhile.
const TRIES: u32 = 200;

/// The reading end, for a housekeeping thread. It must be drained at least once a minute; later, blocks grow longer.
#[derive(Debug)]
pub struct Reader {
    pub(super) shared: Arc<SharedMemory>,
    series: BlockSeries,
    generation: u64,
}

/// Tells the measuring thread itself, its loop over, whether a sample above `stop_on` ended it: without a copy of the
/// rest, without an allocation.
#[derive(Clone, Debug)]
pub struct StopSign(Arc<SharedMemory>);

impl StopSign {
    /// The sample; `None` where there was none.
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

    /// For the thread that writes: see [`StopSign`].
    pub fn stop_sign(&self) -> StopSign {
        StopSign(Arc::clone(&self.shared))
    }

    /// Takes the finished blocks over. Cheap; a few times a second is fine.
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

    /// Forgets the blocks of an earlier generation.
    fn enter(&mut self, generation: u64) {
        if generation > self.generation {
            self.generation = generation;
            self.series.clear();
        }
    }

    /// The finished blocks taken over so far, as they were at the last [`Reader::drain`] or [`Reader::snapshot`].
    pub fn blocks(&self) -> &[Block] {
        self.series.blocks()
    }

    /// How far the measurement has come, without a copy of the rest.
    pub fn phase(&self) -> RecorderPhase {
        RecorderPhase::of(self.shared.phase.get())
    }

    /// The first samples in the order of time, as many as were asked for; `None` where none were. Whole once the loop
    /// is over; before, the last one may be half written.
    pub fn ordered(&self) -> Option<Vec<Sample>> {
        self.shared.ordered.is_on().then(|| self.shared.ordered.read())
    }

    /// How many samples are kept in order at most.
    pub fn room(&self) -> usize {
        self.shared.ordered.room()
    }

    /// The last sample of those kept in order.
    pub fn latest(&self) -> Option<i64> {
        self.shared.ordered.latest()
    }

    /// Copies the state of one moment; `None` when the writer left no pause long enough (then try again later).
    ///
    /// Afterwards [`Reader::blocks`] and the snapshot's current block together are exactly the samples counted.
    pub fn snapshot(&mut self) -> Option<Snapshot> {
        let snapshot = self.at_rest(|_| self.copy())?;
        self.enter(snapshot.generation);
        self.drain_to(snapshot.head);
        Some(self.arrange(snapshot))
    }

    /// Reads what the writer did not touch meanwhile; `None` when it left no pause long enough.
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

    /// The whole result of a measurement that has ended: taking the writing end back proves that it has.
    pub fn finish(mut self, recorder: Recorder) -> (Snapshot, Vec<Block>) {
        // A recorder that is not ours would leave this one's writer at work.
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

    /// The blocks so far with the one under construction: what a checkpoint stores.
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
