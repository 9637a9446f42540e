//! The `latido` command: reads the words, carries them out, reports how it ended.

use latido::{cli, host, output};
use latido_agent::role;
use latido_sys::signal;
use std::process::ExitCode;

fn main() -> ExitCode {
    host::started();
    output::tell_panics();
    // A file that may not grow (ulimit -f) is then an error of that file and does not kill latido. The kernel refuses no handler for this
    // signal.
    let _ = signal::interrupt_only(signal::SIGXFSZ);
    let status = match role::role() {
        // latido itself starts this process in every cell, so the memory and the milliseconds of the command line's parser are saved.
        Some(role) => role.run().unwrap_or_else(|error| cli::complain(&error)),
        None => match cli::parsed() {
            Ok(cli) => cli.run().unwrap_or_else(|error| cli::complain(&error)),
            Err(error) => cli::explain(error),
        },
    };
    ExitCode::from(status)
}
