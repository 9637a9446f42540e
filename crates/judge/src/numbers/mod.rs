//! Statistics for numbers that latido did not measure: one run, several sides, a history, factors. Each result is a plain struct that
//! latido writes as JSON; the evaluation of stored runs uses them too.

pub mod compare;
pub mod effects;
pub mod history;
pub mod one;

pub use latido_statistics::{
    factorial::Observation,
    two::{Question, Scale},
};

use crate::words::{self, number};
use serde::Serialize;

/// The confidence of every interval that does not name another.
const CONFIDENCE: f64 = 0.95;

/// How values are written: times with a suitable unit, other numbers as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Times, in ns.
    Ns,
    /// Numbers of any kind, as they were given.
    AsGiven,
}

impl Kind {
    /// Returns a value with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Ns => words::value(value, "ns").replace('\u{a0}', " "),
            Self::AsGiven => number(value),
        }
    }
}

/// Returns the limits if both are finite.
fn finite(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval.filter(|(low, high)| low.is_finite() && high.is_finite())
}
