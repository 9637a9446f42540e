//! Several factors at once: how much each changes the value, and whether they change each other's effect.

use super::{Kind, finite};
use crate::factors::fit::why;
use latido_statistics::{
    Refusal,
    factorial::{self, Effects, Observation},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most combinations of levels.
const CELLS: usize = 10_000;

/// The effects of several factors.
#[derive(Debug, Clone, Serialize)]
pub struct Factorial {
    /// The unit of all values.
    pub unit: Kind,
    /// The names of the factors.
    pub factors: Vec<String>,
    /// The column of the blocks, if there is one.
    pub block: Option<String>,
    /// The number of values.
    pub count: u64,
    /// Whether every combination was measured equally often.
    pub balanced: bool,
    /// The most factors of an interaction.
    pub order: usize,
    /// The fitted effects, on natural logarithms.
    #[serde(flatten)]
    pub effects: Effects,
}

/// What the user requests.
#[derive(Debug, Clone)]
pub struct Question {
    /// The names of the factors.
    pub factors: Vec<String>,
    /// The column of the blocks, if there is one.
    pub block: Option<String>,
    /// The most factors of an interaction.
    pub order: usize,
}

/// Why latido cannot fit effects.
#[derive(Debug, Clone, PartialEq)]
pub struct Unfit {
    /// The reason, in words.
    pub why: String,
    /// Combinations of levels are missing, which a fit with fewer interactions may not need.
    pub is_incomplete: bool,
}

impl From<String> for Unfit {
    fn from(why: String) -> Self {
        Self { why, is_incomplete: false }
    }
}

impl From<Refusal> for Unfit {
    fn from(refusal: Refusal) -> Self {
        Self { why: why(&refusal), is_incomplete: matches!(refusal, Refusal::Missing { .. }) }
    }
}

/// Fits the effects.
///
/// # Errors
/// The effects cannot be separated; the error names what is missing.
pub fn of(observations: &[Observation], question: Question, unit: Kind) -> Result<Factorial, Unfit> {
    let names: Vec<&str> = question.factors.iter().map(String::as_str).collect();
    let levels: Vec<usize> = (0..names.len()).map(|factor| levels(observations, factor)).collect();
    if let Some((name, _)) = names.iter().zip(&levels).find(|(_, levels)| **levels < 2) {
        return Err(format!("the factor `{name}` has only one level; omit its column").into());
    }
    let cells = levels.iter().fold(1, |all: usize, levels| all.saturating_mul(*levels));
    if cells > CELLS {
        return Err(format!(
            "the factors have {cells} combinations of levels, more than the allowed {CELLS}; is a factor a number?"
        )
        .into());
    }
    let mut values = observations.iter().map(|one| one.value);
    let first = values.next();
    if values.all(|value| Some(value) == first) {
        return Err("all values are equal: there is no effect to be estimated".to_owned().into());
    }
    let order = question.order.min(names.len());
    let mut effects = factorial::effects(&names, observations, order)?;
    for one in effects.coefficients.iter_mut().chain(&mut effects.contrasts) {
        one.interval = finite(one.interval);
    }
    let mut counts: BTreeMap<&Vec<String>, usize> = BTreeMap::new();
    observations.iter().for_each(|one| *counts.entry(&one.levels).or_default() += 1);
    let (fewest, most) = (counts.values().min().copied(), counts.values().max().copied());
    Ok(Factorial {
        unit,
        block: question.block,
        count: observations.len() as u64,
        balanced: fewest == most && counts.len() == cells,
        order,
        effects,
        factors: question.factors,
    })
}

/// Returns the number of a factor's levels.
fn levels(observations: &[Observation], factor: usize) -> usize {
    let levels: BTreeSet<&String> = observations.iter().filter_map(|one| one.levels.get(factor)).collect();
    levels.len()
}
