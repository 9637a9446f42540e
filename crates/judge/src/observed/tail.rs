//! The largest samples of a repeat. With them latido determines which samples come from outside, once it knows the other side's figure.

use crate::{
    deciding::Stored,
    foreign,
    repeat::{RepeatQuantity, Track},
};
use latido_model::{
    plan::Statistic,
    record::{Record, Sample},
};
use std::rc::Rc;

/// The largest samples of each thread of a quantity.
#[derive(Clone, Debug)]
pub struct Tail {
    /// The record with the evidence; all quantities of a cell share it.
    record: Rc<Record>,
    threads: Rc<Vec<Thread>>,
}

#[derive(Debug)]
struct Thread {
    cpu: Option<u32>,
    count: u64,
    largest: Vec<Sample>,
}

impl Tail {
    /// Returns the tail of a quantity, if such a statistic depends on single samples.
    pub(super) fn of(quantity: &RepeatQuantity, statistic: Statistic, record: &Rc<Record>) -> Option<Self> {
        let thread =
            |track: &Track| Thread { cpu: track.cpu, count: track.plain.count, largest: track.largest.clone() };
        foreign::is_of_samples(statistic, &quantity.pooled.unit)
            .then(|| Self { record: Rc::clone(record), threads: Rc::new(quantity.tracks.iter().map(thread).collect()) })
    }

    /// Returns for each thread whether everything above an edge comes from outside, as [`foreign::is_foreign_above`] does.
    pub fn foreign_above(&self, edge: f64) -> Vec<Option<bool>> {
        let told = |(number, one): (u32, &Thread)| {
            let Thread { cpu, count, largest } = one;
            let stored = Stored { thread: number, count: *count, cpu: *cpu, largest };
            foreign::is_foreign_above(&self.record, edge, stored)
        };
        (0..).zip(self.threads.iter()).map(told).collect()
    }
}
