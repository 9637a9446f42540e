//! `latido show`: a stored run again, computed anew from its records.

use anyhow::Result;
use std::path::PathBuf;

/// Show a stored run: table, verdict, trust checks.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A run, an unambiguous prefix of it, a path, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Carries out `latido show`.
///
/// # Errors
/// The run is not there or cannot be read.
pub fn run(_args: Args) -> Result<u8> {
    super::not_connected("showing runs")
}
