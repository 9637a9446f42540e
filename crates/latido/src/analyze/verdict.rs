//! Verdicts: of a cell, of an expectation, of a run; and the exit status that follows.

use super::trust::Finding;
use serde::{Deserialize, Serialize};

/// The verdict of a cell, an expectation or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within its limits.
    Pass,
    /// A limit or expectation failed.
    Fail,
    /// Nothing can be said: not real-time, no match, too few samples.
    Inconclusive,
    /// Something foreign decided the result.
    Contaminated,
    /// The infrastructure failed, not the machine under test.
    Infra,
}

/// The judgement of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The run's verdict.
    pub verdict: Verdict,
    /// 0, 1, 2 or 3 (see `latido help exit-status`).
    pub exit: u8,
    /// One sentence with the number that decides.
    pub headline: String,
    /// One entry per cell, in order.
    pub cells: Vec<CellJudgement>,
    /// One entry per expectation, in order.
    pub expectations: Vec<ExpectJudgement>,
}

/// The judgement of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellJudgement {
    /// The cell's number in the run.
    pub number: usize,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, most important first.
    pub reasons: Vec<String>,
    /// Every trust check, also those in order.
    pub findings: Vec<Finding>,
}

/// The judgement of one expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectJudgement {
    /// As its author wrote it.
    pub text: String,
    /// Whether it held.
    pub verdict: Verdict,
    /// The measured figures, or why there are none.
    pub detail: String,
}
