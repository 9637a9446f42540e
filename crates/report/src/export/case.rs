//! What a test is: each cell's limit, each cell's trust, each expectation. Every format of tests has these and no others.

use super::{
    cells::{self, OneCell},
    format::Exported,
    state::State,
};
use crate::{judge::verdict_wording, judged::JudgedRun, span::plain};

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// `limit 100us`, `trust`, `expect 1 wakeup.latency.max < 50us`.
    pub name: String,
    /// What became of it.
    pub state: State,
    /// Why, in sentences.
    pub why: String,
}

/// The tests of a cell, or the expectations of a run.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The run.
    pub run: &'a JudgedRun,
    /// The cell; absent for what is about the whole run.
    pub cell: Option<OneCell<'a>>,
    /// Its name.
    pub name: String,
    /// What formats with names in steps call it within its run: `002`, `expectations`.
    pub step: String,
    /// The tests, at least one.
    pub cases: Vec<Case>,
}

impl Group<'_> {
    /// What became of the whole.
    pub fn state(&self) -> State {
        self.cases.iter().map(|case| case.state).reduce(State::and).unwrap_or(State::NotMeasured)
    }

    /// How many of its tests have this in JUnit.
    pub fn count(&self, child: super::state::Child) -> usize {
        self.cases.iter().filter(|case| case.state.words().junit == child).count()
    }
}

/// The groups of all runs, run by run: its cells, then its expectations.
pub fn groups<'a>(exported: &'a Exported<'a>) -> Vec<Group<'a>> {
    let several = exported.runs.len() > 1;
    exported.runs.iter().flat_map(|run| of_run(run, several)).collect()
}

fn of_run(run: &JudgedRun, several: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = cells::of_run(run, several).into_iter().map(|cell| of_cell(run, cell)).collect();
    let judged = (1..).zip(&run.judgement.expectations);
    let mut cases: Vec<Case> = judged
        .map(|(number, one)| Case {
            name: format!("expect {number} {}", one.sentence()),
            state: State::of_expectation(one),
            why: plain(&verdict_wording::decision(one.decision.as_ref())),
        })
        .collect();
    cases.extend(nothing(run));
    if run.run.damaged {
        // Its cells and expectations are not all known: what is left must not look whole.
        let why = run.run.problems.first().cloned().unwrap_or_default();
        cases.push(Case { name: "the plan can be read".into(), state: State::Inconclusive, why });
    }
    if !cases.is_empty() {
        let id = if several { format!("{} ", run.run.meta.id) } else { String::new() };
        groups.push(Group { run, cell: None, name: format!("{id}expectations"), step: "expectations".into(), cases });
    }
    groups
}

/// A run of which nothing was tried has no tests that could fail.
fn nothing(run: &JudgedRun) -> Option<Case> {
    let tried = run.run.cells.iter().any(|cell| cell.skipped().is_none());
    let why = run.judgement.headline.sentence();
    (!tried).then(|| Case { name: "something was tried".into(), state: State::NotMeasured, why })
}

fn of_cell<'a>(run: &'a JudgedRun, cell: OneCell<'a>) -> Group<'a> {
    let why = cell.why();
    let limit = cell.stored.cell.conditions.limit.map(|limit| Case {
        name: format!("limit {limit}"),
        state: cell.state(),
        why: why.clone(),
    });
    let state = State::of_trust(cell.judged);
    let imported = cell.record().is_some_and(|record| record.source.is_some());
    let trust = match state {
        State::Pass if imported => (State::Skipped, "imported, nothing checked".to_owned()),
        // The figure that decides a cell is no reason to trust it.
        State::Pass => (state, String::new()),
        state => (state, why),
    };
    let trust = Case { name: "trust".into(), state: trust.0, why: trust.1 };
    let (name, step) = (cell.name(), format!("{:03}", cell.stored.number));
    Group { run, name, step, cases: limit.into_iter().chain([trust]).collect(), cell: Some(cell) }
}
