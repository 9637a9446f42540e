//! `latido agent`: the target's side of a cell. The host starts it.

use anyhow::Result;
use latido_agent::role::Role;

/// The target's side of a cell: it reads the cell from stdin and writes the record to stdout.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Be the measuring process, not its supervisor
    #[arg(long)]
    pub measure: bool,
    /// Print the SHA-256 of this executable
    #[arg(long, conflicts_with_all = ["measure", "partner"])]
    pub hash: bool,
    /// Be the other process of a handoff, started by the measuring one
    #[arg(long, conflicts_with = "measure")]
    pub partner: bool,
    /// Wait for the end of stdin, then restore what the process that held it open left behind
    #[arg(long, conflicts_with_all = ["measure", "partner", "hash"])]
    pub guard: bool,
}

/// Carries out `latido agent`.
///
/// # Errors
/// The error that ended the cell.
pub fn run(args: Args) -> Result<u8> {
    match args {
        Args { hash: true, .. } => Role::Hash.run(),
        Args { partner: true, .. } => Role::Partner.run(),
        Args { guard: true, .. } => Role::Guard.run(),
        Args { measure: true, .. } => Role::Measuring.run(),
        Args { .. } => Role::Supervisor.run(),
    }
}
