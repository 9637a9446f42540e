//! The memory that both ends of a recorder share.

use super::{
    Config, SlotCounts, SpinCounts,
    histogram::Counters,
    largest::Largest,
    ordered::Ordered,
    ring::{RawBlock, Ring},
    table::TickTable,
    tallies::TALLIES,
};
use crate::{block::Class, word::WordCell};
use core::sync::atomic::AtomicU64;

/// Number of classes of gaps.
const CLASSES: usize = 4;

/// A distribution while the recorder writes it.
#[derive(Debug)]
pub(super) struct Live {
    pub counters: Counters,
    /// The sums; for the plain distribution of finished blocks only.
    pub sums: RawBlock,
    pub min: WordCell,
    pub max: WordCell,
}

pub(super) const NO_MIN: i64 = i64::MAX;
pub(super) const NO_MAX: i64 = i64::MIN;

impl Live {
    pub fn new(edges: &[u64]) -> Self {
        Self {
            counters: Counters::new(edges),
            sums: RawBlock::new(),
            min: WordCell::default(),
            max: WordCell::default(),
        }
    }

    pub fn reset(&self) {
        self.counters.reset();
        self.sums.restart(0, 0);
        self.min.set(NO_MIN as u64);
        self.max.set(NO_MAX as u64);
    }

    /// Updates minimum and maximum with a value.
    pub fn extremes(&self, value: i64) {
        if value < self.min.get() as i64 {
            self.min.set(value as u64);
        }
        if value > self.max.get() as i64 {
            self.max.set(value as u64);
        }
    }
}

/// The shared memory. The words that each sample changes come first, so that they share a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct SharedMemory {
    /// Even while the writer is not changing anything.
    pub sequence: AtomicU64,
    pub last: WordCell,
    /// The block under construction.
    pub block: RawBlock,
    /// Increases with every reset: blocks with an older generation belong to a dry run or warm-up.
    pub generation: WordCell,
    /// Wake-ups whose samples went to another recorder.
    pub apart: WordCell,
    pub late: WordCell,
    pub missed_slots: WordCell,
    pub own_ns: WordCell,
    pub slept_ns: WordCell,
    /// Numbers of gaps, indexed by [`Class`].
    pub classes: [WordCell; CLASSES],
    pub throttled_ns: WordCell,
    pub backwards: WordCell,
    /// Remarkable samples so far.
    pub noted: WordCell,
    /// The [`RecorderPhase`].
    pub phase: WordCell,
    /// The clock reading that is the origin of all times.
    pub origin: WordCell,
    pub stopped: WordCell,
    pub stop_value: WordCell,
    pub stop_stamp: WordCell,
    /// Counts that the loop itself defines.
    pub tallies: [WordCell; TALLIES],
    pub plain: Live,
    pub missed: Option<Live>,
    pub largest: Largest,
    pub ring: Ring,
    pub ordered: Ordered,
    pub table: Option<TickTable>,
}

impl SharedMemory {
    pub fn new(config: &Config) -> Self {
        Self {
            sequence: AtomicU64::new(0),
            generation: WordCell::default(),
            last: WordCell::default(),
            apart: WordCell::default(),
            late: WordCell::default(),
            missed_slots: WordCell::default(),
            own_ns: WordCell::default(),
            slept_ns: WordCell::default(),
            classes: Default::default(),
            throttled_ns: WordCell::default(),
            backwards: WordCell::default(),
            noted: WordCell::default(),
            phase: WordCell::default(),
            origin: WordCell::default(),
            stopped: WordCell::default(),
            stop_value: WordCell::default(),
            stop_stamp: WordCell::default(),
            tallies: Default::default(),
            block: RawBlock::new(),
            plain: Live::new(&config.edges),
            missed: config.periodic.then(|| Live::new(&config.edges)),
            largest: Largest::new(),
            ring: Ring::new(),
            ordered: Ordered::new(config.ordered),
            table: config.table.map(TickTable::new),
        }
    }

    /// Clears everything and touches all memory; blocks start a new generation.
    pub fn reset(&self) {
        let generation = self.generation.add(1);
        for word in [&self.last, &self.apart, &self.late, &self.missed_slots, &self.stopped, &self.phase] {
            word.set(0);
        }
        let words = [&self.own_ns, &self.slept_ns, &self.throttled_ns, &self.backwards, &self.noted];
        for word in words.into_iter().chain(&self.classes) {
            word.set(0);
        }
        for word in &self.tallies {
            word.set(0);
        }
        if let Some(table) = &self.table {
            table.reset();
        }
        self.plain.reset();
        if let Some(missed) = &self.missed {
            missed.reset();
        }
        self.largest.reset();
        self.ring.touch();
        self.ordered.reset();
        self.block.restart(generation, 0);
    }

    fn of_class(&self, class: Class) -> u64 {
        self.classes.get(class as usize).map_or(0, WordCell::get)
    }

    pub fn spin(&self) -> SpinCounts {
        SpinCounts {
            own_ns: self.own_ns.get(),
            slept_ns: self.slept_ns.get(),
            preempted: self.of_class(Class::Preempted),
            throttled: self.of_class(Class::Throttled),
            throttled_ns: self.throttled_ns.get(),
            in_place: self.of_class(Class::InPlace),
            backwards: self.backwards.get(),
        }
    }

    /// Returns the slot counts. Each wake-up made one sample, here or in another recorder. Without a distribution of missed slots the loop
    /// has no slots.
    pub fn slots(&self) -> SlotCounts {
        if self.missed.is_none() {
            return SlotCounts::default();
        }
        let woken = self.plain.sums.count.get().wrapping_add(self.block.count.get()).wrapping_add(self.apart.get());
        let late = self.late.get();
        SlotCounts { met: woken.wrapping_sub(late), late, missed: self.missed_slots.get() }
    }
}
