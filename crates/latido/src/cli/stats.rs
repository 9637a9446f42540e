//! `latido stats`: the statistics of one run, for numbers of any origin.

use super::{
    Usage,
    values::{self, Source, TimeUnit},
    words,
};
use crate::{host::outcome, output::write_out};
use anyhow::Result;
use latido_judge::numbers::one;
use latido_model::units::Ns;
use latido_report::{self as report, numbers::document};
use std::path::PathBuf;

const NOTES: &str = "\
FILE has one value per line, in order of time; `-` is stdin. latido skips blank lines, lines that begin with #, and a word in
the first line. Decimals are exact; latido refuses values finer than a nanosecond.

Quantiles are order statistics with binomial intervals (95 %), wider where samples cluster; exceedances have the bounds of
Clopper and Pearson, and if there are none, the bound that the time supports. The tail is a generalised Pareto distribution, if
nothing speaks against the fit; else latido says what does. docs/statistics.md says how each figure is computed, and what the
keys of --json are.

Examples:
  latido stats latencies.txt --unit us --interval 1ms --limit 100us
  cyclictest-values | latido stats - --unit us --tail k=200 --json

Exit status: 0 answered, 1 error, 64 usage.";

/// Quantiles, exceedances and the tail of any numbers, with their uncertainty.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// One value per line; - is stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The unit of the values
    #[arg(long, value_name = "UNIT", value_enum)]
    pub unit: TimeUnit,
    /// The time between two values, for example 1ms: rates, rare causes and levels per day need it
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text)]
    pub interval: Option<String>,
    /// Count how often samples exceed this, for example 100us
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = words::text)]
    pub limit: Option<String>,
    /// How many of the largest values are the tail, for example k=200 [default: a fiftieth, at least 100]
    #[arg(long, value_name = "k=N", allow_hyphen_values = true, value_parser = words::text)]
    pub tail: Option<String>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Carries out `latido stats`.
///
/// # Errors
/// The values cannot be read.
pub fn run(args: &Args) -> Result<u8> {
    let question = question(args)?;
    let source = Source::read(&args.file)?;
    let samples = values::samples(&source.text, args.unit).map_err(|at| source.wrong(&at))?;
    let found = one::of(&samples, &question)?;
    match args.json {
        true => write_out(&document(&found)?),
        false => write_out(&report::numbers::one::text(&found, &source.name, outcome::style())),
    }
}

fn question(args: &Args) -> Result<one::Question, Usage> {
    let span = |text: &Option<String>, name: &str| -> Result<Option<u64>, Usage> {
        let read = text.as_deref().map(str::parse::<Ns>).transpose();
        Ok(read.map_err(|error| Usage::new(format!("--{name}: {error}")))?.map(|span| span.0))
    };
    let interval_ns = span(&args.interval, "interval")?;
    if interval_ns == Some(0) {
        return Err(Usage::new("--interval 0ns: write a time above zero"));
    }
    let limit_ns = span(&args.limit, "limit")?.map(u64::cast_signed);
    let tail = args.tail.as_deref().map(|text| {
        let k = text.strip_prefix("k=").unwrap_or(text).parse().ok().filter(|k: &u64| (1..=1_000_000).contains(k));
        k.ok_or_else(|| Usage::new(format!("--tail {text}: write k=N with N from 1 to 1000000, for example k=200")))
    });
    Ok(one::Question { interval_ns, limit_ns, tail: tail.transpose()? })
}
