//! The words, signs and colours of verdicts, the same in every output.

use latido_judge::{finding::Grade, outcome::Outcome};
use latido_model::verdict::{NO_LIMIT, NOT_MEASURED, Verdict};

/// The tone of a message: it selects the CSS class in a page and the colour in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Needs attention.
    Warn,
    /// No judgement.
    Plain,
}

impl Tone {
    /// Returns its CSS class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Plain => "plain",
        }
    }
}

/// How a report shows a verdict or a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// A sign for readers who do not see colours.
    pub sign: &'static str,
    /// The tone, which selects the class or colour.
    pub tone: Tone,
    /// The word.
    pub word: &'static str,
}

impl Said {
    /// For a measurement without a limit.
    pub const UNJUDGED: Self = Self { sign: "", tone: Tone::Plain, word: NO_LIMIT };
    /// For a measurement without samples.
    pub const EMPTY: Self = Self { sign: "?", tone: Tone::Warn, word: NOT_MEASURED };
}

/// Returns the sign, tone and word of a verdict.
pub fn verdict(verdict: Verdict) -> Said {
    let (sign, tone) = match verdict {
        Verdict::Pass => ("✓", Tone::Good),
        Verdict::Fail => ("✗", Tone::Bad),
        Verdict::Inconclusive => ("?", Tone::Warn),
        Verdict::Contaminated => ("!", Tone::Warn),
        Verdict::Infra => ("!", Tone::Bad),
        Verdict::Skipped => ("!", Tone::Plain),
    };
    Said { sign, tone, word: verdict.word() }
}

/// Returns the sign, tone and word for the outcome of an expectation.
pub fn outcome(outcome: Outcome) -> Said {
    let said = |sign, tone, word| Said { sign, tone, word };
    match outcome {
        Outcome::Holds => said("✓", Tone::Good, "holds"),
        Outcome::DoesNotHold => said("✗", Tone::Bad, "does not hold"),
        Outcome::Undecided => said("?", Tone::Warn, "undecided"),
        Outcome::NotMeasured => said("?", Tone::Warn, "not measured"),
    }
}

/// Returns the sign, tone and word for the finding of a trust check. The word is for lists.
pub fn finding(grade: Grade) -> Said {
    let said = |sign, tone, word| Said { sign, tone, word };
    match grade {
        Grade::Ok => said("✓", Tone::Good, "ok"),
        Grade::Unknown => said("?", Tone::Plain, "?"),
        Grade::Note => said("!", Tone::Warn, "note"),
        Grade::Contaminated => said("!! contaminated:", Tone::Bad, "CONTAMINATED"),
        Grade::Invalid => said("✗ invalid:", Tone::Bad, "INVALID"),
    }
}
