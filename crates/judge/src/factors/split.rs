//! Splits levels that are combinations of parts into one factor per part.

use super::Column;
use std::collections::BTreeSet;

/// The most levels that latido tries as parts: the number of their combinations is a power of two.
const MOST: usize = 12;

/// The level of a part that is present.
pub const ON: &str = "on";
/// The level of a part that is absent.
pub const OFF: &str = "off";

/// Returns the column itself, or one column per part if its levels are every combination of parts: `stock`, `rt`, `isolated`, `rt+isolated`
/// become `rt` on or off and `isolated` on or off.
pub(super) fn split(column: Column) -> Vec<Column> {
    let found = product(&column.levels).filter(|found| column.levels.iter().all(|level| found.has(level)));
    match found {
        Some(found) => found.parts.into_iter().map(|part| of_part(&column, &part)).collect(),
        None => vec![column],
    }
}

fn of_part(column: &Column, part: &str) -> Column {
    let level = |level: &String| if level.split('+').any(|one| one == part) { ON } else { OFF }.to_owned();
    Column { name: part.to_owned(), levels: column.levels.iter().map(level).collect() }
}

/// Levels that are all combinations of some parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// The level without any part.
    pub none: String,
    /// The parts, at least two, in the order of their first appearance alone.
    pub parts: Vec<String>,
}

impl Product {
    /// Whether a level is one of the combinations.
    pub fn has(&self, level: &str) -> bool {
        level == self.none || level.split('+').all(|part| self.parts.iter().any(|known| known == part))
    }
}

/// Finds the most parts such that these levels contain all combinations of them and one level without any; the first of several such sets.
pub fn product(levels: &[String]) -> Option<Product> {
    let made = |level: &str| level.split('+').map(str::to_owned).collect::<BTreeSet<String>>();
    let there: BTreeSet<BTreeSet<String>> = levels.iter().map(|level| made(level)).collect();
    let mut alone: Vec<&String> = Vec::new();
    for level in levels.iter().filter(|level| !level.contains('+')) {
        if !alone.contains(&level) {
            alone.push(level);
        }
    }
    let of = |none: &String| {
        let mut parts: Vec<String> = Vec::new();
        // Each combination so far; every further part must appear with each of them.
        let mut sets: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
        for part in alone.iter().filter(|part| **part != none).take(MOST) {
            let with = |set: &BTreeSet<String>| set.iter().chain([*part]).cloned().collect::<BTreeSet<String>>();
            let more: Vec<BTreeSet<String>> = sets.iter().map(with).collect();
            if more.iter().all(|set| there.contains(set)) {
                parts.push((*part).clone());
                sets.extend(more);
            }
        }
        Product { none: none.clone(), parts }
    };
    let mut best: Option<Product> = None;
    for found in alone.iter().map(|none| of(none)).filter(|found| found.parts.len() > 1) {
        if best.as_ref().is_none_or(|best| found.parts.len() > best.parts.len()) {
            best = Some(found);
        }
    }
    best
}
