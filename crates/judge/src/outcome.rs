//! The outcome of an expectation: one vocabulary for every output.

use super::measured::{Decision, Measured};
use latido_model::verdict::Verdict;
use serde::Serialize;
use std::fmt;

/// The outcome of an expectation, or of a study's conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It holds at every place that it concerns.
    #[serde(rename = "holds")]
    Holds,
    /// It does not hold at some place.
    #[serde(rename = "does not hold")]
    DoesNotHold,
    /// There are figures, but they do not decide it.
    #[serde(rename = "undecided")]
    Undecided,
    /// There are no figures.
    #[serde(rename = "not measured")]
    NotMeasured,
}

impl Outcome {
    /// Derives the outcome from the verdict and what decided it.
    pub fn of(verdict: Verdict, decision: Option<&Decision>) -> Self {
        match (verdict, decision.map(|decision| &decision.measured)) {
            (Verdict::Pass, _) => Self::Holds,
            (Verdict::Fail, _) => Self::DoesNotHold,
            (_, Some(Measured::Single { amount: Ok(_), .. } | Measured::Pair(_))) => Self::Undecided,
            _ => Self::NotMeasured,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
        })
    }
}
