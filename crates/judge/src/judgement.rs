//! The judgement of a run: cell by cell, expectation by expectation.

use super::{
    finding::{Finding, Grade},
    headline::{Advice, Headline},
    headline_wording,
    measured::{Decision, Measured},
    outcome::Outcome,
    reason::Reason,
    verdict_wording,
};
use latido_model::{plan::Unjudged, verdict::Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The judgement of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The run's verdict.
    pub verdict: Verdict,
    /// 0, 1, 2 or 3 (see `latido help exit-status`).
    pub exit: u8,
    /// What decides, with its figure; one sentence in documents.
    #[serde(serialize_with = "headline_wording::headline_as_text")]
    pub headline: Headline,
    /// What to know and to try next, where nothing judges the run or it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// One entry per cell, in order.
    pub cells: Vec<CellJudgement>,
    /// One entry per expectation, in order.
    pub expectations: Vec<ExpectJudgement>,
    /// Sentences of the publication that no figure of the plan can judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
}

/// The judgement of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellJudgement {
    /// The cell's number in the run.
    pub number: usize,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why, most important first; sentences in documents.
    #[serde(serialize_with = "verdict_wording::reasons_as_text")]
    pub reasons: Vec<Reason>,
    /// The findings of all trust checks, including those that are in order.
    pub findings: Vec<Finding>,
}

/// The judgement of one expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectJudgement {
    /// The text as its author wrote it.
    pub text: String,
    /// The condition on its quantity: `max < 50us`.
    #[serde(skip)]
    pub condition: String,
    /// The sentence that it stands for, if the plan has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Whether it is a conclusion of the publication that the plan repeats.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_study: bool,
    /// The number of the conclusion in the publication, if the plan gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// Whether it held, for the run's verdict.
    pub verdict: Verdict,
    /// Its outcome: `holds`, `does not hold`, `undecided` or `not measured`.
    pub outcome: Outcome,
    /// What decided it; absent where no series matches. One sentence in documents.
    #[serde(rename = "detail", serialize_with = "verdict_wording::decision_as_text")]
    pub decision: Option<Decision>,
    /// Every series that it was tested in, the most severe first.
    pub each: Vec<SeriesJudgement>,
}

/// The result of an expectation in one series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesJudgement {
    /// The number of the cell in the run.
    pub cell: usize,
    /// The quantity.
    pub quantity: String,
    /// What distinguishes the series from others of the quantity.
    pub labels: BTreeMap<String, String>,
    /// Whether it held.
    pub verdict: Verdict,
    /// Where and what was measured: `CPU 1: 4.36 ms` in documents.
    #[serde(serialize_with = "verdict_wording::measured_as_text")]
    pub measured: Measured,
}

impl ExpectJudgement {
    /// Returns its sentence: its claim, else its condition.
    pub fn sentence(&self) -> &str {
        self.claim.as_deref().unwrap_or(&self.text)
    }

    /// Returns the sentence after the number of the conclusion: `C7: Xenomai's mean activation lies above ...`.
    pub fn numbered(&self) -> String {
        let number = self.conclusion.as_ref().map(|number| format!("{number}: ")).unwrap_or_default();
        format!("{number}{}", self.sentence())
    }
}

impl CellJudgement {
    /// Whether the measurement was not what the user requested.
    pub fn is_invalid(&self) -> bool {
        self.findings.iter().any(|finding| finding.grade == Grade::Invalid)
    }
}
