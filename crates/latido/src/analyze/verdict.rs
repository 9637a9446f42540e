//! Verdicts: of a cell, of an expectation, of a run; and the exit status that follows.

use super::trust::{Finding, Level};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Of a cell: it cannot be had here and was not tried. Never a pass, and no failure.
    Skipped,
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
    /// The sentence that it stands for, where the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Whether it is a conclusion of the publication that the plan repeats.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_study: bool,
    /// Whether it held.
    pub verdict: Verdict,
    /// The measured figures, or why there are none.
    pub detail: String,
    /// Every series that it was looked at in, what weighs most first.
    #[serde(default)]
    pub each: Vec<SeriesJudgement>,
}

/// What an expectation came to in one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesJudgement {
    /// Number of the cell in the run.
    pub cell: usize,
    /// The quantity.
    pub quantity: String,
    /// What tells the series from others of the quantity.
    pub labels: BTreeMap<String, String>,
    /// Whether it held.
    pub verdict: Verdict,
    /// Where and what was measured: `CPU 1: 4.36 ms`.
    pub measured: String,
}

impl Verdict {
    /// The exit status that it means; 130 (interrupted) is the caller's to know.
    pub fn exit(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Infra => 1,
            Self::Fail => 2,
            Self::Inconclusive | Self::Contaminated | Self::Skipped => 3,
        }
    }

    /// Its weight where several speak of one thing: what failed has failed, whatever the others could not decide.
    pub fn in_one(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Inconclusive | Self::Infra | Self::Skipped => 1,
            Self::Contaminated => 2,
            Self::Fail => 3,
        }
    }

    /// The heavier of two in a run: infra, then contaminated, inconclusive, fail, pass (exit 1 > 3 > 2 > 0). What was
    /// skipped weighs as a pass does; whoever joins a run's cells leaves it out.
    pub fn and(self, other: Self) -> Self {
        let weight = |verdict| match verdict {
            Self::Pass | Self::Skipped => 0,
            Self::Fail => 1,
            Self::Inconclusive => 2,
            Self::Contaminated => 3,
            Self::Infra => 4,
        };
        if weight(self) >= weight(other) { self } else { other }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Contaminated => "contaminated",
            Self::Infra => "infra",
            Self::Skipped => "skipped",
        })
    }
}

impl ExpectJudgement {
    /// Its verdict in a word; of a study's conclusion `reproduced`, `not reproduced` or `not measured`.
    pub fn word(&self) -> String {
        match self.verdict {
            verdict if !self.of_study => verdict.to_string(),
            Verdict::Pass => "reproduced".into(),
            Verdict::Fail => "not reproduced".into(),
            // What cannot be trusted says nothing of the conclusion; the detail says why.
            _ => "not measured".into(),
        }
    }

    /// What it says: its claim, else its condition.
    pub fn sentence(&self) -> &str {
        self.claim.as_deref().unwrap_or(&self.text)
    }
}

impl CellJudgement {
    /// Whether the measurement was not what was asked for.
    pub fn is_invalid(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == Level::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::*;

    #[test]
    fn the_exit_status_follows_the_precedence() {
        let run = |verdicts: &[Verdict]| verdicts.iter().copied().fold(Pass, Verdict::and).exit();
        assert_eq!(run(&[]), 0);
        assert_eq!(run(&[Pass, Fail, Pass]), 2);
        assert_eq!(run(&[Fail, Inconclusive]), 3);
        assert_eq!(run(&[Contaminated, Fail]), 3);
        assert_eq!(run(&[Contaminated, Infra, Fail]), 1);
    }
}
