//! How long each program kept a CPU without a break, second by second.

use super::{foreign::Stretch, timeline::SECOND_NS};
use std::collections::BTreeMap;

/// A longer stretch, ns, has a separate entry in the timeline.
const LONG_NS: u64 = SECOND_NS + SECOND_NS / 2;

/// The tasks that ran lately, by number and CPU.
#[derive(Debug, Default)]
pub struct Bursts(BTreeMap<(u32, u32), Burst>);

/// What latido knows of a task's bursts on a CPU.
#[derive(Debug, Default)]
struct Burst {
    /// The second of the last stretch.
    second: u64,
    /// How long the burst that may still go on is, in ns: the mean burst of the last look, longer by what followed without a new start.
    going_ns: u64,
    /// The longest burst of that second, in ns.
    longest_ns: u64,
}

impl Bursts {
    /// Adds a stretch that began in this second. Returns by how much the task's longest burst of the second grew, in ns.
    pub fn growth(&mut self, second: u64, stretch: &Stretch) -> u64 {
        let burst = self.0.entry((stretch.tid, stretch.cpu)).or_default();
        let known = if burst.second == second { burst.longest_ns } else { 0 };
        burst.going_ns = match stretch.starts {
            0 => burst.going_ns.saturating_add(stretch.ran_ns),
            starts => stretch.ran_ns.div_ceil(starts),
        };
        // The timeline has an entry for such a stretch alone.
        if stretch.to.saturating_sub(stretch.from) > LONG_NS {
            return burst.going_ns;
        }
        burst.second = second;
        burst.longest_ns = known.max(burst.going_ns);
        burst.longest_ns - known
    }

    /// Forgets the tasks that have not run since the second before this one.
    pub fn forget_before(&mut self, second: u64) {
        self.0.retain(|_, burst| burst.second + 1 >= second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::record::TaskOwner;

    fn stretch(tid: u32, ran_ns: u64, starts: u64) -> Stretch {
        Stretch { tid, cpu: 0, from: 0, to: 0, ran_ns, starts, owner: TaskOwner::Program }
    }

    /// Looks at one task do not add up, however many there are; a burst that lasts over several looks does.
    #[test]
    fn only_a_burst_that_goes_on_grows() {
        let mut bursts = Bursts::default();
        let many: u64 = (0..10).map(|_| bursts.growth(0, &stretch(7, 500, 5))).sum();
        assert_eq!(many, 100, "ten looks at five bursts of 100 ns");
        assert_eq!(bursts.growth(0, &stretch(7, 3_000, 1)), 2_900, "one of them was longer");
        assert_eq!(bursts.growth(0, &stretch(7, 1_000, 0)), 1_000, "and went on");
        assert_eq!(bursts.growth(0, &stretch(7, 100, 1)), 0);
        assert_eq!(bursts.growth(0, &stretch(8, 300, 1)), 300, "another task may have run after it");
        assert_eq!(bursts.growth(1, &stretch(7, 1_000, 0)), 1_100, "a burst that goes on from the second before");
        let late = Stretch { to: 2 * SECOND_NS, ..stretch(7, 500, 1) };
        assert_eq!(bursts.growth(1, &late), 500, "the whole burst of a stretch that was found late");
    }

    #[test]
    fn a_task_that_rests_is_forgotten() {
        let mut bursts = Bursts::default();
        bursts.growth(0, &stretch(7, 500, 1));
        bursts.forget_before(1);
        assert_eq!(bursts.0.len(), 1);
        bursts.forget_before(2);
        assert!(bursts.0.is_empty());
    }
}
