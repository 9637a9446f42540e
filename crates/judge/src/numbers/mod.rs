//! The statistics for numbers that latido did not measure: one run, several arms, a history, factors. Each is a plain struct
//! that is written as JSON whole; the engines of stored runs use them too.

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

/// The confidence of every interval but those that name another.
const CONFIDENCE: f64 = 0.95;

/// How values are written: with the unit that suits them where they are times, else as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Times, in ns.
    Ns,
    /// Numbers of any kind, as they were given.
    AsGiven,
}

impl Kind {
    /// A value with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Ns => words::value(value, "ns").replace('\u{a0}', " "),
            Self::AsGiven => number(value),
        }
    }
}

/// Limits that are numbers.
fn finite(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval.filter(|(low, high)| low.is_finite() && high.is_finite())
}
