//! The time that a cell takes in addition to its warm-up and measurement: latido starts and ends loads, applies and restores settings, and
//! stores the record. latido learns this time from earlier cells of the store; without them it uses the figures of a PC.

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

/// How long earlier cells took in addition to their measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// The properties of each cell, and its time.
    learned: Vec<(Like, Ns)>,
}

impl Around {
    /// Records how long a cell took in addition to its measurement.
    pub fn learn(&mut self, like: Like, took: Ns) {
        self.learned.push((like, took));
    }

    /// Returns the time of such a cell: the median of equal cells, else of similar ones, else the figures of a PC.
    pub fn of(&self, like: &Like) -> Ns {
        let known =
            |is: &dyn Fn(&Like) -> bool| median(self.learned.iter().filter(|(one, _)| is(one)).map(|(_, ns)| *ns));
        known(&|one| one == like).or_else(|| known(&|one| one.resembles(like))).unwrap_or_else(|| {
            let loads = if like.loads.is_empty() { 0 } else { LOADS.0 };
            let tunings = if like.tunings.is_empty() { 0 } else { TUNINGS.0 };
            Ns(BARE.0 + loads + tunings)
        })
    }

    /// Whether latido has earlier cells of this target.
    pub fn knows(&self, target: &str) -> bool {
        self.learned.iter().any(|(like, _)| like.target == target)
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
        assert_eq!(around.of(&like("wakeup", "")), BARE);
        assert_eq!(around.of(&like("wakeup", "disk")), Ns(BARE.0 + LOADS.0));
        assert!(!around.knows("local"));
        for seconds in [3, 9, 4] {
            around.learn(like("wakeup", "disk"), Ns::from_secs(seconds));
        }
        around.learn(like("gap", "spin"), Ns::from_secs(8));
        assert_eq!(around.of(&like("wakeup", "disk")), Ns::from_secs(4));
        assert_eq!(around.of(&like("gap", "spin")), Ns::from_secs(8));
        assert_eq!(around.of(&like("mutex", "messaging")), Ns::from_secs(6), "between 4 and 8 of 3, 4, 8 and 9");
        assert_eq!(around.of(&like("wakeup", "")), BARE, "a loaded cell tells nothing of a bare one");
        assert!(around.knows("local") && !around.knows("lab"));
    }
}
