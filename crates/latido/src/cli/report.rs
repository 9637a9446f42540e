//! `latido report`: runs as one HTML page, or their figures as files.

use super::Usage;
use crate::host::outcome;
use crate::output::write_out;
use crate::store;
use anyhow::{Result, bail};
use std::{
    io::{Write, stderr},
    path::{Path, PathBuf},
};

/// Write the report of one or several runs.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Runs: ids, unambiguous prefixes, paths, or `last`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Where the page goes
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Write each figure as SVG and its data as CSV into this directory
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Set the numbers that the study printed beside the measured ones
    #[arg(long)]
    pub published: bool,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Carries out `latido report`.
///
/// # Errors
/// A run cannot be read or the page cannot be written.
pub fn run(args: Args) -> Result<u8> {
    if args.output == Path::new("-") {
        let message = "-o -: the page goes into a file: name one, for example -o report.html";
        return Err(Usage::new(message).into());
    }
    let root = store::root(args.store.as_deref())?;
    let mut all = Vec::new();
    let mut taken: Vec<PathBuf> = Vec::new();
    for name in &args.runs {
        let dir = store::find(&root, name)?;
        let canonical = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if taken.contains(&canonical) {
            // Nobody is left to tell when this fails.
            let _ = writeln!(stderr(), "note: `{name}` names a run that is named before; it is taken once");
            continue;
        }
        let mut judged = outcome::judged(&dir)?;
        judged.published = args.published && judged.run.plan.published.is_some();
        all.push(judged);
        taken.push(canonical);
    }
    if args.published && !all.iter().any(|judged| judged.published) {
        let runs = args.runs.join(", ");
        bail!("--published: the plan of {runs} names no printed numbers; those of the shipped studies do");
    }
    let found = outcome::pooled(&all)?;
    outcome::write_report(&all, &found, &args.output)?;
    let mut written = format!("{}\n", args.output.display());
    if let Some(dir) = &args.figures {
        for path in outcome::write_figures(&all, &found, dir)? {
            written.push_str(&format!("{}\n", path.display()));
        }
    }
    write_out(&written)
}
