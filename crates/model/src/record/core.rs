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
    /// The signals SIGDEBUG that the core sent to the measuring process, by their cause. It sends them only between the last step before the
    /// loop and the first step after it.
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
        self.gravity_ns = self.gravity_ns.filter(|ns| later.gravity_ns == Some(*ns));
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

impl CoreCounts {
    /// Adds a later part of the same thread. What one part lacks is unknown for the whole.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            out_of_band_before: self.out_of_band_before && later.out_of_band_before,
            out_of_band_after: self.out_of_band_after && later.out_of_band_after,
            switches: self.switches.saturating_add(later.switches),
            faults: both(self.faults, later.faults),
            context_switches: self.context_switches.saturating_add(later.context_switches),
            system_calls: both(self.system_calls, later.system_calls),
            cpu_ns: self.cpu_ns.saturating_add(later.cpu_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch in any part of a cell is one of the whole.
    #[test]
    fn counts_of_two_parts_add_up() {
        let stayed = CoreCounts { out_of_band_before: true, out_of_band_after: true, ..CoreCounts::default() };
        let left = CoreCounts { out_of_band_after: false, switches: 2, faults: Some(1), ..stayed };
        let both = CoreCounts { switches: 1, faults: Some(3), ..stayed }.and(left);
        assert_eq!((both.switches, both.faults), (3, Some(4)));
        assert!(both.out_of_band_before && !both.out_of_band_after);
        assert_eq!(stayed.and(left).faults, None);
    }

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
