//! Effects of several factors at once: least squares on logarithms, with sum contrasts, type III, and blocks.

mod design;
mod errors;

use crate::{
    Refusal,
    matrix::{dot, inverse, times},
    refusal::{check, logs},
    special::{f_above, t_beyond, t_quantile_beyond},
    two::{hodges_lehmann::median, uneven::by_chance},
};
use design::Design;
use errors::{Alike, Each, Errors};
use serde::Serialize;
use std::collections::BTreeMap;

/// One value with the level of each factor, and the block of its measurement: its repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// One level per factor, in the order of the factors' names.
    pub levels: Vec<String>,
    /// Which block; `None` without blocks.
    pub block: Option<String>,
    /// The value; above zero.
    pub value: f64,
}

/// A ratio with its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    /// The factors, in order: one for a main effect, several for an interaction.
    pub factors: Vec<String>,
    /// One level per factor.
    pub levels: Vec<String>,
    /// What the effect is relative to; `None` where that is the whole, the geometric mean of all cells (sum contrasts).
    pub relative_to: Option<String>,
    /// The natural logarithm of the ratio.
    pub log: f64,
    /// The ratio.
    pub ratio: f64,
    /// Its 95 % interval by Student's t; `None` without repeats.
    pub interval: Option<(f64, f64)>,
    /// The p of a ratio of 1; `None` without repeats.
    pub p: Option<f64>,
    /// The degrees of freedom of its error, where combinations have different spreads and each counts with its separate spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_freedom: Option<f64>,
}

/// Whether a term has an effect: F of type III, which compares the full model with one without the coefficients of the term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Term {
    /// The factors.
    pub factors: Vec<String>,
    /// The number of its coefficients.
    pub freedom: u64,
    /// F; `None` without repeats or if there are no residuals.
    pub f: Option<f64>,
    /// Its p.
    pub p: Option<f64>,
    /// The degrees of freedom of its error, where combinations have different spreads and each counts with its separate spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_freedom: Option<f64>,
}

/// All effects of a factorial experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effects {
    /// The geometric mean over all cells, each counted once.
    pub mean: f64,
    /// For each level of each term its sum contrast, relative to the whole.
    pub coefficients: Vec<Effect>,
    /// For each further level of each factor its contrast with the first level, averaged over the other factors; for several factors with
    /// two levels each, the ratio of the ratios.
    pub contrasts: Vec<Effect>,
    /// The analysis of variance.
    pub terms: Vec<Term>,
    /// Degrees of freedom that repeats leave; with 0, effects have no intervals.
    pub freedom: u64,
    /// The standard deviation of the logarithms within cells; `None` without repeats.
    pub spread: Option<f64>,
    /// The probability that chance alone makes the spreads of combinations differ this much; `None` where the repeats do not show it.
    pub spread_p: Option<f64>,
    /// Whether combinations may have different spreads.
    pub uneven: bool,
    /// Whether the errors then use the spread of each combination separately: each needs four values.
    pub each_own: bool,
}

