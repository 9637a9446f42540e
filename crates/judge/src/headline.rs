//! What a run's verdict rests on: typed, to be phrased once as the headline.

use super::{measured::Decision, outcome::Outcome, reason::Reason, unseen::Rarity};
use serde::Serialize;

/// What decides a run's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// What became of the conclusions, where the plan repeats a study.
    pub conclusions: Option<Counted>,
    /// What became of the plan's own expectations beside them.
    pub ours: Option<Counted>,
    /// What else decides; absent where these say it all.
    pub rest: Option<Ground>,
    /// Whether another tool measured, so that nothing was checked.
    pub imported: bool,
    /// What figures of the laboratory are worth; absent where none is from there, or the rest says it.
    pub emulated: Option<String>,
}

impl Headline {
    /// Whether it is about a study's conclusions alone, and none has figures.
    pub fn is_unmeasured(&self) -> bool {
        let unmeasured = |of: Counted| of.all == of.not_measured + of.not_judged;
        self.rest.is_none() && self.conclusions.is_some_and(unmeasured) && self.ours.is_none_or(unmeasured)
    }
}

/// What became of a study's conclusions, or of a plan's own expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How many there are.
    pub all: usize,
    /// How many hold.
    pub hold: usize,
    /// How many do not.
    pub do_not_hold: usize,
    /// How many the figures do not decide.
    pub undecided: usize,
    /// How many have no figures.
    pub not_measured: usize,
    /// How many no figure of the plan decides.
    pub not_judged: usize,
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
        /// How many cells failed outright beside it.
        failing: usize,
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
    /// Neither a limit nor an expectation judges anything: what was seen all the same.
    Unjudged(Trusted),
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
    /// A conclusion of a study, with what became of it.
    Conclusion(Outcome),
    /// A claim of the plan's author.
    Claim,
    /// A condition that holds.
    Holds,
    /// A condition that does not.
    Expected,
}

/// What an unjudged run shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trusted {
    /// Of periodic work, kernel by kernel, the one that keeps least first; none where none was measured, or too little to
    /// say anything.
    pub periodic: Vec<Deadlines>,
    /// The longest time that a loop which never sleeps stood still, in ns, and the cell.
    pub stopped: Option<(i64, String)>,
    /// The worst cell, where there is nothing better to say.
    pub worst: Option<DecidingCell>,
}

/// What the kernels of this name keep each: what is counted with one is never added to what is with another.
#[derive(Clone, Debug, PartialEq)]
pub struct Deadlines {
    /// The kernels, or the targets with them; none where all was measured with one.
    pub kernels: Vec<String>,
    /// Absent where there were too few slots.
    pub kept: Option<Periodic>,
}

/// Deadlines, by the slots of all cells of one period and kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodic {
    /// The period, in ns.
    pub period_ns: u64,
    /// Slots that were measured.
    pub slots: u64,
    /// The strictest deadline of those looked at that no slot missed, in ns.
    pub kept_ns: Option<u64>,
    /// What it supports that none missed it; absent where some missed each.
    pub rarity: Option<Rarity>,
    /// The next stricter one.
    pub missed: Option<Missed>,
}

/// A deadline that was missed.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// The deadline, in ns.
    pub deadline_ns: u64,
    /// How many slots missed it.
    pub count: u64,
    /// Those of them that an earlier job may have served: no event tells.
    pub unclear: u64,
    /// The cell with the most of them, and how many; absent where there is one cell alone.
    pub most: Option<(String, u64)>,
}

/// What to know and to do after a run that nothing judges, or that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What stands in the way of better figures: trust checks, and points of `latido check`, by name.
    pub in_the_way: Vec<String>,
    /// The command that says what to change: `latido check`.
    pub check: String,
    /// The command to try next, after a run that nothing judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
