//! `latido load`: one load on its own, until Ctrl-C or for a while.

use super::{Usage, assemble, words};
use crate::{load::alone, plan::kind::Kind};
use anyhow::Result;

/// Run one load until Ctrl-C.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The load, NAME[:key=value,...]
    #[arg(value_name = "LOAD")]
    pub load: String,
    /// End it after this time, for example 10m
    #[arg(short, long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text)]
    pub duration: Option<String>,
    /// Seed of all that is random in it
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true, value_parser = words::seed)]
    pub seed: u64,
}

/// Carries out `latido load`.
///
/// # Errors
/// A usage error, or what kept the load from running.
pub fn run(args: Args) -> Result<u8> {
    let item = assemble::item(Kind::Load, &args.load)?;
    let duration = match &args.duration {
        Some(text) => Some(text.parse().map_err(|error| Usage::new(format!("--duration {text}: {error}")))?),
        None => None,
    };
    alone::run(&item, duration, args.seed)
}
