//! `latido report`: runs as one HTML page, or their figures as files.

use anyhow::Result;
use std::path::PathBuf;

/// Write the report of one or several runs.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Runs: ids, unambiguous prefixes, paths, or `last`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Where the page goes
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Write each figure as SVG and its data as CSV into this directory
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Carries out `latido report`.
///
/// # Errors
/// A run cannot be read or the page cannot be written.
pub fn run(_args: Args) -> Result<u8> {
    super::not_connected("reporting")
}
