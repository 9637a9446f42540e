//! `latido trace`: kernel traces.

use super::{trace_analyze as analyze, trace_explain as explain, trace_record as record};
use anyhow::Result;

/// Record a kernel trace, analyse one, or explain late samples by it.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    Analyze(analyze::Args),
    Explain(explain::Args),
    Record(record::Args),
}

/// Carries out `latido trace`.
///
/// # Errors
/// A usage error, or the reason why the command failed.
pub fn run(args: Args) -> Result<u8> {
    match args.what {
        What::Analyze(args) => analyze::run(&args),
        What::Explain(args) => explain::run(&args),
        What::Record(args) => record::run(args),
    }
}
