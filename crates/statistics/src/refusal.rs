//! Reasons why a question has no answer.

use serde::Serialize;
use std::fmt;

/// The reason why there is no result; its text is for readers of reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "refused", rename_all = "snake_case")]
pub enum Refusal {
    /// Fewer values than the statistic needs.
    TooSmall {
        /// The name of the values.
        of: &'static str,
        /// How many the statistic needs.
        needed: u64,
        /// How many there are.
        given: u64,
    },
    /// A value is infinite or not a number.
    NotFinite,
    /// The caller requested a ratio of values that are not all above zero.
    NotPositive,
    /// All values are equal.
    Constant,
    /// A number in the question is out of its range.
    OutOfRange {
        /// Which number, and its range.
        what: &'static str,
    },
    /// The measured cells cannot separate the effects.
    Missing {
        /// The combinations of levels without a value, or what is confounded.
        cells: Vec<String>,
    },
    /// Observations whose number of factors differs from the number of names.
    Ragged,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { of, needed, given } => write!(f, "too few {of}: {given}; the minimum is {needed}"),
            Self::NotFinite => f.write_str("a value is not a finite number"),
            Self::NotPositive => f.write_str("a ratio needs values above zero"),
            Self::Constant => f.write_str("all values are equal"),
            Self::OutOfRange { what } => f.write_str(what),
            Self::Missing { cells } => write!(f, "effects cannot be told apart: {} not measured", cells.join(", ")),
            Self::Ragged => f.write_str("each value needs one level of every factor"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Checks that values are finite numbers, and that there are at least `needed`.
pub(crate) fn check(values: &[f64], of: &'static str, needed: u64) -> Result<(), Refusal> {
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Refusal::NotFinite);
    }
    let given = values.len() as u64;
    if given < needed { Err(Refusal::TooSmall { of, needed, given }) } else { Ok(()) }
}

/// Returns the natural logarithms of values that must be above zero.
pub(crate) fn logs(values: &[f64]) -> Result<Vec<f64>, Refusal> {
    if values.iter().any(|value| *value <= 0.0) {
        return Err(Refusal::NotPositive);
    }
    Ok(values.iter().map(|value| value.ln()).collect())
}
