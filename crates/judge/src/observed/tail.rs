//! The largest samples of a repeat, to tell which of them are foreign once it is known what they are held against.

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
    /// What was seen beside them; shared by all quantities of a cell.
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
    /// Of a quantity, where such a statistic rests on single samples.
    pub(super) fn of(quantity: &RepeatQuantity, statistic: Statistic, record: &Rc<Record>) -> Option<Self> {
        let thread =
            |track: &Track| Thread { cpu: track.cpu, count: track.plain.count, largest: track.largest.clone() };
        foreign::is_of_samples(statistic, &quantity.pooled.unit)
            .then(|| Self { record: Rc::clone(record), threads: Rc::new(quantity.tracks.iter().map(thread).collect()) })
    }

    /// What of each thread above an edge is foreign, as [`foreign::is_foreign_above`] has it.
    pub fn foreign_above(&self, edge: f64) -> Vec<Option<bool>> {
        let told = |(number, one): (u32, &Thread)| {
            let Thread { cpu, count, largest } = one;
            let stored = Stored { thread: number, count: *count, cpu: *cpu, largest };
            foreign::is_foreign_above(&self.record, edge, stored)
        };
        (0..).zip(self.threads.iter()).map(told).collect()
    }
}
