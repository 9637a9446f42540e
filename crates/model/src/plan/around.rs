//! The time that a cell takes, and its part in addition to warm-up and measurement: latido starts and ends loads, applies and restores
//! settings, and stores the record. latido learns this time from earlier cells of the store; without them it uses the figures of a PC.

use crate::{
    cell::{Cell, Item},
    units::Ns,
};

/// A cell without load or tuning, on a PC.
const BARE: Ns = Ns::from_millis(700);

/// What loads add: they settle and end.
const LOADS: Ns = Ns::from_millis(1_000);

/// What tunings add.
const TUNINGS: Ns = Ns::from_millis(300);

/// The properties of a cell on which its time around the measurement depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like {
    target: String,
    kernel: String,
    probe: String,
    loads: Vec<String>,
    tunings: Vec<String>,
}

impl Like {
    /// Builds them from these names and items.
    pub fn new(target: &str, kernel: &str, probe: &str, loads: &[Item], tunings: &[Item]) -> Self {
        let names = |items: &[Item]| items.iter().map(|item| item.name.clone()).collect();
        let [target, kernel, probe] = [target, kernel, probe].map(str::to_owned);
        Self { target, kernel, probe, loads: names(loads), tunings: names(tunings) }
    }

    /// Builds them from a cell.
    pub fn of(cell: &Cell) -> Self {
        Self::new(&cell.target, &cell.kernel, &cell.probe.name, &cell.load.items, &cell.tuning.items)
    }

    /// Whether target and kernel are the same, and the work around the measurement is nearly the same.
    fn resembles(&self, other: &Self) -> bool {
        self.target == other.target
            && self.kernel == other.kernel
            && self.loads.is_empty() == other.loads.is_empty()
            && self.tunings.is_empty() == other.tunings.is_empty()
    }
}

/// An earlier cell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Earlier {
    like: Like,
    /// The planned time of warm-up and measurement.
    planned: Ns,
    /// The time of the whole cell.
    took: Ns,
}

impl Earlier {
    /// Whether it took less than planned: the plan only estimates how long a number of samples takes.
    fn is_shorter(&self) -> bool {
        self.took < self.planned
    }

    /// Returns the whole time of such a cell with this planned time. What is beside the measurement stays the same. A wrong estimate is wrong
    /// by the same factor.
    fn whole(&self, planned: Ns) -> Ns {
        if !self.is_shorter() {
            return Ns(planned.0.saturating_add(self.took.0 - self.planned.0));
        }
        let whole = u128::from(planned.0) * u128::from(self.took.0) / u128::from(self.planned.0);
        Ns(u64::try_from(whole).unwrap_or(u64::MAX))
    }
}

/// How long earlier cells took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    learned: Vec<Earlier>,
}

impl Around {
    /// Records how long a cell took, and the planned time of its warm-up and measurement.
    pub fn learn(&mut self, like: Like, planned: Ns, took: Ns) {
        self.learned.push(Earlier { like, planned, took });
    }

    /// Returns the whole time of such a cell: the median of equal cells, else of similar ones, else the figures of a PC.
    pub fn whole(&self, like: &Like, planned: Ns) -> Ns {
        let known = |is: &dyn Fn(&Earlier) -> bool| {
            median(self.learned.iter().filter(|one| is(one)).map(|one| one.whole(planned)))
        };
        let equal = known(&|one| one.like == *like);
        equal.or_else(|| known(&|one| one.like.resembles(like) && !one.is_shorter())).unwrap_or_else(|| {
            let loads = if like.loads.is_empty() { 0 } else { LOADS.0 };
            let tunings = if like.tunings.is_empty() { 0 } else { TUNINGS.0 };
            Ns(planned.0.saturating_add(BARE.0 + loads + tunings))
        })
    }

    /// Whether latido has earlier cells of this target.
    pub fn knows(&self, target: &str) -> bool {
        self.learned.iter().any(|one| one.like.target == target)
    }
}

fn median(times: impl Iterator<Item = Ns>) -> Option<Ns> {
    let mut times: Vec<u64> = times.map(|time| time.0).collect();
    times.sort_unstable();
    let middle = |at: usize| times.get(at).copied();
    let upper = middle(times.len() / 2)?;
    let lower = if times.len().is_multiple_of(2) { middle(times.len() / 2 - 1)? } else { upper };
    Some(Ns(lower.midpoint(upper)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(probe: &str, load: &str) -> Like {
        let loads: Vec<Item> = [load]
            .iter()
            .filter(|name| !name.is_empty())
            .map(|name| Item { name: (*name).into(), ..Item::default() })
            .collect();
        Like::new("local", "running", probe, &loads, &[])
    }

    /// Equal cells count before similar ones, and those before the figures of a PC.
    #[test]
    fn earlier_cells_tell_what_a_cell_takes() {
        let mut around = Around::default();
        let planned = Ns::from_secs(10);
        let beside = |around: &Around, like: &Like| around.whole(like, planned).0 - planned.0;
        assert_eq!(beside(&around, &like("wakeup", "")), BARE.0);
        assert_eq!(beside(&around, &like("wakeup", "disk")), BARE.0 + LOADS.0);
        assert!(!around.knows("local"));
        for seconds in [4, 10, 5] {
            around.learn(like("wakeup", "disk"), Ns::from_secs(1), Ns::from_secs(seconds));
        }
        around.learn(like("gap", "spin"), Ns::from_secs(1), Ns::from_secs(9));
        assert_eq!(beside(&around, &like("wakeup", "disk")), 4_000_000_000);
        assert_eq!(beside(&around, &like("gap", "spin")), 8_000_000_000);
        assert_eq!(beside(&around, &like("mutex", "messaging")), 6_000_000_000, "between 4 and 8 of 3, 4, 8 and 9");
        assert_eq!(beside(&around, &like("wakeup", "")), BARE.0, "a loaded cell tells nothing of a bare one");
        assert!(around.knows("local") && !around.knows("lab"));
    }

    /// A machine that computes faster than a PC needs less time than the estimate, for any number of samples. Other probes do not.
    #[test]
    fn a_wrong_estimate_is_learned_as_a_factor() {
        let mut around = Around::default();
        around.learn(like("compute", ""), Ns::from_secs(4), Ns::from_secs(1));
        assert_eq!(around.whole(&like("compute", ""), Ns::from_secs(4)), Ns::from_secs(1));
        assert_eq!(around.whole(&like("compute", ""), Ns::from_secs(40)), Ns::from_secs(10));
        assert_eq!(around.whole(&like("wakeup", ""), Ns::from_secs(4)), Ns(4_000_000_000 + BARE.0));
    }
}
