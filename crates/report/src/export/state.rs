//! The one table of what latido's states are called in each format. Nothing but a pass may look like one.

use latido_judge::{
    judgement::{CellJudgement, ExpectJudgement},
    outcome::Outcome,
    reason::Reason,
};
use latido_model::verdict::Verdict;

/// What became of a test: a cell's limit, a cell's trust, an expectation, a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was judged and kept.
    Pass,
    /// There are figures that nothing judges.
    Measured,
    /// It was judged and broken.
    Fail,
    /// Nothing can be said.
    Inconclusive,
    /// Something foreign decided it.
    Contaminated,
    /// An expectation: there are figures, and they do not decide it.
    Undecided,
    /// An expectation: there are no figures.
    NotMeasured,
    /// The infrastructure failed, not the machine under test.
    Infra,
    /// Not to be had here and not tried.
    Skipped,
}

/// What a test case of JUnit has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// Nothing: it passed.
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
    /// As latido says it, and as labels and types of formats have it.
    pub word: &'static str,
    /// KTAP 1: whether the line begins with `ok`, and the directive behind it. A directive makes an `ok` no pass.
    pub ktap: (bool, Option<&'static str>),
    /// JUnit: what the test case has in it.
    pub junit: Child,
    /// LAVA: the result of a signal and of `result.txt`.
    pub lava: &'static str,
    /// KCIDB 5.3: the status of a test.
    pub kcidb: &'static str,
    /// How much it weighs where several speak of one thing; the order of a run's verdicts.
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

/// What a state that the table lacks would be: never a pass.
const UNKNOWN: Words =
    row(State::Inconclusive, "inconclusive", (false, Some("ERROR")), Child::Error, "unknown", "ERROR", 3);

impl State {
    /// Its row of the table.
    pub fn words(self) -> Words {
        STATES.iter().find(|row| row.state == self).copied().unwrap_or(UNKNOWN)
    }

    /// For formats that have numbers alone: 0 is a pass, 1 is everything else, and what nothing judges has none.
    pub fn not_pass(self) -> Option<u8> {
        (self != Self::Measured).then_some(u8::from(self != Self::Pass))
    }

    /// The heavier of two: infra, contaminated, inconclusive, fail, pass; what was skipped or not judged decides nothing.
    pub fn and(self, other: Self) -> Self {
        if self.words().weight >= other.words().weight { self } else { other }
    }

    /// Whether figures with it are those of the machine under test, as they were asked for.
    pub fn is_trusted(self) -> bool {
        matches!(self, Self::Pass | Self::Measured | Self::Fail)
    }

    /// A cell against its limit; without one, or with one that is about none of its samples, it is measured.
    pub fn of_cell(judged: &CellJudgement, limited: bool) -> Self {
        let unheld = judged.reasons.iter().any(|reason| matches!(reason, Reason::Sampled { .. }));
        match Self::from(judged.verdict) {
            Self::Pass if !limited || unheld => Self::Measured,
            state => state,
        }
    }

    /// Whether a cell was measured as it was asked for; what its limit makes of that is another matter.
    pub fn of_trust(judged: &CellJudgement) -> Self {
        match judged.verdict {
            Verdict::Pass | Verdict::Fail => Self::Pass,
            verdict => verdict.into(),
        }
    }

    /// What became of an expectation.
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

    /// In each column a pass has a word of its own.
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
        assert_eq!(Skipped.and(Pass), Pass);
        assert_eq!(Skipped.and(Skipped), Skipped);
        assert_eq!(Measured.and(Pass), Pass);
        let mut words: Vec<&str> = STATES.iter().map(|row| row.word).collect();
        words.dedup();
        assert_eq!(words.len(), 9, "every state is there once");
    }
}
