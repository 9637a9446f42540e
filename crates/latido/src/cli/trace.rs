//! `latido trace`: kernel traces.

mod record;

use anyhow::Result;

/// Record a kernel trace.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    Record(record::Args),
}

/// Carries out `latido trace`.
///
/// # Errors
/// A usage error, or whatever kept it from its work.
pub fn run(args: Args) -> Result<u8> {
    match args.what {
        What::Record(args) => record::run(args),
    }
}
