//! `latido check`: is this machine fit to measure, and what to change.

use super::write_out;
use crate::{check, host::outcome, machine::Root};
use anyhow::Result;

/// Is this machine fit to measure; what to change.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Exit status: 0 fit to measure, 2 unfit, 3 cannot tell, 64 usage.")]
pub struct Args {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Carries out `latido check`.
///
/// # Errors
/// The machine cannot be read at all.
pub fn run(args: Args) -> Result<u8> {
    let (text, exit) = check::run(&Root::default(), args.json, outcome::style());
    write_out(&text)?;
    Ok(exit)
}
