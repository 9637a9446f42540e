//! The single table of the names that each format gives latido's states. No state but a pass may look like a pass.

use latido_judge::{
    judgement::{CellJudgement, ExpectJudgement},
    outcome::Outcome,
    reason::Reason,
};
use latido_model::verdict::Verdict;

/// The result of a test: of a cell's limit, a cell's trust, an expectation or a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// latido judged it, and the limit was kept.
    Pass,
    /// There are figures, but nothing judges them.
    Measured,
    /// latido judged it, and the limit was broken.
    Fail,
    /// The data allow no judgement.
    Inconclusive,
    /// An influence from outside the test decided it.
    Contaminated,
    /// An expectation: there are figures, but they do not decide it.
    Undecided,
    /// An expectation: there are no figures.
    NotMeasured,
    /// The infrastructure failed, not the machine under test.
    Infra,
    /// Not available here and not tried.
    Skipped,
}

/// The child element of a JUnit test case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// No child: it passed.
    None,
    /// `failure`.
    Failure,
    /// `error`.
    Error,
    /// `skipped`.
    Skipped,
}

/// A state in each format.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// The state.
    pub state: State,
    /// latido's own word, which labels and types of formats use too.
    pub word: &'static str,
    /// KTAP 1: whether the line starts with `ok`, and the directive after it. With a directive, an `ok` is not a pass.
    pub ktap: (bool, Option<&'static str>),
    /// JUnit: the child of the test case.
    pub junit: Child,
    /// LAVA: the result of a signal and of `result.txt`.
    pub lava: &'static str,
    /// KCIDB 5.3: the status of a test.
    pub kcidb: &'static str,
    /// Its weight where several states are combined; the same order as a run's verdicts.
    weight: u8,
}

/// Every state, once.
pub const STATES: &[Words] = &[
    row(State::Pass, "pass", (true, None), Child::None, "pass", "PASS", 1),
    row(State::Measured, "measured", (true, Some("SKIP")), Child::Skipped, "skip", "DONE", 0),
    row(State::Fail, "fail", (false, None), Child::Failure, "fail", "FAIL", 2),
    row(State::Inconclusive, "inconclusive", (false, Some("ERROR")), Child::Error, "unknown", "ERROR", 3),
    row(State::Contaminated, "contaminated", (false, Some("ERROR")), Child::Error, "unknown", "ERROR", 4),
    row(State::Undecided, "undecided", (false, Some("ERROR")), Child::Error, "unknown", "ERROR", 3),
    row(State::NotMeasured, "not-measured", (false, Some("ERROR")), Child::Error, "unknown", "MISS", 3),
    row(State::Infra, "infra", (false, Some("ERROR")), Child::Error, "unknown", "MISS", 5),
    row(State::Skipped, "skipped", (true, Some("SKIP")), Child::Skipped, "skip", "SKIP", 0),
];

const fn row(
    state: State,
    word: &'static str,
    ktap: (bool, Option<&'static str>),
    junit: Child,
    lava: &'static str,
    kcidb: &'static str,
    weight: u8,
) -> Words {
    Words { state, word, ktap, junit, lava, kcidb, weight }
}

/// The row for a state that the table lacks: never a pass.
const UNKNOWN: Words =
    row(State::Inconclusive, "inconclusive", (false, Some("ERROR")), Child::Error, "unknown", "ERROR", 3);

impl State {
    /// Returns its row of the table.
    pub fn words(self) -> Words {
        STATES.iter().find(|row| row.state == self).copied().unwrap_or(UNKNOWN)
    }

    /// Returns the state as a number, for formats that have only numbers: 0 for a pass, 1 for every other state, none where nothing judges.
    pub fn not_pass(self) -> Option<u8> {
        (self != Self::Measured).then_some(u8::from(self != Self::Pass))
    }

    /// Returns the heavier of two states, in the order infra, contaminated, inconclusive, fail, pass. A skipped or unjudged state decides
    /// nothing.
    pub fn and(self, other: Self) -> Self {
        if self.words().weight >= other.words().weight { self } else { other }
    }

    /// Returns whether figures with this state come from the machine under test, measured as requested.
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::Pass | Self::Measured | Self::Fail)
    }

    /// Returns the state of a cell against its limit. A pass counts only as measured if the cell has no limit, or a limit that covers none
    /// of its samples.
    pub fn of_cell(judged: &CellJudgement, limited: bool) -> Self {
        let unheld = judged.reasons.iter().any(|reason| matches!(reason, Reason::Sampled { .. }));
        match Self::from(judged.verdict) {
            Self::Pass if !limited || unheld => Self::Measured,
            state => state,
        }
    }

    /// Returns whether a cell was measured as requested, whether or not it kept its limit.
    pub fn of_trust(judged: &CellJudgement) -> Self {
        match judged.verdict {
            Verdict::Pass | Verdict::Fail => Self::Pass,
            verdict => verdict.into(),
        }
    }

    /// Returns the state of an expectation.
    pub fn of_expectation(judged: &ExpectJudgement) -> Self {
        match judged.outcome {
            Outcome::Holds => Self::Pass,
            Outcome::DoesNotHold => Self::Fail,
            Outcome::Undecided if judged.verdict == Verdict::Contaminated => Self::Contaminated,
            Outcome::Undecided => Self::Undecided,
            Outcome::NotMeasured => Self::NotMeasured,
        }
    }
}

impl From<Verdict> for State {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Fail => Self::Fail,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Contaminated => Self::Contaminated,
            Verdict::Infra => Self::Infra,
            Verdict::Skipped => Self::Skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In each column, the word for a pass occurs only once.
    #[test]
    fn nothing_but_a_pass_looks_like_one() {
        let pass = State::Pass.words();
        for row in STATES.iter().filter(|row| row.state != State::Pass) {
            assert_ne!(row.word, pass.word);
            assert!(!row.ktap.0 || row.ktap.1 == Some("SKIP"), "{}", row.word);
            assert_ne!(row.junit, Child::None, "{}", row.word);
            assert_ne!(row.lava, pass.lava, "{}", row.word);
            assert_ne!(row.kcidb, pass.kcidb, "{}", row.word);
            assert_ne!(row.state.not_pass(), State::Pass.not_pass(), "{}", row.word);
        }
        assert_eq!((pass.ktap, pass.junit, pass.lava, pass.kcidb), ((true, None), Child::None, "pass", "PASS"));
    }

    #[test]
    fn the_heavier_state_is_that_of_the_whole() {
        use State::*;
        assert_eq!(Pass.and(Fail), Fail);
        assert_eq!(Fail.and(Contaminated), Contaminated);
        assert_eq!(Contaminated.and(Infra), Infra);
        assert_eq!(Fail.and(Pass), Fail);
        assert_eq!(Fail.and(Inconclusive), Inconclusive);
        assert_eq!(Contaminated.and(Inconclusive), Contaminated);
        assert_eq!(Infra.and(Contaminated), Infra);
        assert_eq!(Skipped.and(Pass), Pass);
        assert_eq!(Skipped.and(Skipped), Skipped);
        assert_eq!(Measured.and(Pass), Pass);
        let words: std::collections::BTreeSet<&str> = STATES.iter().map(|row| row.state.words().word).collect();
        assert_eq!((STATES.len(), words.len()), (9, 9), "every state is there once");
    }
}
