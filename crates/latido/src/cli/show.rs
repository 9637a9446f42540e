//! `latido show`: a stored run again, computed anew from its records.

use crate::{host::outcome, output::write_out, store};
use anyhow::Result;
use latido_report::{formats::json, judged::JudgedRun};
use std::path::PathBuf;

/// Show a stored run: table, verdict, trust checks.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A run, an unambiguous prefix of it, a path, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Fit the tail of each series of each repeat: levels passed once an hour, a day, a year, or why there are none
    #[arg(long)]
    pub tail: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Carries out `latido show`.
///
/// # Errors
/// The run is not there or cannot be read.
pub fn run(args: Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let all = [outcome::judged(&store::find(&root, &args.run)?)?];
    let found = outcome::pooled(&all);
    let [JudgedRun { run, judgement, .. }] = &all;
    let text = match args.json {
        true => json::document(run, judgement, args.tail.then_some(&found))?,
        false => latido_report::show(run, judgement, &found, args.tail, outcome::style()),
    };
    write_out(&text)?;
    Ok(judgement.exit)
}
