//! How a run is carried out and reported: everything that is not the plan.

use super::exports::Wanted;
use latido_model::units::Ns;
use std::path::PathBuf;

/// The host's side of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct How {
    /// The requested store; `None` for the default.
    pub store: Option<PathBuf>,
    /// One JSON document on stdout and nothing else.
    pub json: bool,
    /// No live view, only the result.
    pub quiet: bool,
    /// Where the report goes; `None` for `report.html` in the working directory.
    pub output: Option<PathBuf>,
    /// Print nothing of the result: the caller reports it.
    pub untold: bool,
    /// Further outputs at the end of the run. One of them may go to stdout; the table then goes to stderr.
    pub exports: Vec<Wanted>,
    /// Write no report.
    pub no_report: bool,
    /// The smallest ratio of interest, if the run is a pilot. The run then reports how many repeats it takes to find that ratio.
    pub plan_power: Option<f64>,
    /// How long to wait for another latido that runs on a target; `None` for no wait.
    pub wait: Option<Ns>,
    /// The run to resume.
    pub resume: Option<String>,
    /// Whether a resumed run keeps the measured part of an unfinished cell and measures only the rest.
    pub keep_checkpoints: bool,
    /// The user's label for the run.
    pub label: Option<String>,
    /// Print all of each cell at the end, as `latido show --full`.
    pub verbose: bool,
    /// The command line as typed, for the report's "run it again".
    pub command: Vec<String>,
}
