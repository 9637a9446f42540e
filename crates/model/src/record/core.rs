//! What a real-time core beside the kernel counted while its threads measured.

use crate::machine::CoreKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The core that scheduled the measuring threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreRecord {
    /// Its kind.
    pub kind: CoreKind,
    /// The ABI that latido spoke.
    pub abi: u32,
    /// How much earlier than requested the core sets a timer for a thread, in ns; absent if latido could not read it. With more than 0 a
    /// sample may be below zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gravity_ns: Option<u64>,
    /// The signals SIGDEBUG that the core sent while samples were taken, by their cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub debug: BTreeMap<String, u64>,
}

impl CoreRecord {
    /// Adds a later part of the same cell.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        for (cause, count) in later.debug {
            let sum = self.debug.entry(cause).or_default();
            *sum = sum.saturating_add(count);
        }
        self
    }
}

/// What a core counted for one of its threads between the last step before the loop and the first step after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreCounts {
    /// Whether the core scheduled the thread before the loop.
    pub out_of_band_before: bool,
    /// Whether the core scheduled the thread after the loop.
    pub out_of_band_after: bool,
    /// How often the thread switched to in-band, where the kernel scheduled it.
    pub switches: u64,
    /// Its faults; absent if the core does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<u64>,
    /// How often the core gave it a CPU.
    pub context_switches: u64,
    /// Its calls of the core; absent if the core does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_calls: Option<u64>,
    /// Its time on a CPU out of band, in ns.
    pub cpu_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_of_two_parts_add_up() {
        let debug = |pairs: &[(&str, u64)]| CoreRecord {
            kind: CoreKind::Evl,
            abi: 36,
            gravity_ns: Some(0),
            debug: pairs.iter().map(|(cause, count)| ((*cause).to_owned(), *count)).collect(),
        };
        let both = debug(&[("system call", 2)]).and(debug(&[("system call", 1), ("fault", 4)]));
        assert_eq!(both, debug(&[("fault", 4), ("system call", 3)]));
    }
}
