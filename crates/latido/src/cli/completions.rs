//! `latido completions`: what a shell needs to complete latido's words.

use super::Cli;
use crate::output::write_out;
use anyhow::Result;
use clap::CommandFactory;

/// Print the completion script of a shell.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Carries out `latido completions`.
///
/// # Errors
/// The script cannot be written.
pub fn run(args: Args) -> Result<u8> {
    // Into memory first: the generator panics when its output fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "latido", &mut script);
    write_out(&String::from_utf8_lossy(&script))
}
