//! `latido report`: writes runs as one page, in another format, or their figures as files.

use super::{Usage, completions};
use crate::{
    durable,
    host::outcome,
    output::{tell, write_out},
    store,
};
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap_complete::ArgValueCompleter;
use latido_report::{
    formats::{self, FORMATS},
    judged::{self, JudgedRun},
};
use std::path::{Path, PathBuf};

/// Write the report of one or several runs.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Runs: ids, unambiguous prefixes, or paths
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), default_value = "last")]
    pub runs: Vec<String>,
    /// The format [default: by the ending of -o, else html]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(names()))]
    pub format: Option<String>,
    /// Write only these tables, each by its name or kind, such as wakeup.latency-summary or quantiles; a wrong name lists them. For latex,
    /// markdown and csv
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["figures"])]
    pub table: Vec<String>,
    /// For --table in LaTeX: set each in an environment `table`, with a caption and the label tab:NAME
    #[arg(long, requires = "table")]
    pub float: bool,
    /// Where it goes [default: report.html; the other formats go to stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write each figure as SVG and its data as CSV into this directory
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Show the numbers that the study printed next to the measured ones
    #[arg(long)]
    pub published: bool,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Lists the formats.
fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Returns the format of a report and the file that it goes into; `None` is stdout.
fn form(args: &Args) -> Result<(&str, Option<PathBuf>), Usage> {
    let format = formats::of_file(args.output.as_deref(), args.format.as_deref()).map_err(Usage::new)?;
    // Tables alone are not a page: without a format, latido writes them in LaTeX.
    let tables = !args.table.is_empty() && args.format.is_none() && format == "html" && args.output.is_none();
    let format = if tables { "latex" } else { format };
    let page = format == "html" && args.table.is_empty();
    let output = args.output.clone().or_else(|| page.then(|| PathBuf::from("report.html")));
    match output.filter(|path| page || path != Path::new("-")) {
        Some(path) if path == Path::new("-") => {
            Err(Usage::new("-o -: latido writes the page only to a file: name one, for example -o report.html"))
        }
        output => Ok((format, output)),
    }
}

/// Reads and judges the named runs, each once.
fn judged_once(args: &Args) -> Result<Vec<JudgedRun>> {
    let root = store::root(args.store.as_deref())?;
    let mut all = Vec::new();
    let mut taken: Vec<PathBuf> = Vec::new();
    for name in &args.runs {
        let dir = store::find(&root, name)?;
        let canonical = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        if taken.contains(&canonical) {
            tell(&format!("note: `{name}` names a run that you already named; latido takes it once"));
            continue;
        }
        let mut judged = outcome::judged(&dir)?;
        judged.published = args.published && judged.run.plan.published.is_some();
        all.push(judged);
        taken.push(canonical);
    }
    for judged in all.iter().filter(|judged| args.published && !judged.published) {
        // Some studies print charts only. Their report is complete without printed numbers.
        let (id, plan) = (&judged.run.meta.id, &judged.run.meta.plan);
        tell(&format!("note: --published: the plan `{plan}` of {id} names no printed numbers of a study"));
    }
    Ok(all)
}

/// Carries out `latido report`.
///
/// # Errors
/// A run cannot be read or the page cannot be written.
pub fn run(args: Args) -> Result<u8> {
    let (format, output) = form(&args)?;
    let all = outcome::together(judged_once(&args)?);
    let found = outcome::pooled(&all);
    // The other formats contain these warnings.
    if !args.table.is_empty() || !["html", "text", "json"].contains(&format) {
        outcome::warn_of_losses(&all, &found);
    }
    if let Some(path) = &output {
        outcome::unless_foreign(path, args.output.is_none())?;
    }
    if !args.table.is_empty() {
        let input = judged::input(&all, &found);
        let text = formats::single_tables(format, &input, &args.table, args.float)
            .map_err(|error| Usage::new(format!("{error:#}")))?;
        let Some(path) = &output else { return write_out(&text) };
        durable::write_named(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        return write_out(&format!("{}\n", path.display()));
    }
    let mut written = match &output {
        Some(path) => {
            outcome::write_report(&all, &found, format, path)?;
            format!("{}\n", path.display())
        }
        None => outcome::report(&all, &found, format)?,
    };
    if let Some(dir) = &args.figures {
        for path in outcome::write_figures(&all, &found, dir)? {
            written.push_str(&format!("{}\n", path.display()));
        }
    }
    write_out(&written)
}
