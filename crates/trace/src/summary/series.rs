//! A distribution that keeps its longest samples by where they lie.

use crate::{distribution::Distribution, events::Comm};

/// One of the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Worst {
    /// How long, ns.
    pub ns: u64,
    /// When it began, ns.
    pub begin: u64,
    /// When it ended, ns.
    pub end: u64,
    /// Where it ended.
    pub cpu: u32,
    /// Whose it was; 0 where it is no task's.
    pub pid: i32,
    /// Its name.
    pub comm: Comm,
}

/// A distribution with its longest samples.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// All of them.
    pub all: Distribution,
    /// The longest, in no order; [`Series::longest`] sorts them.
    worst: Vec<Worst>,
    /// What a sample must reach to be among them.
    bar: u64,
}

/// So many of the longest are kept.
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
        // Sorting now and then is cheaper than a heap's care for each.
        if self.worst.len() >= 2 * WORST {
            self.worst.sort_unstable_by(|a, b| b.cmp(a));
            self.worst.truncate(WORST);
            self.bar = self.worst.last().map_or(0, |worst| worst.ns.saturating_add(1));
        }
    }

    /// The longest, the very longest first.
    pub fn longest(&self) -> Vec<Worst> {
        let mut worst = self.worst.clone();
        worst.sort_unstable_by(|a, b| b.cmp(a));
        worst.truncate(WORST);
        worst
    }
}
