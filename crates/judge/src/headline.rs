//! The basis of a run's verdict as typed data; one place turns it into the headline.

use super::{measured::Decision, outcome::Outcome, reason::Reason, unseen::Rarity};
use serde::Serialize;

/// What decides a run's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// The outcomes of the conclusions, if the plan repeats a study.
    pub conclusions: Option<Counted>,
    /// The outcomes of the plan's other expectations.
    pub ours: Option<Counted>,
    /// What else decides; absent where the counts are the whole answer.
    pub rest: Option<Ground>,
    /// Whether another tool measured, so that latido checked nothing.
    pub imported: bool,
    /// What figures of the laboratory are worth; absent where no figure comes from there, or where the rest contains it.
    pub emulated: Option<String>,
}

impl Headline {
    /// Whether the headline only concerns a study's conclusions, and none of them has figures.
    pub fn is_unmeasured(&self) -> bool {
        let unmeasured = |of: Counted| of.all == of.not_measured + of.not_judged;
        self.rest.is_none() && self.conclusions.is_some_and(unmeasured) && self.ours.is_none_or(unmeasured)
    }
}

/// The outcomes of a study's conclusions, or of a plan's own expectations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number of all of them.
    pub all: usize,
    /// How many hold.
    pub hold: usize,
    /// How many do not hold.
    pub do_not_hold: usize,
    /// How many the figures leave undecided.
    pub undecided: usize,
    /// How many have no figures.
    pub not_measured: usize,
    /// How many no figure of the plan can judge.
    pub not_judged: usize,
}

/// What decides, other than a study's conclusions.
#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// The run has no verdict only because it ended early.
    CutShort {
        /// The number of cells that were measured to the end.
        measured: usize,
        /// The number of cells that were to be measured.
        tried: usize,
        /// The worst cell so far.
        so_far: Option<DecidingCell>,
        /// An expectation that has already failed.
        failed: Option<Expected>,
    },
    /// A cell.
    Cell {
        /// The cell and why.
        cause: DecidingCell,
        /// How many cells have this verdict, and out of how many; absent if only this one has it.
        alike: Option<(usize, usize)>,
        /// Another expectation that failed outright.
        failed: Option<Expected>,
        /// How many other cells failed outright.
        failing: usize,
    },
    /// An expectation.
    Expectation {
        /// The expectation with its outcome.
        expected: Expected,
        /// The same as in [`Ground::Cell`].
        alike: Option<(usize, usize)>,
        /// The same as in [`Ground::Cell`].
        failed: Option<Expected>,
    },
    /// Neither a limit nor an expectation judges anything: the field contains what the run shows nevertheless.
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
    /// What the doubt is about, if the first reason is a doubt.
    pub doubted: Option<Reason>,
}

/// An expectation and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// How the headline words it.
    pub wording: Wording,
    /// The text of the expectation, its claim, or the conclusion of the study.
    pub what: String,
    /// What decided it; absent where no series matches.
    pub decision: Option<Decision>,
}

/// How a headline words an expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wording {
    /// A conclusion of a study, with its outcome.
    Conclusion(Outcome),
    /// A claim of the plan's author.
    Claim,
    /// A condition that holds.
    Holds,
    /// A condition that does not hold.
    Expected,
}

/// What an unjudged run shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trusted {
    /// The deadlines of periodic work, kernel by kernel; the kernel that meets the least comes first. Empty if nothing periodic was
    /// measured, or too little for a statement.
    pub periodic: Vec<Deadlines>,
    /// The longest time, in ns, that a loop which never sleeps was stopped, and the cell.
    pub stopped: Option<(i64, String)>,
    /// The worst cell, if there is nothing better to say.
    pub worst: Option<DecidingCell>,
}

/// The deadlines that the kernels with these names meet; latido never adds counts of different kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Deadlines {
    /// The kernels, or the targets with them; empty where everything was measured with one kernel.
    pub kernels: Vec<String>,
    /// The result; absent where there were too few slots.
    pub kept: Option<Periodic>,
}

/// Deadlines, by the slots of all cells with one period and kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodic {
    /// The period, in ns.
    pub period_ns: u64,
    /// The number of measured slots.
    pub slots: u64,
    /// The strictest of the tried deadlines that no slot missed, in ns.
    pub kept_ns: Option<u64>,
    /// What it shows that no slot missed this deadline; absent where every deadline was missed.
    pub rarity: Option<Rarity>,
    /// The next stricter deadline.
    pub missed: Option<Missed>,
}

/// A deadline that was missed.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// The deadline, in ns.
    pub deadline_ns: u64,
    /// How many slots missed it.
    pub count: u64,
    /// How many of these an earlier job may have served: latido cannot distinguish.
    pub unclear: u64,
    /// The cell with the most of them, and their number; absent where there is only one cell.
    pub most: Option<(String, u64)>,
}

/// What to know and to do after a run that failed, or that nothing judges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What prevents better figures: trust checks, and points of `latido check`, by name.
    pub in_the_way: Vec<String>,
    /// The command that shows what to change: `latido check`.
    pub check: String,
    /// The command to try next after a run that nothing judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
