//! The `latido` command: read the words, carry them out, say how it ended.

use latido::{cli, host, output};
use latido_agent::role;
use latido_sys::signal;
use std::process::ExitCode;

fn main() -> ExitCode {
    host::started();
    output::tell_panics();
    // A file that may not grow (ulimit -f) is an error of that file, and does not kill. Nothing refuses this signal.
    let _ = signal::interrupt_only(signal::SIGXFSZ);
    let status = match role::role() {
        // Started by latido itself in every cell: the memory and the milliseconds of the command line are not wanted.
        Some(role) => role.run().unwrap_or_else(|error| cli::complain(&error)),
        None => match cli::parsed() {
            Ok(cli) => cli.run().unwrap_or_else(|error| cli::complain(&error)),
            Err(error) => cli::explain(error),
        },
    };
    ExitCode::from(status)
}
