//! `latido agent`: the target's side of a cell, started by the host.

use anyhow::Result;

/// The target's side of a cell: the cell on stdin, the record on stdout.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Be the measuring process, not its supervisor
    #[arg(long)]
    pub measure: bool,
}

/// Carries out `latido agent`.
///
/// # Errors
/// What ended the cell.
pub fn run(_args: Args) -> Result<u8> {
    super::not_connected("the agent")
}
