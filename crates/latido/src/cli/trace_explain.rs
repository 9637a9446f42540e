//! `latido trace explain`: why the largest samples of a stored run were late.

use super::completions;
use crate::{
    host::outcome,
    output::{tell, write_out},
    store,
};
use anyhow::{Result, bail};
use clap_complete::ArgValueCompleter;
use latido_judge::late::{Spikes, of_cell};
use latido_model::explain;
use latido_report::{numbers::document, terminal::spikes};
use serde::Serialize;
use std::path::PathBuf;

const NOTES: &str = "\
RUN must be measured with --explain or --trace, by the probe wakeup, interrupt, gap or task. latido cuts the time of each sample
into slices: interrupts and soft interrupts by name, other tasks by name and class, tasks that could not be preempted or kept the
CPU, the exit from idle, messages between CPUs, migration, throttling, stops. Time that no event explains is `unexplained`: latido
does not guess. Slices add up to the sample. docs/trace.md says how.

Examples:
  sudo latido run wakeup -c 1 -d 60s --trace && latido trace explain last
  latido trace explain last --worst 5 --json

Exit status: 0 answered, 1 error, 64 usage.";

/// Explain why the largest samples of a run were late.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// A run, an unambiguous prefix of it, a path, or `last`
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), default_value = "last")]
    pub run: String,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// The N largest samples of each cell, and all above its limit [default: the N of the run's --explain, else 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub worst: Option<u32>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The explained cells of a run.
#[derive(Serialize)]
struct Explanation {
    cells: Vec<Spikes>,
}

/// Carries out `latido trace explain`.
///
/// # Errors
/// There is no such run, or no cell of it has a trace.
pub fn run(args: &Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let run = store::read(&store::find(&root, &args.run)?)?;
    run.problems.iter().for_each(|problem| tell(&format!("warning: {problem}")));
    let mut cells = Vec::new();
    for cell in &run.cells {
        match of_cell(
            cell,
            args.worst.or(cell.cell.conditions.explain).unwrap_or(explain::USUAL),
            &store::series_data,
            &outcome::traced,
        )? {
            Ok(found) => cells.push(found),
            Err(why) => tell(&format!("cell {}: {why}", cell.number)),
        }
    }
    if cells.is_empty() {
        bail!("no cell of {} can be explained: measure wakeup, gap or task with --explain or --trace", run.meta.id);
    }
    if args.json {
        return write_out(&document(&Explanation { cells })?);
    }
    let style = outcome::style();
    write_out(&cells.iter().map(|cell| spikes::text(cell, style)).collect::<Vec<_>>().join("\n"))
}
