//! How a run is carried out and reported: everything that is not the plan.

use std::path::PathBuf;

/// The host's side of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// The store asked for; absent, the usual one.
    pub store: Option<PathBuf>,
    /// One JSON document on stdout and nothing else.
    pub json: bool,
    /// No live view, only the result.
    pub quiet: bool,
    /// Where the report goes; absent, `report.html` in the working directory.
    pub output: Option<PathBuf>,
    /// Write no report.
    pub no_report: bool,
    /// The run to resume.
    pub resume: Option<String>,
    /// The command line as typed, for the report's "run it again".
    pub command: Vec<String>,
}
