//! Pure functions from runs to text: terminal, HTML, JSON, CSV, LaTeX, Markdown.

pub mod json;
pub mod live;
mod notes;
pub mod rate;
mod scale;
pub mod table;
pub mod terminal;
mod terminal_show;
pub use terminal_show::show;
pub mod chapter;
pub mod characterisation;
pub mod confidence;
pub mod csv;
pub mod figures;
pub mod html;
pub mod latex;
pub mod markdown;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
pub(crate) mod sample_calls;
pub mod section;
pub mod sentence;
pub mod sheet;
pub mod study;
pub mod summary;
pub mod unit;
pub mod words;

use crate::{
    analyze::{configuration::Configuration, verdict::Judgement},
    store::Meta,
};
use study::{NotMeasured, PublishedColumn, StudyPart};

/// Everything that a report says, already read and judged: a report computes nothing about the machine it is made on.
#[derive(Debug)]
pub struct ReportInput<'a> {
    /// The heading, for example the plan's name or its one-line description.
    pub title: String,
    /// The runs, oldest first.
    pub runs: Vec<RunPart<'a>>,
    /// The configurations of all runs, as tables order them.
    pub configurations: &'a [Configuration],
    /// What could not be read from the store, one sentence each.
    pub problems: Vec<String>,
    /// The published study that the runs repeat.
    pub study: Option<StudyPart>,
    /// What the plan has and nobody measured, one entry for each system and reason.
    pub not_measured: Vec<NotMeasured>,
    /// Printed numbers of the study, to be set beside the measured ones.
    pub published: Vec<PublishedColumn>,
}

/// One run of a report.
#[derive(Clone, Copy, Debug)]
pub struct RunPart<'a> {
    /// `run.json`; a configuration's members name its `id`, and its `command` is the "run it again" line.
    pub meta: &'a Meta,
    /// The judgement of the run.
    pub judgement: &'a Judgement,
    /// The verdict's word for people, see `analyze::headline::word`.
    pub word: &'a str,
    /// The plan as stored.
    pub plan_toml: &'a str,
}
