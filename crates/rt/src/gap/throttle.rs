//! The kernel's limits on real-time tasks, as the busy loop sees them: a gap of a known length when a budget is used up.

/// How much of each period of a CPU real-time tasks may use before the kernel makes them wait for the rest of the period.
///
/// For the real-time throttle these are sched_rt_runtime_us and sched_rt_period_us. The deadline fair server takes its runtime in each
/// period when other tasks starve; its period minus its runtime is therefore what it leaves to real-time tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// What real-time tasks may use per period, in ns.
    pub runtime_ns: u64,
    /// The period, in ns.
    pub period_ns: u64,
}

/// The longest time between two ticks, in us. The kernel enforces its limits at ticks, at least 100 per second.
const TICK_US: u64 = 10_000;

/// How much of a budget is used up: a leaky bucket, like the kernel's own account. Running fills it, and it leaks at the granted share.
/// Running without a rest fills it in `runtime`, and the wait that follows empties it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    runtime_us: u64,
    /// The rest of the period, in us: the length of the wait.
    rest_us: u64,
    /// The level in us times us, which avoids divisions.
    level: u64,
}

impl Meter {
    /// Creates a meter, or returns `None` if the budget limits nothing.
    pub fn of(budget: Budget) -> Option<Self> {
        let (runtime_us, period_us) = (budget.runtime_ns / 1000, budget.period_ns / 1000);
        let limits = runtime_us > 0 && runtime_us < period_us && period_us <= u64::from(u32::MAX);
        limits.then(|| Self { runtime_us, rest_us: period_us.wrapping_sub(runtime_us), level: 0 })
    }

    fn full(&self) -> u64 {
        self.runtime_us.saturating_mul(self.rest_us)
    }

    /// Adds time during which real-time tasks had the CPU, in ns.
    pub fn ran(&mut self, ns: u64) {
        self.level = self.level.saturating_add((ns / 1000).saturating_mul(self.rest_us)).min(self.full());
    }

    /// Adds time during which they did not have the CPU, in ns.
    pub fn rested(&mut self, ns: u64) {
        self.level = self.level.saturating_sub((ns / 1000).saturating_mul(self.runtime_us));
    }

    /// Returns whether a gap that ends now may be the wait: the budget is used up, and the length fits.
    pub fn explains(&self, gap_ns: u64) -> bool {
        let gap_us = gap_ns / 1000;
        // If a tick ends the budget late, the wait is shorter. If another task has the CPU when the wait is over, the wait is longer.
        let shortest = self.rest_us.saturating_sub((self.rest_us / 4).max(TICK_US)).max(self.rest_us / 2);
        let longest = self.rest_us.saturating_add((self.rest_us / 2).max(TICK_US));
        let used_up = self.level >= self.full().saturating_sub(self.full() / 8);
        used_up && (shortest..=longest).contains(&gap_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn meter() -> Meter {
        Meter::of(Budget { runtime_ns: 950 * MS, period_ns: 1000 * MS }).unwrap()
    }

    #[test]
    fn the_wait_comes_when_the_budget_is_used_up_and_not_before() {
        let mut throttle = meter();
        throttle.ran(800 * MS);
        assert!(!throttle.explains(50 * MS), "a rival, 800 ms after a start");
        for _ in 0..5 {
            throttle.ran(950 * MS);
            for (gap, wanted) in [(2, false), (37, false), (46, true), (54, true), (74, true), (76, false)] {
                assert_eq!(throttle.explains(gap * MS), wanted, "{gap} ms");
            }
            throttle.rested(50 * MS);
            assert!(!throttle.explains(50 * MS), "twice in a period");
        }
    }

    #[test]
    fn who_rests_within_the_budget_is_never_made_to_wait() {
        let mut throttle = meter();
        for _ in 0..100 {
            throttle.ran(900 * MS);
            throttle.rested(100 * MS);
            assert!(!throttle.explains(50 * MS));
        }
        // Each stretch is shorter than the runtime, but together they use more than the share.
        for _ in 0..4 {
            throttle.ran(500 * MS);
            throttle.rested(10 * MS);
        }
        throttle.ran(300 * MS);
        assert!(throttle.explains(50 * MS));
    }

    #[test]
    fn what_limits_nothing_explains_nothing() {
        for (runtime_ns, period_ns) in [(0, MS), (MS, MS), (2 * MS, MS), (MS, u64::MAX)] {
            assert!(Meter::of(Budget { runtime_ns, period_ns }).is_none());
        }
    }

    proptest! {
        /// For all settings the level stays between empty and full, and running for a whole runtime fills it.
        #[test]
        fn any_budget_fills_in_its_runtime(
            period_us in 2u64..=u64::from(u32::MAX),
            part in 0.0f64..1.0,
            steps in prop::collection::vec((any::<bool>(), any::<u64>()), 0..20),
        ) {
            let runtime_us = ((period_us as f64 * part) as u64).clamp(1, period_us - 1);
            let mut meter = Meter::of(Budget { runtime_ns: runtime_us * 1000, period_ns: period_us * 1000 }).unwrap();
            for (ran, ns) in steps {
                if ran { meter.ran(ns) } else { meter.rested(ns) }
                prop_assert!(meter.level <= meter.full());
            }
            meter.ran(runtime_us * 1000);
            let rest_ns = (period_us - runtime_us) * 1000;
            prop_assert!(meter.explains(rest_ns));
            meter.rested(rest_ns);
            prop_assert!(!meter.explains(rest_ns));
        }
    }
}
