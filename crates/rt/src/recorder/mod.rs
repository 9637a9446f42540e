//! Where samples go: preallocated memory with one writer, the measuring thread, and one reader, a housekeeping thread.
//!
//! The hot path counts the sample in the histogram and adds it to the block's sums. One comparison sends every other sample (a new minimum,
//! one of the largest, a negative or enormous one, one above `stop_on`) to a cold path. The writer increments a sequence number before and
//! after each change, so that the reader can copy the state of one moment.

mod config;
mod direct;
mod distribution;
mod facts;
mod gaps;
mod glance;
mod histogram;
mod largest;
mod ordered;
mod reader;
mod ring;
mod shared;
mod table;
mod tallies;
#[cfg(test)]
mod tests;

pub use config::{Config, ConfigError};
pub use distribution::Distribution;
pub use facts::{RecorderPhase, SlotCounts, SpinCounts};
pub use glance::Glance;
pub use largest::CAPACITY as LARGEST;
pub use reader::{Reader, Snapshot, StopSign};
pub use ring::SLOTS as RING;
pub use table::TICKS as TABLE;
pub use tallies::TALLIES;

use crate::{
    block::{Class, Sample},
    word::WordCell,
};
use alloc::sync::Arc;
use core::sync::atomic::{
    Ordering::{Relaxed, Release},
    fence,
};
use shared::SharedMemory;

/// An open change.
pub(crate) struct OpenChange(u64);

/// The writing end, for the measuring thread. The fields that the recorder reads for each sample come first, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Recorder {
    shared: Arc<SharedMemory>,
    /// The counters of the plain histogram.
    words: Arc<[WordCell]>,
    /// Samples from `low` to `low + span` are ordinary: one unsigned comparison checks this.
    low: u64,
    span: u64,
    /// The clock reading at the end of the block, in ns.
    block_end: u64,
    /// The origin of all times: a clock reading, in ns.
    origin: u64,
    block_ns: u64,
    stop_on: i64,
}

/// Allocates both ends.
///
/// # Errors
/// A part of the configuration is impossible.
pub fn new(config: &Config) -> Result<(Recorder, Reader), ConfigError> {
    config.check()?;
    let shared = Arc::new(SharedMemory::new(config));
    let mut recorder = Recorder {
        shared: Arc::clone(&shared),
        words: shared.plain.counters.words(),
        low: ALL_COLD.0,
        span: ALL_COLD.1,
        block_end: 0,
        origin: 0,
        block_ns: config.block_ns,
        stop_on: config.stop_on_ns.map_or(i64::MAX, |ns| i64::try_from(ns).unwrap_or(i64::MAX)),
    };
    recorder.reset();
    Ok((recorder, Reader::new(shared)))
}

/// A range that contains no samples: all samples take the cold path.
const ALL_COLD: (u64, u64) = (1 << 63, 0);

/// The limit of ordinary samples: their squares must fit into 64 bits.
const WATCH_MOST: i64 = u32::MAX as i64;

impl Recorder {
    /// Clears everything. Touches all memory of the recorder, so that there are no page faults afterwards.
    pub fn reset(&mut self) {
        let open = self.begin();
        self.shared.reset();
        self.start_at(0);
        self.rewatch();
        self.commit(open);
    }

    /// Makes `origin`, on the clock of the samples, the origin of all times. Call it right after a reset.
    pub(crate) fn start_at(&mut self, origin: u64) {
        self.origin = origin;
        self.shared.origin.set(origin);
        self.block_end = origin.saturating_add(self.block_ns);
    }

    /// Sets the origin like [`Recorder::start_at`], where the samples begin later, at `start`: the first block begins at `start`.
    pub(crate) fn start_late(&mut self, origin: u64, start: u64) {
        self.start_at(origin);
        self.shared.block.start.set(start.saturating_sub(origin));
        self.block_end = start.saturating_add(self.block_ns);
    }

    /// Sets one of the counts of [`Recorder::tally`].
    pub(crate) fn set_tally(&mut self, which: usize, value: u64) {
        if let Some(word) = self.shared.tallies.get(which) {
            word.set(value);
        }
    }

    /// Sets the phase of the measurement; a reset returns it to idle.
    pub(crate) fn enter(&mut self, phase: RecorderPhase) {
        self.shared.phase.set(phase as u64);
    }

    /// Runs every cold path once; the caller must reset the recorder afterwards.
    pub(crate) fn rehearse(&mut self) {
        let shared = Arc::clone(&self.shared);
        let open = self.begin();
        let mut at = 0u64;
        for value in [0, 1, -1, i64::MAX, 1 << 20, 1 << 20] {
            at = at.wrapping_add(1);
            self.record(value, at);
            self.miss(value.unsigned_abs());
        }
        for edge in shared.plain.counters.edges() {
            self.record(edge as i64, at);
            self.record(edge.wrapping_add(1) as i64, at);
        }
        // Enough samples to fill the store of the largest. Two blocks, since the reader may not be running yet.
        for value in 0..=largest::CAPACITY as i64 {
            self.record(value, at);
        }
        for _ in 0..2 {
            at = self.block_end;
            self.record(7, at);
        }
        self.commit(open);
    }

    /// Opens a change. All writes must happen between this call and [`Recorder::commit`], which takes the token.
    #[inline(always)]
    #[must_use]
    pub(crate) fn begin(&mut self) -> OpenChange {
        let odd = self.shared.sequence.load(Relaxed).wrapping_add(1);
        self.shared.sequence.store(odd, Relaxed);
        fence(Release);
        OpenChange(odd)
    }

    /// Closes a change.
    #[inline(always)]
    pub(crate) fn commit(&mut self, open: OpenChange) {
        self.shared.sequence.store(open.0.wrapping_add(1), Release);
    }

