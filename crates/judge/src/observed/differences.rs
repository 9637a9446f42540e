//! What differs between the compared systems: kernel, settings, firmware, and what a plan names.

use super::{Observed, items};
use crate::words;
use serde::Serialize;

/// A name with one value per side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `kernel`, `microcode`, `tuning`.
    pub what: String,
    /// Its value on each side; several values where repeats differ.
    pub values: Vec<String>,
}

/// Returns everything in which these sides differ. A side without repeats counts for nothing.
pub fn of(arms: &[Vec<&Observed>]) -> Vec<Difference> {
    let all: Vec<Vec<Vec<(String, String)>>> =
        arms.iter().map(|arm| arm.iter().map(|one| described(one)).collect()).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in all.iter().flatten().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let row =
        |what: &String| Difference { what: what.clone(), values: all.iter().map(|arm| values(arm, what)).collect() };
    let differs = |row: &Difference| {
        let mut told = row.values.iter().filter(|value| !value.is_empty());
        let first = told.next();
        told.any(|value| Some(value) != first)
    };
    names.into_iter().map(row).filter(differs).collect()
}

/// Returns the values of a row on a side, each once and sorted: sides with the same values do not differ.
fn values(arm: &[Vec<(String, String)>], what: &str) -> String {
    let of = |one: &'_ Vec<(String, String)>| one.iter().find(|(name, _)| name == what).map(|(_, value)| value.clone());
    let mut values: Vec<String> = arm.iter().filter_map(of).collect();
    values.sort();
    values.dedup();
    values.join(" / ")
}

/// Describes how a repeat was measured, then the machine. The names of places already contain what their columns differ in.
fn described(one: &Observed) -> Vec<(String, String)> {
    let tuning = ("settings".to_owned(), items(&one.cell.tuning));
    let clock = ("clock".to_owned(), one.clock.clone());
    let trace = one.cell.conditions.recorded().map_or_else(|| "not recorded".to_owned(), words::traced);
    let named = one.columns().into_iter().chain([tuning, clock, ("trace".to_owned(), trace)]);
    // The kernel in a plan may be a name: then the machine's entry gives the real version.
    let same = one.column("kernel") == one.kernel;
    let facts = one.facts.iter().filter(|(name, _)| !(same && name == "kernel")).cloned();
    let facts = facts.map(|(name, value)| match name.as_str() {
        "kernel" => ("kernel measured".to_owned(), value),
        _ => (name, value),
    });
    named.chain(facts).collect()
}
