//! How long the busy loop's own work takes, so that what lasts longer is seen: a gap like any other.

use latido_sys::tsc::Scale;

/// What the loop did between two spins, besides looking at its flags: one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work(u8);

impl Work {
    /// It recorded a remarkable gap.
    pub const REMARK: Self = Self(1);
    /// It asked the kernel about it.
    pub const CLASSIFY: Self = Self(2);
    /// It ended a block.
    pub const BLOCK: Self = Self(4);
    /// It slept: what is counted here is the work around that.
    pub const REST: Self = Self(8);

    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of that was done.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const KINDS: usize = 16;
}

/// Work that was never seen before takes at most this long, in ns.
const UNKNOWN_NS: u64 = 20_000;

/// What work may take beyond twice its shortest time, in ns: a cache line that had to be fetched.
const SLACK_NS: u64 = 500;

/// The shortest time that each kind of work has taken, in ticks: learnt in the rehearsal, and better since.
#[derive(Clone, Copy, Debug)]
pub struct WorkCosts {
    shortest: [u64; Work::KINDS],
    unknown: u64,
    slack: u64,
}

impl WorkCosts {
    /// Of a counter of which nothing is known yet.
    pub(super) fn unknown(scale: Scale) -> Self {
        let unknown = scale.ticks_within(UNKNOWN_NS);
        Self { shortest: [unknown; Work::KINDS], unknown, slack: scale.ticks_within(SLACK_NS) }
    }

    /// What of these ticks was not the work's: none where the work may have taken them all.
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
        assert_eq!(costs.excess(Work::default(), 60), None, "each kind has a time of its own");
        assert_eq!(costs.excess(Work::default(), 2_000), Some(1_940));
    }

    proptest! {
        /// What is hidden of a window is never more than the bound, and never less than nothing is work.
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
