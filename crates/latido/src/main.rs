//! The `latido` command: read the words, carry them out, say how it ended.

use clap::Parser;
use latido::cli::{self, Cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    latido::host::started();
    let status = match Cli::try_parse() {
        Ok(cli) => cli.run().unwrap_or_else(|error| cli::complain(&error)),
        Err(error) => cli::explain(&error),
    };
    ExitCode::from(status)
}
