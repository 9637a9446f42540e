//! Factors of what was measured: the columns in which repeats differ, told apart as a factorial needs them.
//!
//! A plan has axes, and a factorial has factors: an axis whose levels are all combinations of some parts (`rt`, `isolated`,
//! `rt+isolated`, and one without any) is as many factors, and axes that change together are one.

pub mod fit;
pub mod split;

use latido_statistics::factorial::Observation;
use std::collections::BTreeSet;

/// One value with what it was measured under.
#[derive(Clone, Debug, PartialEq)]
pub struct Valued {
    /// Names and levels of all in which values may differ; the same names in the same order for all.
    pub columns: Vec<(String, String)>,
    /// Which repeat of which run.
    pub block: String,
    /// The value.
    pub value: f64,
}

/// Factors with the values under their levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// What each is called.
    pub names: Vec<String>,
    /// The values, in the order of the plan.
    pub observations: Vec<Observation>,
    /// How many combinations of levels there could be, and how many have a value.
    pub cells: (usize, usize),
}

/// The factors of some values. Blocks are left away where no repeat has more than one value: they tell nothing then.
pub fn of(values: &[Valued]) -> Factors {
    let columns = merged(varying(values)).into_iter().flat_map(split::split).collect::<Vec<Column>>();
    let repeats: BTreeSet<&str> = values.iter().map(|one| one.block.as_str()).collect();
    let blocked = repeats.len() > 1 && repeats.len() < values.len();
    let observation = |(row, one): (usize, &Valued)| Observation {
        levels: columns.iter().filter_map(|column| column.levels.get(row).cloned()).collect(),
        block: blocked.then(|| one.block.clone()),
        value: one.value,
    };
    let mut observations: Vec<Observation> = values.iter().enumerate().map(observation).collect();
    // The level that comes first is the one that others are set against: parts that are there come after none.
    observations.sort_by_key(|one| one.levels.iter().filter(|level| *level == split::ON).count());
    let there: BTreeSet<&Vec<String>> = observations.iter().map(|one| &one.levels).collect();
    let levels = |column: &Column| column.levels.iter().collect::<BTreeSet<_>>().len();
    let cells = (columns.iter().map(levels).fold(1, usize::saturating_mul), there.len());
    Factors { names: columns.into_iter().map(|column| column.name).collect(), observations, cells }
}

impl Factors {
    /// Whether several factors were crossed, if perhaps not in every combination: more than half of them are there.
    pub fn is_factorial(&self) -> bool {
        let (all, there) = self.cells;
        self.names.len() > 1 && there * 2 > all && all <= 256
    }

    /// The same values without blocks.
    pub fn without_blocks(&self) -> Vec<Observation> {
        self.observations.iter().cloned().map(|one| Observation { block: None, ..one }).collect()
    }
}

/// A name with the level of each value.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    levels: Vec<String>,
}

/// The columns that have more than one level.
fn varying(values: &[Valued]) -> Vec<Column> {
    let names = values.first().map(|one| one.columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    let column = |name: String| {
        let level = |one: &Valued| {
            let found = one.columns.iter().find(|(known, _)| *known == name);
            found.map(|(_, level)| level.clone()).unwrap_or_default()
        };
        Column { levels: values.iter().map(level).collect(), name }
    };
    let differs = |column: &Column| column.levels.iter().any(|level| Some(level) != column.levels.first());
    names.unwrap_or_default().into_iter().map(column).filter(differs).collect()
}

/// Columns that change together, as one: nothing could tell their effects apart.
fn merged(columns: Vec<Column>) -> Vec<Column> {
    let mut kept: Vec<(Column, Vec<usize>)> = Vec::new();
    for column in columns {
        let pattern = pattern(&column.levels);
        match kept.iter_mut().find(|(_, known)| *known == pattern) {
            Some((first, _)) => {
                first.name = format!("{}, {}", first.name, column.name);
                for (level, more) in first.levels.iter_mut().zip(&column.levels) {
                    *level = format!("{level}, {more}");
                }
            }
            None => kept.push((column, pattern)),
        }
    }
    kept.into_iter().map(|(column, _)| column).collect()
}

/// Levels as numbers in the order in which they first occur.
fn pattern(levels: &[String]) -> Vec<usize> {
    let mut known: Vec<&String> = Vec::new();
    let number = |level| {
        known.iter().position(|other| *other == level).unwrap_or_else(|| {
            known.push(level);
            known.len() - 1
        })
    };
    levels.iter().map(number).collect()
}

#[cfg(test)]
mod tests;
