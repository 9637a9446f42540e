//! How a run is carried out and reported: everything that is not the plan.

use super::exports::Wanted;
use latido_model::units::Ns;
use std::path::PathBuf;

/// The host's side of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct How {
    /// The store asked for; absent, the usual one.
    pub store: Option<PathBuf>,
    /// One JSON document on stdout and nothing else.
    pub json: bool,
    /// No live view, only the result.
    pub quiet: bool,
    /// Where the report goes; absent, `report.html` in the working directory.
    pub output: Option<PathBuf>,
    /// Print nothing of the result: whoever asked says what came of it.
    pub untold: bool,
    /// What else is written as the run ends; one of them may take stdout, and the table then goes to stderr.
    pub exports: Vec<Wanted>,
    /// Write no report.
    pub no_report: bool,
    /// What the run is a pilot for: the smallest ratio of interest, of which it then says how many repeats it takes.
    pub plan_power: Option<f64>,
    /// How long to wait for another latido that is at work on a target; absent, not at all.
    pub wait: Option<Ns>,
    /// The run to resume.
    pub resume: Option<String>,
    /// Whether what was measured of an unfinished cell counts when a run is resumed, and only the rest is measured.
    pub keep_checkpoints: bool,
    /// What the person calls the run.
    pub label: Option<String>,
    /// Print all of each cell at the end, as `latido show --full`.
    pub verbose: bool,
    /// The command line as typed, for the report's "run it again".
    pub command: Vec<String>,
}
