//! What a verdict is called and looks like, in every output the same.

use latido_judge::{finding::Grade, outcome::Outcome};
use latido_model::verdict::{NO_LIMIT, NOT_MEASURED, Verdict};

/// How news is told: the class of a page, the colour of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// In order.
    Good,
    /// Bad news.
    Bad,
    /// Worth a look.
    Warn,
    /// Nothing to judge.
    Plain,
}

impl Tone {
    /// Its class in a page.
    pub fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Warn => "warn",
            Self::Plain => "plain",
        }
    }
}

/// How a verdict or a finding is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// For those who do not see colours.
    pub sign: &'static str,
    /// Its class or colour.
    pub tone: Tone,
    /// A word.
    pub word: &'static str,
}

impl Said {
    /// What nothing judges.
    pub const UNJUDGED: Self = Self { sign: "", tone: Tone::Plain, word: NO_LIMIT };
    /// What has no samples.
    pub const EMPTY: Self = Self { sign: "?", tone: Tone::Warn, word: NOT_MEASURED };
}

/// Sign, colour and word of a verdict.
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

/// How the outcome of an expectation is said.
pub fn outcome(outcome: Outcome) -> Said {
    let said = |sign, tone, word| Said { sign, tone, word };
    match outcome {
        Outcome::Holds => said("✓", Tone::Good, "holds"),
        Outcome::DoesNotHold => said("✗", Tone::Bad, "does not hold"),
        Outcome::Undecided => said("?", Tone::Warn, "undecided"),
        Outcome::NotMeasured => said("?", Tone::Warn, "not measured"),
    }
}

/// How the finding of a trust check is said; the word is that of a list.
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
