//! A load in time: when it worked beside what was measured, and how much it did step by step.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a load began and ended, in ns since the cell's first slot: what is negative was before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadLife {
    /// Its program was started.
    pub started_ns: i64,
    /// It first told of work done; absent for one that does not tell meanwhile.
    pub worked_ns: Option<i64>,
    /// It was told to end, or was found ended; absent while it goes on.
    pub ended_ns: Option<i64>,
}

/// What a load did in one step of the measured time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadStep {
    /// Begin since the cell's first slot, in ns.
    pub start_ns: i64,
    /// Length in ns.
    pub length_ns: u64,
    /// How much it did in it, by name, as in [`super::LoadRecord::achieved`].
    pub counts: BTreeMap<String, i64>,
}

impl LoadStep {
    /// How much of something it did a second; `None` where it did not tell.
    pub fn rate(&self, name: &str) -> Option<f64> {
        let count = self.counts.get(name)?;
        (self.length_ns > 0).then(|| *count as f64 * 1e9 / self.length_ns as f64)
    }
}
