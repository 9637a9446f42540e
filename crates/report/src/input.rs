//! The input of a report.

use crate::{
    study::{NotMeasured, PublishedColumn, StudyPart},
    words::{self, Said},
};
use latido_judge::{
    chains::Chains, configuration::Configuration, headline::Ground, judgement::Judgement, late::OfCell, maxima::Maxima,
};
use latido_model::{
    cell::Axis,
    plan::{CELLS_MAX, Plan},
    run::{Meta, Run},
};

/// Everything that a report says, already read and judged. A report queries nothing about the machine on which it is made.
#[derive(Debug)]
pub struct ReportInput<'a> {
    /// The heading, for example the plan's name or its one-line description.
    pub title: String,
    /// The runs, oldest first.
    pub runs: Vec<RunPart<'a>>,
    /// The configurations of all runs, in the order of tables.
    pub configurations: &'a [Configuration],
    /// What could not be read from the store, one sentence each.
    pub problems: Vec<String>,
    /// The published study that the runs repeat.
    pub study: Option<StudyPart>,
    /// The parts of the plan that were not measured, one entry for each system and reason.
    pub not_measured: Vec<NotMeasured>,
    /// The study's printed numbers, for comparison with the measured ones.
    pub published: Vec<PublishedColumn>,
    /// Why samples were late, for the cells that requested this.
    pub explained: Vec<&'a OfCell>,
    /// The largest value of each second, for the cells whose tracer keeps nothing else.
    pub maxima: Vec<&'a Maxima>,
    /// The stages of the median and the worst event, for the configurations that timestamp events.
    pub chains: Vec<&'a Chains>,
    /// The tables and figures that the plan declares.
    pub declared: Option<Declared<'a>>,
}

/// The tables and figures that a plan declares, with the levels of its cells, measured or not.
#[derive(Clone, Debug)]
pub struct Declared<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The names of the levels of each axis.
    pub levels: Vec<(Axis, Vec<String>)>,
}

impl<'a> Declared<'a> {
    /// Returns the declarations of the first of these runs whose plan has some, with the levels of all runs.
    pub fn of(runs: impl Iterator<Item = &'a Run> + Clone) -> Option<Self> {
        // latido reads no plan with more cells: such a stored plan was written by another program.
        let declares = |plan: &&Plan| (1..=CELLS_MAX).contains(&plan.declared_cells());
        let plan = runs.clone().map(|run| &run.plan).find(declares)?;
        let names = |axis: &Axis| {
            let mut names: Vec<String> = Vec::new();
            for cell in runs.clone().flat_map(|run| &run.cells) {
                let name = cell.cell.level(*axis);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            (*axis, names)
        };
        Some(Self { plan, levels: Axis::ALL.iter().map(names).collect() })
    }
}

/// One run of a report.
#[derive(Clone, Copy, Debug)]
pub struct RunPart<'a> {
    /// The content of `run.json`; a configuration's members refer to its `id`.
    pub meta: &'a Meta,
    /// The judgement of the run.
    pub judgement: &'a Judgement,
    /// The verdict's word for people, see [`latido_judge::decide::word`].
    pub word: &'a str,
    /// The plan as stored.
    pub plan_toml: &'a str,
    /// The commands as in [`crate::judged::JudgedRun::commands`].
    pub commands: &'a [Vec<String>],
}

impl RunPart<'_> {
    /// Returns the words for its verdict: a run that nothing judges has not passed.
    pub fn said(&self) -> Said {
        match self.judgement.headline.rest {
            Some(Ground::Unjudged(_)) => Said::UNJUDGED,
            None if self.judgement.headline.is_unmeasured() => Said::EMPTY,
            _ => words::verdict(self.judgement.verdict),
        }
    }
}
