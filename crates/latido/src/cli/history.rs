//! `latido history`: a statistic over nights or commits, and where its level changed.

use super::{
    Usage,
    compare::{DIFFERENCES, ScaleWord},
    values::{self, AtLine, Source, TimeUnit},
};
use crate::{host::outcome, output::write_out};
use anyhow::Result;
use latido_report::numbers::{
    Scale, document,
    history::{self, Outcome, Point},
};
use std::path::PathBuf;

/// The most values: what is searched grows with the cube of their number.
const MOST: usize = 500;

const NOTES: &str = "\
FILE has a line `label,value` for each night, in order of time; - is stdin. The first line may name the columns. Changes of
level are found by E-divisive with permutations, on logarithms, with at least five values on either side. Lower is better.
docs/statistics.md says how each figure is computed, and what the keys of --json are.

Example:
  latido history --values nights.csv --unit us

Exit status: 0 no change, or the newest one is to lower values; 2 the newest change is to higher values (worse); 3 too few
values to tell (below ten). 1 error, 64 usage.";

/// Find where a series of values changed its level.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES, override_usage = "latido history --values FILE [OPTIONS]")]
pub struct Args {
    /// Stored runs: not in this version yet
    #[arg(value_name = "RUN", hide = true, conflicts_with = "values")]
    pub runs: Vec<String>,
    /// Lines `label,value` in order of time; - is stdin
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// What the values are in [default: numbers of any kind]
    #[arg(long, value_name = "UNIT", value_enum)]
    pub unit: Option<TimeUnit>,
    /// Ratios, or differences where values are zero or below [default: ratio]
    #[arg(long, value_name = "SCALE", value_enum)]
    pub scale: Option<ScaleWord>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Carries out `latido history`.
///
/// # Errors
/// The values cannot be read, or are too many.
pub fn run(args: &Args) -> Result<u8> {
    let Some(path) = &args.values else {
        let message = "the history of stored runs is not in this version yet: --values FILE takes lines `label,value`";
        return Err(Usage::new(message).into());
    };
    let scale = args.scale.map_or(Scale::Ratio, Scale::from);
    let source = Source::read(path)?;
    let table = values::table(&source.text, Some(2), args.unit).map_err(|at| source.wrong(&at))?;
    if scale == Scale::Ratio {
        table.positive(DIFFERENCES).map_err(|at| source.wrong(&at))?;
    }
    if let Some(row) = table.rows.get(MOST) {
        let what = format!("more than {MOST} values: give the last {MOST}");
        return Err(source.wrong(&AtLine { line: row.line, what }));
    }
    let point = |row: values::Row| Some(Point { label: row.fields.into_iter().next()?, value: row.value });
    let points: Vec<Point> = table.rows.into_iter().filter_map(point).collect();
    let found = history::of(&points, scale, values::kind(args.unit))?;
    match args.json {
        true => write_out(&document(&found)?)?,
        false => write_out(&found.text(&source.name, outcome::style()))?,
    };
    Ok(match found.outcome {
        Outcome::Worse => 2,
        Outcome::Undecided => 3,
        Outcome::NotWorse => 0,
    })
}