/// Tests whether combinations of levels have different spreads, as far as their repeats show. It is the test of Brown and Forsythe (Journal
/// of the American Statistical Association 69, 1974): an analysis of variance of the distances of logarithms from the median of their
/// combination. Returns its p, or `None` where there are no repeats or they are all equal.
pub fn spread(observations: &[Observation]) -> Option<f64> {
    let mut cells = BTreeMap::<&[String], Vec<f64>>::new();
    for one in observations.iter().filter(|one| one.value > 0.0) {
        cells.entry(&one.levels).or_default().push(one.value.ln());
    }
    let distances: Vec<Vec<f64>> = cells
        .into_values()
        .filter(|values| values.len() > 1)
        .map(|mut values| {
            values.sort_by(f64::total_cmp);
            let middle = median(&values);
            values.iter().map(|value| (value - middle).abs()).collect()
        })
        .collect();
    let (groups, all) = (distances.len(), distances.iter().map(Vec::len).sum::<usize>());
    if groups < 2 || all <= groups {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let whole = mean(&distances.concat());
    let between: f64 = distances.iter().map(|one| one.len() as f64 * (mean(one) - whole).powi(2)).sum();
    let within: f64 =
        distances.iter().map(|one| one.iter().map(|value| (value - mean(one)).powi(2)).sum::<f64>()).sum();
    let (of_groups, of_rest) = ((groups - 1) as f64, (all - groups) as f64);
    (within > 0.0).then(|| f_above(between / of_groups / (within / of_rest), of_groups, of_rest))
}

/// The least number of values that show the spread of a combination.
const FEWEST: usize = 4;

/// Fits all main effects and interactions of at most `order` factors (Searle, Linear Models, 1971; R's `lm` with `contr.sum`). The numbers
/// of repeats may differ. Returns `Err` where a cell that the interactions need has no value (the error names it), a factor has one level,
/// or a value is not above zero.
pub fn effects(names: &[&str], observations: &[Observation], order: usize) -> Result<Effects, Refusal> {
    let values: Vec<f64> = observations.iter().map(|observation| observation.value).collect();
    check(&values, "values", 2)?;
    let y = logs(&values)?;
    let design = Design::of(names, observations, order)?;
    let columns = design.columns();
    let gram: Vec<Vec<f64>> = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
    let covariance = inverse(&gram).ok_or_else(|| Refusal::Missing { cells: design.missing(observations) })?;
    let right: Vec<f64> = columns.iter().map(|column| dot(column, &y)).collect();
    let beta = times(&covariance, &right);
    let fitted =
        |row: usize| columns.iter().zip(&beta).map(|(column, b)| column.get(row).map_or(0.0, |x| x * b)).sum::<f64>();
    let rest: f64 = y.iter().enumerate().map(|(row, y)| (y - fitted(row)).powi(2)).sum();
    let freedom = y.len().saturating_sub(beta.len());
    let variance = (freedom > 0).then(|| rest / freedom as f64);
    let spread_p = spread(observations);
    let numbers = numbers(observations);
    let (fewest, most) = (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0));
    let uneven = spread_p.is_some_and(|p| p < by_chance(fewest, most));
    let each_own = uneven && freedom > 0 && fewest >= FEWEST;
    let errors = match variance {
        None => Errors::None,
        Some(_) if each_own => {
            let left: Vec<f64> = y.iter().enumerate().map(|(row, y)| y - fitted(row)).collect();
            Errors::Each(Each::new(&columns, &covariance, &left, observations, freedom))
        }
        Some(variance) => Errors::Alike(Alike { variance, freedom: freedom as f64 }),
    };
    let solved = Solved { beta, covariance, errors };
    Ok(Effects {
        mean: solved.beta.first().map_or(0.0, |b| b.exp()),
        coefficients: design.coefficients().into_iter().map(|(what, weights)| solved.effect(what, &weights)).collect(),
        contrasts: design.contrasts().into_iter().map(|(what, weights)| solved.effect(what, &weights)).collect(),
        terms: design.terms().into_iter().map(|(factors, range)| solved.term(factors, range)).collect(),
        freedom: freedom as u64,
        spread: variance.map(f64::sqrt),
        spread_p,
        uneven,
        each_own,
    })
}

/// Counts the observations of each combination.
fn numbers(observations: &[Observation]) -> Vec<usize> {
    let mut numbers = BTreeMap::<&[String], usize>::new();
    observations.iter().for_each(|one| *numbers.entry(&one.levels).or_default() += 1);
    numbers.into_values().collect()
}

/// The name of an effect: its factors, their levels, and what it is relative to.
type Name = (Vec<String>, Vec<String>, Option<String>);

struct Solved {
    beta: Vec<f64>,
    covariance: Vec<Vec<f64>>,
    errors: Errors,
}

impl Solved {
    /// Returns a weighted sum of coefficients as an effect.
    fn effect(&self, (factors, levels, relative_to): Name, weights: &[f64]) -> Effect {
        let log = dot(weights, &self.beta);
        let error = self.errors.of(&times(&self.covariance, weights), weights);
        let interval = error.map(|error| {
            let far = error.size * t_quantile_beyond(0.05, error.freedom);
            ((log - far).exp(), (log + far).exp())
        });
        let p = error.filter(|error| error.size > 0.0).map(|error| t_beyond(log / error.size, error.freedom));
        let error_freedom = error.filter(|_| self.errors.are_each()).map(|error| error.freedom);
        Effect { factors, levels, relative_to, log, ratio: log.exp(), interval, p, error_freedom }
    }

    /// Returns Wald's F of a range of coefficients: that of type III under sum contrasts.
    fn term(&self, factors: Vec<String>, range: std::ops::Range<usize>) -> Term {
        let part: Vec<f64> = self.beta.get(range.clone()).unwrap_or_default().to_vec();
        let freedom = part.len() as f64;
        let rows = self.covariance.get(range.clone()).unwrap_or_default();
        let found = self.errors.block(rows, &range).and_then(|(block, error_freedom)| {
            inverse(&block).map(|inverse| (dot(&part, &times(&inverse, &part)) / freedom, error_freedom))
        });
        let error_freedom = found.map(|(_, error)| error).filter(|_| self.errors.are_each());
        let p = found.map(|(f, error)| f_above(f, freedom, error));
        Term { factors, freedom: part.len() as u64, f: found.map(|(f, _)| f), p, error_freedom }
    }
}
