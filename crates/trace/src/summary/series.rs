//! A distribution that keeps its longest samples with their time and place.

use crate::{distribution::Distribution, events::Comm};

/// One of the longest samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worst {
    /// Its length, ns.
    pub ns: u64,
    /// When it began, ns.
    pub begin: u64,
    /// When it ended, ns.
    pub end: u64,
    /// The CPU on which it ended.
    pub cpu: u32,
    /// The task's number; 0 if it belongs to no task.
    pub pid: i32,
    /// The task's name.
    pub comm: Comm,
}

/// A distribution with its longest samples.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// All samples.
    pub all: Distribution,
    /// The longest samples, unsorted; [`Series::longest`] sorts them.
    worst: Vec<Worst>,
    /// The value that a sample must reach to be among them.
    bar: u64,
}

/// How many of the longest samples are kept.
pub const WORST: usize = 20;

impl Series {
    #[inline]
    pub(super) fn push(&mut self, ns: u64, worst: impl FnOnce() -> Worst) {
        self.all.push(ns);
        if ns >= self.bar {
            self.keep(worst());
        }
    }

    #[cold]
    fn keep(&mut self, worst: Worst) {
        self.worst.push(worst);
        // Sorting occasionally costs less than a heap's work for each sample.
        if self.worst.len() >= 2 * WORST {
            self.worst.sort_unstable_by(|a, b| b.cmp(a));
            self.worst.truncate(WORST);
            self.bar = self.worst.last().map_or(0, |worst| worst.ns.saturating_add(1));
        }
    }

    /// Returns the longest samples, the longest first.
    pub fn longest(&self) -> Vec<Worst> {
        let mut worst = self.worst.clone();
        worst.sort_unstable_by(|a, b| b.cmp(a));
        worst.truncate(WORST);
        worst
    }
}
