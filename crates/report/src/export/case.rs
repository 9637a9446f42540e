//! Defines the tests: each cell's limit, each cell's trust, each expectation. Every test format has these and no others.

use super::{
    cells::{self, OneCell},
    format::Exported,
    state::State,
    text::{self, Names},
};
use crate::judged::JudgedRun;
use latido_judge::{span::plain, verdict_wording};

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// `limit`, `trust`, `expect wakeup.latency.max < 50us`: without the cell's limit and without a place in the plan.
    pub name: String,
    /// Its result.
    pub state: State,
    /// Why, in sentences.
    pub why: String,
}

/// The tests of a cell, or the expectations of a run.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The run.
    pub run: &'a JudgedRun,
    /// The cell; absent for tests of the whole run.
    pub cell: Option<OneCell<'a>>,
    /// Its name.
    pub name: String,
    /// Its name in formats with names in steps: `wakeup-busy`, `expectations`.
    pub step: String,
    /// The tests, at least one.
    pub cases: Vec<Case>,
}

impl Group<'_> {
    /// Returns the result of the whole group.
    pub fn state(&self) -> State {
        self.cases.iter().map(|case| case.state).reduce(State::and).unwrap_or(State::NotMeasured)
    }
}

/// Returns the groups of all runs, run by run: its cells, then its expectations.
pub fn groups<'a>(exported: &'a Exported<'a>) -> Vec<Group<'a>> {
    let prefixes = cells::prefixes(exported.runs);
    exported.runs.iter().zip(prefixes).flat_map(|(run, prefix)| of_run(run, prefix.as_deref())).collect()
}

fn of_run<'a>(run: &'a JudgedRun, prefix: Option<&str>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = cells::of_run(run, prefix).into_iter().map(|cell| of_cell(run, cell)).collect();
    let mut names = Names::default();
    let mut cases: Vec<Case> = run
        .judgement
        .expectations
        .iter()
        .map(|one| Case {
            name: names.unique(format!("expect {}", one.sentence())),
            state: State::of_expectation(one),
            why: plain(&verdict_wording::decision(one.decision.as_ref())),
        })
        .collect();
    cases.extend(nothing(run));
    if run.run.damaged {
        // Not all cells and expectations of this run are known: what is left must not look complete.
        let why = run.run.problems.first().cloned().unwrap_or_default();
        cases.push(Case { name: "the plan can be read".into(), state: State::Inconclusive, why });
    }
    if !cases.is_empty() {
        let (name, step) = match prefix {
            Some(prefix) => (format!("{prefix}: expectations"), text::id(&format!("{prefix}-expectations"), ".")),
            None => ("expectations".to_owned(), "expectations".to_owned()),
        };
        groups.push(Group { run, cell: None, name, step, cases });
    }
    groups
}

/// Returns a case for a run in which nothing was tried; it has no tests that could fail.
fn nothing(run: &JudgedRun) -> Option<Case> {
    let tried = run.run.cells.iter().any(|cell| cell.skipped().is_none());
    let why = run.judgement.headline.sentence();
    (!tried).then(|| Case { name: "something was tried".into(), state: State::NotMeasured, why })
}

fn of_cell<'a>(run: &'a JudgedRun, cell: OneCell<'a>) -> Group<'a> {
    let why = cell.why();
    let limit = cell.stored.cell.conditions.limit.map(|limit| Case {
        name: "limit".into(),
        state: cell.state(),
        why: if why.is_empty() { format!("within {limit}") } else { why.clone() },
    });
    let state = State::of_trust(cell.judged);
    let imported = cell.record().is_some_and(|record| record.source.is_some());
    let trust = match state {
        State::Pass if imported => (State::Skipped, "imported, nothing checked".to_owned()),
        // The figure that decides a cell is not a reason to trust it.
        State::Pass => (state, String::new()),
        state => (state, why),
    };
    let trust = Case { name: "trust".into(), state: trust.0, why: trust.1 };
    let step = cell.of_run.as_ref().map(|run| text::id(&format!("{run}-{}", cell.step), "."));
    let (name, step) = (cell.name(), step.unwrap_or_else(|| cell.step.clone()));
    Group { run, name, step, cases: limit.into_iter().chain([trust]).collect(), cell: Some(cell) }
}
