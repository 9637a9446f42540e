//! Finds the options in which cells of the same probe differ; reads each cell once, however many there are.

use latido_model::{cell::Cell, written};
use std::collections::{BTreeMap, BTreeSet};

/// The options on which cells of the same probe differ, by probe.
#[derive(Debug, Default)]
pub struct Differing<'a> {
    /// The first cell of each probe, with which the others are compared, and the keys on which some cell differed.
    probes: BTreeMap<&'a str, (&'a Cell, BTreeSet<&'a str>)>,
}

impl<'a> Differing<'a> {
    /// Compares each cell once, with the first cell of its probe.
    pub fn of(cells: &[&'a Cell]) -> Self {
        let mut all = Self::default();
        for cell in cells {
            let (first, keys) = all.probes.entry(&cell.probe.name).or_insert_with(|| (cell, BTreeSet::new()));
            let (one, other) = (&first.probe.options, &cell.probe.options);
            let differs = |key: &&'a String| one.get(*key) != other.get(*key);
            keys.extend(one.keys().chain(other.keys()).filter(differs).map(String::as_str));
        }
        all
    }

    /// Returns these options of one cell as `key=value`, except those that `but` names.
    pub fn options(&self, cell: &Cell, but: &dyn Fn(&str) -> bool) -> Vec<String> {
        let Some((_, keys)) = self.probes.get(cell.probe.name.as_str()) else { return Vec::new() };
        let all = cell.probe.options.iter().filter(|(key, _)| keys.contains(key.as_str()) && !but(key));
        all.map(|(key, value)| format!("{key}={}", written::said(value))).collect()
    }
}

/// Whether within every probe all cells have the same value.
pub(super) fn shared<'a, T: PartialEq>(all: &[&'a Cell], value: impl Fn(&'a Cell) -> Option<T>) -> bool {
    let mut known: BTreeMap<&str, Option<T>> = BTreeMap::new();
    all.iter().all(|cell| {
        let own = value(cell);
        match known.get(cell.probe.name.as_str()) {
            Some(first) => *first == own,
            None => {
                known.insert(&cell.probe.name, own);
                true
            }
        }
    })
}
