//! Verdicts on a cell, an expectation or a run, and the exit status of each.

use crate::exit::Exit;
use serde::{Deserialize, Serialize};

/// The word for a run in which nothing was measured.
pub const NOT_MEASURED: &str = "NOT MEASURED";

/// The word for a run that latido is measuring now.
pub const RUNNING: &str = "RUNNING";

/// The word for a run that ended before it was measured.
pub const INTERRUPTED: &str = "INTERRUPTED";

/// The word for a run that has neither a limit nor an expectation.
pub const NO_LIMIT: &str = "NO LIMIT SET";

/// The verdict of a cell, an expectation or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within its limits.
    Pass,
    /// A limit or expectation failed.
    Fail,
    /// latido cannot decide: not real-time, no match, too few samples.
    Inconclusive,
    /// Something outside the measurement decided the result.
    Contaminated,
    /// The infrastructure failed, not the machine under test.
    Infra,
    /// Only for a cell: it is not available here and latido did not try it. Never a pass, and not a failure.
    Skipped,
}

impl Verdict {
    /// Returns the exit status; only the caller knows of 130 (interrupted).
    pub fn exit(self) -> u8 {
        match self {
            Self::Pass => Exit::Done,
            Self::Infra => Exit::Error,
            Self::Fail => Exit::Failed,
            Self::Inconclusive | Self::Contaminated | Self::Skipped => Exit::Undecided,
        }
        .code()
    }

    /// Returns the word for people: the stored word, except for verdicts without figures.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Contaminated => "CONTAMINATED",
            Self::Infra | Self::Skipped => NOT_MEASURED,
        }
    }

    /// Returns its weight if several verdicts concern one item (a cell, a configuration, an expectation): a failure counts, whatever the
    /// others could not decide.
    pub fn weight_for_item(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Inconclusive | Self::Infra | Self::Skipped => 1,
            Self::Contaminated => 2,
            Self::Fail => 3,
        }
    }

    /// Returns the heavier of two verdicts in a run: infra, then contaminated, inconclusive, fail, pass (the order of
    /// [`Exit::PRECEDENCE`]). A failure next to a doubt is a doubt. A skipped cell weighs as much as a pass; the caller that joins a run's
    /// cells leaves it out.
    pub fn worst_for_run(self, other: Self) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::*;

    #[test]
    fn the_exit_status_follows_the_precedence() {
        let run = |verdicts: &[Verdict]| verdicts.iter().copied().fold(Pass, Verdict::worst_for_run).exit();
        assert_eq!(run(&[]), 0);
        assert_eq!(run(&[Pass, Fail, Pass]), 2);
        assert_eq!(run(&[Fail, Inconclusive]), 3);
        assert_eq!(run(&[Contaminated, Fail]), 3);
        assert_eq!(run(&[Contaminated, Infra, Fail]), 1);
    }
}
