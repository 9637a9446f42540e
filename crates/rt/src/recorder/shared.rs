//! The memory that both ends of a recorder see.

use super::{
    Config, Slots, Spin,
    counters::Counters,
    largest::Largest,
    ordered::Ordered,
    ring::{RawBlock, Ring},
    table::Table,
    tallies::TALLIES,
};
use crate::word::Word;
use core::sync::atomic::AtomicU64;

/// One distribution as it is written.
#[derive(Debug)]
pub(super) struct Live {
    pub counters: Counters,
    /// Sums; of the plain distribution those of finished blocks only.
    pub sums: RawBlock,
    pub min: Word,
    pub max: Word,
}

pub(super) const NO_MIN: i64 = i64::MAX;
pub(super) const NO_MAX: i64 = i64::MIN;

impl Live {
    pub fn new(edges: &[u64]) -> Self {
        Self { counters: Counters::new(edges), sums: RawBlock::new(), min: Word::default(), max: Word::default() }
    }

    pub fn reset(&self) {
        self.counters.reset();
        self.sums.restart(0, 0);
        self.min.set(NO_MIN as u64);
        self.max.set(NO_MAX as u64);
    }

    /// Widens the extremes.
    pub fn extremes(&self, value: i64) {
        if value < self.min.get() as i64 {
            self.min.set(value as u64);
        }
        if value > self.max.get() as i64 {
            self.max.set(value as u64);
        }
    }
}

/// What both ends see. What each sample changes comes first, so that it shares a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Shared {
    /// Even while nothing is being written.
    pub sequence: AtomicU64,
    pub last: Word,
    /// The block under construction.
    pub block: RawBlock,
    /// Raised by every reset: what is older belongs to a warm-up.
    pub generation: Word,
    /// Wake-ups whose samples went to another recorder.
    pub apart: Word,
    pub late: Word,
    pub missed_slots: Word,
    pub own_ns: Word,
    pub slept_ns: Word,
    pub preempted: Word,
    pub in_place: Word,
    pub backwards: Word,
    /// The [`Phase`].
    pub phase: Word,
    /// The clock's reading that times are relative to.
    pub origin: Word,
    pub stopped: Word,
    pub stop_value: Word,
    pub stop_stamp: Word,
    /// Counts of the loop's own.
    pub tallies: [Word; TALLIES],
    pub plain: Live,
    pub missed: Option<Live>,
    pub largest: Largest,
    pub ring: Ring,
    pub ordered: Ordered,
    pub table: Option<Table>,
}

impl Shared {
    pub fn new(config: &Config) -> Self {
        Self {
            sequence: AtomicU64::new(0),
            generation: Word::default(),
            last: Word::default(),
            apart: Word::default(),
            late: Word::default(),
            missed_slots: Word::default(),
            own_ns: Word::default(),
            slept_ns: Word::default(),
            preempted: Word::default(),
            in_place: Word::default(),
            backwards: Word::default(),
            phase: Word::default(),
            origin: Word::default(),
            stopped: Word::default(),
            stop_value: Word::default(),
            stop_stamp: Word::default(),
            tallies: Default::default(),
            block: RawBlock::new(),
            plain: Live::new(&config.edges),
            missed: config.periodic.then(|| Live::new(&config.edges)),
            largest: Largest::new(),
            ring: Ring::new(),
            ordered: Ordered::new(config.ordered),
            table: config.table.map(Table::new),
        }
    }

    /// Forgets everything, touching all memory; blocks begin a new generation.
    pub fn reset(&self) {
        let generation = self.generation.add(1);
        for word in [&self.last, &self.apart, &self.late, &self.missed_slots, &self.stopped, &self.phase] {
            word.set(0);
        }
        for word in [&self.own_ns, &self.slept_ns, &self.preempted, &self.in_place, &self.backwards] {
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

    pub fn spin(&self) -> Spin {
        Spin {
            own_ns: self.own_ns.get(),
            slept_ns: self.slept_ns.get(),
            preempted: self.preempted.get(),
            in_place: self.in_place.get(),
            backwards: self.backwards.get(),
        }
    }

    /// Each wake-up made a sample, here or apart; without missed or late slots it is no matter of slots.
    pub fn slots(&self) -> Slots {
        if self.missed.is_none() {
            return Slots::default();
        }
        let woken = self.plain.sums.count.get().wrapping_add(self.block.count.get()).wrapping_add(self.apart.get());
        let late = self.late.get();
        Slots { met: woken.wrapping_sub(late), late, missed: self.missed_slots.get() }
    }
}
