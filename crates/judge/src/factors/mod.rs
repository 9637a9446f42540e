//! Factors of what was measured: the columns in which repeats differ, separated as a factorial design needs them.
//!
//! A plan has axes, and a factorial has factors. An axis whose levels are all combinations of some parts (`rt`, `isolated`, `rt+isolated`,
//! and one without any) becomes one factor per part. Axes that change together become one factor.

pub mod fit;
pub mod split;

use latido_statistics::factorial::Observation;
use std::collections::BTreeSet;

/// One value with the levels under which it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Valued {
    /// Names and levels of everything in which values may differ; every value has the same names in the same order.
    pub columns: Vec<(String, String)>,
    /// The repeat and its run.
    pub block: String,
    /// The value.
    pub value: f64,
}

/// Factors, and the values with their levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// The names of the factors.
    pub names: Vec<String>,
    /// The values, in the order of the plan.
    pub observations: Vec<Observation>,
    /// The number of possible combinations of levels, and the number of combinations with a value.
    pub cells: (usize, usize),
}

/// Finds the factors of some values. It leaves out blocks where no repeat has more than one value, because such blocks carry no
/// information.
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
    // The first level is the reference for the others: observations with more parts come later.
    observations.sort_by_key(|one| one.levels.iter().filter(|level| *level == split::ON).count());
    let there: BTreeSet<&Vec<String>> = observations.iter().map(|one| &one.levels).collect();
    let levels = |column: &Column| column.levels.iter().collect::<BTreeSet<_>>().len();
    let cells = (columns.iter().map(levels).fold(1, usize::saturating_mul), there.len());
    Factors { names: columns.into_iter().map(|column| column.name).collect(), observations, cells }
}

impl Factors {
    /// Whether several factors were crossed: more than half of the combinations must have a value.
    pub fn is_factorial(&self) -> bool {
        let (all, there) = self.cells;
        self.names.len() > 1 && there * 2 > all && all <= 256
    }

    /// Returns the same values without blocks.
    pub fn without_blocks(&self) -> Vec<Observation> {
        self.observations.iter().cloned().map(|one| Observation { block: None, ..one }).collect()
    }
}

/// The name of a column, and the level of each value.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    levels: Vec<String>,
}

/// Returns the columns with more than one level.
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

/// Merges columns that change together into one, because their effects could not be separated.
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

/// Numbers levels in the order of their first appearance.
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
