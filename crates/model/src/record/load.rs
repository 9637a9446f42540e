//! The timing of a load: when it worked during the measurement, and how much it did step by step.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a load started and ended, in ns since the cell's first slot. A negative time was before that slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadLife {
    /// When its program was started.
    pub started_ns: i64,
    /// When it first reported work done; absent for a load that does not report during its run.
    pub worked_ns: Option<i64>,
    /// When latido ended it, or found it ended; absent while it runs.
    pub ended_ns: Option<i64>,
}

/// What a load did in one step of the measured time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadStep {
    /// Begin since the cell's first slot, in ns.
    pub start_ns: i64,
    /// Length in ns.
    pub length_ns: u64,
    /// How much it did in this step, by name, as in [`super::LoadRecord::achieved`].
    pub counts: BTreeMap<String, i64>,
}

impl LoadStep {
    /// Returns how much of something it did per second; `None` if it did not report it.
    pub fn rate(&self, name: &str) -> Option<f64> {
        let count = self.counts.get(name)?;
        (self.length_ns > 0).then(|| *count as f64 * 1e9 / self.length_ns as f64)
    }
}