    /// Records a sample taken at the reading `at`. Returns true if it took the cold path, which takes time.
    #[inline(always)]
    pub(crate) fn record(&mut self, value: i64, at: u64) -> bool {
        let ordinary = self.record_ordinary(value, at);
        if !ordinary {
            self.record_cold(value, at);
        }
        !ordinary
    }

    /// Records a sample taken at the reading `at` if it is ordinary. Returns false if it did not record the sample.
    #[inline(always)]
    #[must_use]
    pub(crate) fn record_ordinary(&mut self, value: i64, at: u64) -> bool {
        let small = value as u64;
        if small.wrapping_sub(self.low) > self.span || at >= self.block_end {
            return false;
        }
        let shared = &*self.shared;
        shared.last.set(small);
        shared.block.add_small(small);
        shared.plain.counters.count_in(&self.words, small);
        true
    }

    /// Records a sample, and keeps another value among the ordered samples: for a signed value, `value` is its magnitude.
    pub(crate) fn record_as(&mut self, value: i64, kept: i64, at: u64) {
        self.shared.ordered.push(kept, self.since_origin(at));
        self.count_cold(value, at);
    }

    #[cold]
    #[inline(never)]
    fn record_cold(&mut self, value: i64, at: u64) {
        if self.shared.ordered.is_on() {
            self.shared.ordered.push(value, self.since_origin(at));
        }
        self.count_cold(value, at);
    }

    #[inline(always)]
    fn count_cold(&mut self, value: i64, at: u64) {
        if at >= self.block_end {
            self.end_block(at);
        }
        self.shared.last.set(value as u64);
        self.shared.block.add(value, 1);
        self.shared.plain.counters.count_any(value);
        self.note(value, at, Class::Unknown);
    }

    /// Notes a remarkable sample that the caller has counted elsewhere: extremes, largest samples, `stop_on`.
    pub(crate) fn note(&mut self, value: i64, at: u64, class: Class) {
        let shared = &*self.shared;
        let stamp = Sample::stamp(self.since_origin(at), class);
        shared.noted.add(1);
        shared.plain.extremes(value);
        shared.largest.offer(value, stamp);
        if value > shared.block.threshold() {
            shared.block.offer(value, stamp);
        }
        if value > self.stop_on && shared.stopped.get() == 0 {
            shared.stopped.set(1);
            shared.stop_value.set(value as u64);
            shared.stop_stamp.set(stamp);
        }
        self.rewatch();
    }

    /// Returns the value above which samples are remarkable.
    pub(crate) fn watch(&self) -> i64 {
        let shared = &*self.shared;
        shared.largest.threshold().min(shared.block.threshold()).min(self.stop_on)
    }

    fn rewatch(&mut self) {
        let watch = self.watch().min(WATCH_MOST);
        let min = self.shared.plain.min.get() as i64;
        (self.low, self.span) = match watch.checked_sub(min) {
            Some(span) if min >= 0 && span >= 0 && !self.shared.ordered.is_on() => (min as u64, span as u64),
            _ => ALL_COLD,
        };
    }

    fn since_origin(&self, at: u64) -> u64 {
        at.saturating_sub(self.origin)
    }

    /// Returns the clock reading at which the block ends, in ns.
    pub(crate) fn block_end(&self) -> u64 {
        self.block_end
    }

    /// Ends the block before `at`: passes it to the reader, or lets it continue to grow when the ring is full.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_block(&mut self, at: u64) {
        let shared = &*self.shared;
        let end = self.since_origin(self.block_end);
        // Blocks start on a grid with the block's length, even after a pause longer than a block.
        let beyond = at.saturating_sub(self.block_end);
        let skipped = beyond.wrapping_sub(beyond.checked_rem(self.block_ns).unwrap_or(0));
        let block = &shared.block;
        self.settle();
        block.carry();
        block.length.set(end.saturating_sub(block.start.get()));
        if shared.ring.push(block) {
            shared.plain.sums.add_sums(block);
            block.restart(block.generation.get(), end.saturating_add(skipped));
            self.rewatch();
        }
        self.block_end = self.block_end.saturating_add(skipped).saturating_add(self.block_ns);
    }

    /// Counts a missed slot and records its delay, in ns.
    pub(crate) fn miss(&mut self, delay: u64) {
        let shared = &*self.shared;
        shared.missed_slots.add(1);
        if let Some(missed) = &shared.missed {
            let delay = i64::try_from(delay).unwrap_or(i64::MAX);
            missed.counters.count_any(delay);
            missed.sums.add(delay, 1);
            missed.extremes(delay);
        }
    }

    /// Counts a slot whose wake-up came after the deadline.
    pub(crate) fn count_late(&mut self) {
        self.shared.late.add(1);
    }

    /// Counts a wake-up whose sample went to another recorder.
    pub(crate) fn count_apart(&mut self) {
        self.shared.apart.add(1);
    }

    /// Returns the counts of slots by outcome.
    pub(crate) fn slots(&self) -> SlotCounts {
        self.shared.slots()
    }

    /// Returns whether a sample was above `stop_on`.
    pub(crate) fn stopped(&self) -> bool {
        self.shared.stopped.get() != 0
    }

    fn settle(&self) {
        if let Some(table) = &self.shared.table {
            table.settle(&self.shared.block);
        }
    }

    /// Ends the measurement at the reading `at`: sets the length of the unfinished block.
    pub(crate) fn finish(&mut self, at: u64) {
        let open = self.begin();
        if at >= self.block_end {
            self.end_block(at);
        }
        self.settle();
        let block = &self.shared.block;
        block.length.set(self.since_origin(at).saturating_sub(block.start.get()));
        self.commit(open);
    }
}
