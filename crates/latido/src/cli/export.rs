//! `latido export`: writes runs in the formats of other tools.

use super::{Usage, completions};
use crate::{
    host::{
        exports::{self, Wanted},
        outcome,
    },
    output::{tell, write_out, write_prose},
    store,
};
use anyhow::Result;
use clap_complete::ArgValueCompleter;
use latido_model::exit::Exit;
use latido_report::{
    export::{self, EXPORTS, Options},
    judged::JudgedRun,
};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  latido export                                    the formats, and which programs read them
  latido export junit last -o results.xml          tests for GitLab, Jenkins, ...
  latido export prometheus last -o /var/lib/prometheus/node-exporter/latido.prom
  latido export cyclictest last --cell 2 --bins 400
  latido export parquet last -o night/             two tables for DuckDB, pandas, Spark
  latido export kcidb last --build ci:6.12-rt --origin ci
  latido run quick --export junit=results.xml,markdown-summary=summary.md

docs/export.md says what each format contains, docs/warehouse.md how to query the runs of many machines.";

/// Write runs in the formats of other tools: CI, metrics, histograms, trends
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The format; without one, list them
    #[arg(value_name = "FORMAT", add = ArgValueCompleter::new(completions::exports))]
    pub format: Option<String>,
    /// Runs: ids, unambiguous prefixes, paths, or `last`
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs))]
    pub runs: Vec<String>,
    /// The file to write [default: stdout]; a directory for parquet
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// For formats of one distribution: the number of the cell
    #[arg(long, value_name = "NUMBER")]
    pub cell: Option<usize>,
    /// cyclictest, rt-tests: how many bins of 1 us
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub bins: u32,
    /// kcidb: the id of the tested build, as submitted
    #[arg(long, value_name = "ORIGIN:ID")]
    pub build: Option<String>,
    /// kcidb: the CI system that submits
    #[arg(long, value_name = "NAME", default_value = "latido")]
    pub origin: String,
    /// otava: what was measured, such as a commit [default: the run's id]
    #[arg(long, value_name = "ID")]
    pub commit: Option<String>,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Carries out `latido export`.
///
/// # Errors
/// There is no such format or run, the format does not take the runs, or the file cannot be written.
pub fn run(args: Args) -> Result<u8> {
    let Some(format) = args.format else { return write_prose(&list()) };
    let usage = |error: anyhow::Error| Usage::new(format!("{error:#}"));
    let export = export::named(&format).map_err(usage)?;
    if args.runs.is_empty() {
        return Err(
            Usage::new(format!("export {format}: name a run, for example `latido export {format} last`")).into()
        );
    }
    let wanted = Wanted { format, path: args.output.unwrap_or_else(|| "-".into()) };
    wanted.can_be_written(export).map_err(|error| usage(error.context("-o")))?;
    let runs = judged(args.store.as_deref(), &args.runs)?;
    let options = Options {
        build: args.build,
        origin: args.origin,
        commit: args.commit,
        cell: args.cell,
        bins: usize::try_from(args.bins)?,
    };
    outcome::warn_of_losses(&runs, &outcome::pooled(&runs));
    exports::write(&runs, &wanted, options)?;
    if wanted.to_stdout() { Ok(Exit::Done.code()) } else { write_out(&format!("{}\n", wanted.path.display())) }
}

/// Reads and judges the runs with these names. A run that is named twice counts once.
///
/// # Errors
/// A run cannot be read.
fn judged(store: Option<&Path>, names: &[String]) -> Result<Vec<JudgedRun>> {
    let root = store::root(store)?;
    let (mut all, mut taken) = (Vec::new(), Vec::new());
    for name in names {
        let dir = store::find(&root, name)?;
        let canonical = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if taken.contains(&canonical) {
            tell(&format!("note: `{name}` names a run that you already named; latido takes it once"));
            continue;
        }
        all.push(outcome::judged(&dir)?);
        taken.push(canonical);
    }
    Ok(all)
}

/// Lists the formats.
fn list() -> String {
    let widest = EXPORTS.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let line = |one: &export::Export| format!("  {:widest$}  {} (.{})\n", one.name, one.about, one.ending);
    let all: String = EXPORTS.iter().map(line).collect();
    format!("Formats of `latido export FORMAT RUN...`:\n{all}")
}
