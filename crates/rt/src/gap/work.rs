//! How long the busy loop's own work takes. When the work lasts longer, the excess is a gap like any other.

use latido_sys::tsc::Scale;

/// The work that the loop did between two spins, apart from checking its flags: one bit per kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work(u8);

impl Work {
    /// It recorded a remarkable gap.
    pub const REMARK: Self = Self(1);
    /// It asked the kernel about the gap.
    pub const CLASSIFY: Self = Self(2);
    /// It ended a block.
    pub const BLOCK: Self = Self(4);
    /// It slept; the cost includes only the work around the sleep.
    pub const REST: Self = Self(8);

    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether this includes all of `other`.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const KINDS: usize = 16;
}

/// The assumed longest time, in ns, for work that the loop has not done before.
const UNKNOWN_NS: u64 = 20_000;

/// How much longer work may take than twice its shortest time, in ns: the processor may have to fetch a cache line.
const SLACK_NS: u64 = 500;

/// The shortest time that each kind of work has taken, in ticks. The dry run finds it, and the loop improves it.
#[derive(Clone, Copy, Debug)]
pub struct WorkCosts {
    shortest: [u64; Work::KINDS],
    unknown: u64,
    slack: u64,
}

impl WorkCosts {
    /// Creates the costs for a counter with the given scale, before any work was measured.
    pub(super) fn unknown(scale: Scale) -> Self {
        let unknown = scale.ticks_within(UNKNOWN_NS);
        Self { shortest: [unknown; Work::KINDS], unknown, slack: scale.ticks_within(SLACK_NS) }
    }

    /// Returns how many of these ticks the work does not explain, or `None` where the work may have taken them all.
    pub(super) fn excess(&mut self, work: Work, ticks: u64) -> Option<u64> {
        let shortest = self.shortest.get_mut(usize::from(work.0))?;
        *shortest = ticks.min(*shortest);
        let allowed = shortest.saturating_mul(2).saturating_add(self.slack).min(shortest.saturating_add(self.unknown));
        (ticks > allowed).then(|| ticks.wrapping_sub(*shortest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_lasts_longer_than_its_work_is_in_excess() {
        let mut costs = WorkCosts::unknown(Scale::NS);
        let remark = Work::REMARK.and(Work::CLASSIFY);
        assert_eq!(costs.excess(remark, 150_000), Some(130_000), "nothing is known: the bound");
        assert_eq!(costs.excess(remark, 2_000), None);
        assert_eq!(costs.excess(remark, 4_500), None);
        assert_eq!(costs.excess(remark, 4_501), Some(2_501));
        assert_eq!(costs.excess(Work::default(), 60), None, "each kind has its time");
        assert_eq!(costs.excess(Work::default(), 2_000), Some(1_940));
    }

    proptest! {
        /// The work never hides more of a window than the bound.
        #[test]
        fn little_is_hidden(windows in prop::collection::vec((0u8..16, 0u64..1_000_000), 1..50)) {
            let mut costs = WorkCosts::unknown(Scale::NS);
            for (kind, ticks) in windows {
                let excess = costs.excess(Work(kind), ticks).unwrap_or(0);
                let own = ticks - excess;
                prop_assert!(own <= 2 * UNKNOWN_NS + SLACK_NS);
            }
        }
    }
}
