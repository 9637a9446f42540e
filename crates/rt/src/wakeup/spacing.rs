//! Where the slots are in their periods: all at the same place, or wandering.

/// The place of each slot in its period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// At the beginning. If the period divides the kernel's tick, all slots keep one phase relative to it.
    #[default]
    Fixed,
    /// Slot k is anywhere between s_0 + kT and s_0 + (k+1)T. Its place in the period differs by at most a quarter of a period from the
    /// previous slot's. In the long run all phases are equally frequent.
    Random {
        /// Determines the whole sequence.
        seed: u64,
    },
}

/// Computes the slots after the first.
pub(crate) trait Spacing {
    /// Returns the slot after the one at `due`.
    fn after(&mut self, due: u64) -> u64;

    /// Returns the shortest time between two slots, in ns.
    fn shortest(&self) -> u64;

    /// Returns the beginning of the period of the slot at `due`, which must be the last one computed.
    fn period_of(&self, due: u64) -> u64;
}

/// Slots at equal distances, in ns.
pub(crate) struct Even(pub u64);

impl Spacing for Even {
    #[inline(always)]
    fn after(&mut self, due: u64) -> u64 {
        due.wrapping_add(self.0)
    }

    #[inline(always)]
    fn shortest(&self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn period_of(&self, due: u64) -> u64 {
        due
    }
}

/// A random walk of the phase within the period, reflected at both ends.
pub(crate) struct Wandering {
    period: u64,
    state: u64,
    /// The place of the last slot in its period, in ns.
    offset: u64,
}

impl Wandering {
    fn quarter(&self) -> u64 {
        self.period / 4
    }

    /// Returns a random number below `range` (SplitMix64, then the high part of a multiplication: D. Lemire, 2019).
    fn below(&mut self, range: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (u128::from(z).wrapping_mul(u128::from(range)) >> 64) as u64
    }
}

impl Spacing for Wandering {
    fn after(&mut self, due: u64) -> u64 {
        let (quarter, last) = (self.quarter(), self.period.wrapping_sub(1));
        let moved = self.offset.wrapping_add(self.below(quarter.wrapping_mul(2).wrapping_add(1)));
        // `moved` is too large by a quarter, so that it is never below zero.
        let offset = if moved < quarter {
            quarter.wrapping_sub(moved)
        } else {
            let inside = moved.wrapping_sub(quarter);
            if inside > last { last.wrapping_mul(2).wrapping_sub(inside) } else { inside }
        };
        let gap = self.period.wrapping_add(offset).wrapping_sub(self.offset);
        self.offset = offset;
        due.wrapping_add(gap)
    }

    fn shortest(&self) -> u64 {
        self.period.wrapping_sub(self.quarter())
    }

    fn period_of(&self, due: u64) -> u64 {
        due.wrapping_sub(self.offset)
    }
}

/// Either kind, for loops in which one more branch does not matter.
pub(crate) enum Either {
    Even(Even),
    Wandering(Wandering),
}

impl Either {
    /// Creates the spacing for a phase.
    pub fn of(phase: Phase, period: u64) -> Self {
        match phase {
            Phase::Fixed => Self::Even(Even(period)),
            Phase::Random { seed } => Self::Wandering(Wandering { period, state: seed, offset: 0 }),
        }
    }
}

impl Spacing for Either {
    fn after(&mut self, due: u64) -> u64 {
        match self {
            Self::Even(even) => even.after(due),
            Self::Wandering(wandering) => wandering.after(due),
        }
    }

    fn shortest(&self) -> u64 {
        match self {
            Self::Even(even) => even.shortest(),
            Self::Wandering(wandering) => wandering.shortest(),
        }
    }

    fn period_of(&self, due: u64) -> u64 {
        match self {
            Self::Even(even) => even.period_of(due),
            Self::Wandering(wandering) => wandering.period_of(due),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    proptest! {
        /// Slot k is in period k, and no two slots are nearer than three quarters of a period.
        #[test]
        fn slots_stay_in_their_periods(seed: u64, period in 1u64..5_000_000, n in 1u64..5_000) {
            let mut spacing = Either::of(Phase::Random { seed }, period);
            let (first, shortest) = (77, period - period / 4);
            prop_assert_eq!(spacing.shortest(), shortest);
            let mut due = first;
            for k in 1..n {
                let next = spacing.after(due);
                prop_assert_eq!((next - first) / period, k);
                prop_assert!(next - due >= shortest && next - due <= period + period / 4);
                due = next;
            }
        }
    }

    /// Every tenth of the period gets its share of slots; with a fixed phase, one tenth gets all.
    #[test]
    fn every_phase_comes() {
        let counts = |phase| {
            let (mut spacing, mut due, mut counts) = (Either::of(phase, 1_000_000), 0, [0u32; 10]);
            for _ in 0..200_000 {
                due = spacing.after(due);
                counts[(due % 1_000_000 / 100_000) as usize] += 1;
            }
            counts
        };
        assert_eq!(counts(Phase::Fixed), [200_000, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let spread = counts(Phase::Random { seed: 3 });
        assert!(spread.iter().all(|count| (18_000..22_000).contains(count)), "{spread:?}");
        let sequence = |seed| {
            let mut spacing = Either::of(Phase::Random { seed }, 1_000);
            (0..9).scan(0, |due, _| Some(core::mem::replace(due, spacing.after(*due)))).collect::<Vec<u64>>()
        };
        assert_eq!(sequence(3), sequence(3));
        assert_ne!(sequence(3), sequence(4));
    }
}
