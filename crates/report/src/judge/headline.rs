//! What a run's verdict rests on: typed, to be phrased once as the headline.

use super::{measured::Decision, reason::Reason};

/// What decides a run's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// What became of the conclusions, where the plan repeats a study.
    pub conclusions: Option<Conclusions>,
    /// What else decides; absent where the conclusions say it all.
    pub rest: Option<Ground>,
}

/// What became of a study's conclusions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conclusions {
    /// How many there are.
    pub all: usize,
    /// How many hold.
    pub reproduced: usize,
    /// How many do not.
    pub not_reproduced: usize,
    /// How many of which nothing can be said.
    pub not_measured: usize,
}

/// What decides, besides a study's conclusions.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// Nothing but the early end keeps the run from a verdict.
    CutShort {
        /// Cells measured to the end.
        measured: usize,
        /// Cells that were to be measured.
        tried: usize,
        /// The worst so far.
        so_far: Option<DecidingCell>,
        /// An expectation that has failed already.
        failed: Option<Expected>,
    },
    /// A cell.
    Cell {
        /// The cell and why.
        cause: DecidingCell,
        /// How many cells have this verdict, and of how many, where it is not this one alone.
        alike: Option<(usize, usize)>,
        /// An expectation that failed outright beside it.
        failed: Option<Expected>,
    },
    /// An expectation.
    Expectation {
        /// What came of it.
        expected: Expected,
        /// As of [`Ground::Cell`].
        alike: Option<(usize, usize)>,
        /// As of [`Ground::Cell`].
        failed: Option<Expected>,
    },
    /// Neither a limit nor an expectation judges anything; the worst cell all the same.
    Unjudged(Option<DecidingCell>),
    /// The plan could not be read: the first problem.
    NoPlan(String),
    /// The run has no cells.
    NoCells,
}

/// A cell and the reason of its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidingCell {
    /// The cell: `wakeup, busy`.
    pub cell: String,
    /// Its first reason; absent where it has none.
    pub reason: Option<Reason>,
    /// What is doubted, where the first reason is a doubt.
    pub doubted: Option<Reason>,
}

/// An expectation and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// What its words are.
    pub wording: Wording,
    /// The expectation, its claim, or the conclusion of the study.
    pub what: String,
    /// What decided it; absent where no series matches.
    pub decision: Option<Decision>,
}

/// How an expectation stands in a headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wording {
    /// A conclusion of a study, with its word: `reproduced`.
    Conclusion(String),
    /// A claim of the plan's author.
    Claim,
    /// A condition that holds.
    Holds,
    /// A condition that does not.
    Expected,
}
