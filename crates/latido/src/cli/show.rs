//! `latido show`: shows a stored run, computed anew from its records.

use super::completions;
use crate::{host::outcome, output::write_out, store};
use anyhow::Result;
use clap_complete::ArgValueCompleter;
use latido_report::{formats::json, judged::JudgedRun, terminal::Beside};
use std::path::PathBuf;

/// Show a stored run: table and verdict; with --full each cell, its trust checks and the machine.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A run, an unambiguous prefix of it, or a path
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), default_value = "last")]
    pub run: String,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Show everything: limits of the quantiles, each cell with its threads and trust checks, the machine
    #[arg(long)]
    pub full: bool,
    /// Fit the tail of each series of each repeat: levels exceeded once per hour, day and year, or why there are none
    #[arg(long)]
    pub tail: bool,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Carries out `latido show`.
///
/// # Errors
/// The run does not exist or cannot be read.
pub fn run(args: Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let all = [outcome::judged(&store::find(&root, &args.run)?)?];
    let found = outcome::pooled(&all);
    let [JudgedRun { run, judgement, .. }] = &all;
    let text = match args.json {
        true => json::document(run, judgement, args.tail.then_some(&found))?,
        false if args.full || args.tail => {
            latido_report::show(run, judgement, &found, (args.tail, Beside::default()), outcome::style())
        }
        false => latido_report::brief(run, judgement, &found, outcome::style()),
    };
    write_out(&text)?;
    Ok(judgement.exit)
}
