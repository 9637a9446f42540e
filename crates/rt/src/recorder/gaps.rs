//! The part of a recorder for the busy loop: which samples the loop may count itself, and how it records the others.

use super::{Recorder, SpinCounts, TABLE};
use crate::{block::Class, word::WordCell};
use latido_sys::tsc::Scale;

impl Recorder {
    /// Returns the scale that converts the table's ticks to ns.
    pub(crate) fn scale(&self) -> Scale {
        self.shared.table.as_ref().map_or(Scale::NS, |table| table.scale())
    }

    /// Returns the counters of the samples that need only counting: one per number of ticks below the first remarkable sample.
    pub(crate) fn ordinary(&self) -> &[WordCell] {
        let Some(table) = &self.shared.table else { return &[] };
        let below = match u64::try_from(self.watch()) {
            Ok(watch) => table.scale().ticks_within(watch).saturating_add(1).min(TABLE as u64) as usize,
            Err(_) => 0,
        };
        table.cells().get(..below).unwrap_or(&[])
    }

    /// Records a sample that is remarkable, or too large for the table.
    pub(crate) fn gap(&mut self, ticks: u64, at: u64, class: Class) {
        let value = i64::try_from(self.scale().ns(ticks)).unwrap_or(i64::MAX);
        let shared = &*self.shared;
        let cell = shared.table.as_ref().and_then(|table| table.cells().get(usize::try_from(ticks).ok()?));
        match cell {
            Some(cell) => _ = cell.add(1),
            None => {
                shared.block.add(value, 1);
                shared.plain.counters.count_any(value);
            }
        }
        // Index the array by number: the compiler would turn a match into a jump table, which the disassembly check cannot follow.
        if let Some(count) = shared.classes.get(class as usize) {
            count.add(1);
        }
        if class == Class::Throttled {
            shared.throttled_ns.add(value.unsigned_abs());
        }
        shared.last.set(value as u64);
        self.note(value, at, class);
    }

    /// Counts a reading of the counter that was lower than the previous one.
    pub(crate) fn count_backwards(&mut self) {
        self.shared.backwards.add(1);
    }

    /// Returns the time outside gaps and the counts of classified gaps.
    pub(crate) fn spin(&self) -> SpinCounts {
        self.shared.spin()
    }

    /// Stores how long the loop worked for itself, and how long it slept, so far.
    pub(crate) fn set_aside(&mut self, own_ns: u64, slept_ns: u64) {
        self.shared.own_ns.set(own_ns);
        self.shared.slept_ns.set(slept_ns);
    }
}
