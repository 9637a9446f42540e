//! `latido history`: a statistic over the CI history or over commits, and where its level changed.

use super::{
    Usage,
    against::Against,
    common::{Alike, Common, Form, JUNIT},
    compare::{DIFFERENCES, ScaleWord},
    completions, nights,
    values::{self, AtLine, Source},
};
use crate::{host::outcome, output::write_out};
use anyhow::{Result, anyhow, ensure};
use clap_complete::ArgValueCompleter;
use latido_judge::{
    compare,
    history::{self as of_runs, Asked},
    numbers::{
        Scale,
        history::{self, Outcome, Point},
    },
};
use latido_model::exit::Exit;
use latido_report::{self as report, export::compared, numbers::document};
use std::path::PathBuf;

/// The most values: the time of the search grows with the cube of their number.
const MOST: usize = 500;

const NOTES: &str = "\
RUN... are runs in order of time. DIR is a store or another directory with runs: latido takes those of one plan (--plan), in the order
in which they started. The value of a run is the median of its repeats, or the rate of all for counts (--metric; the maximum by default). latido finds changes of
level by E-divisive with permutations, on logarithms, with at least five runs on either side. It prints between which two runs a
change is, and what else differs between them. Lower is better.

With --values, FILE has a line `label,value` per run, in order of time; - is stdin. The first line may name the columns.
docs/statistics.md says how each figure is computed, and what the keys of --json are.

Examples:
  latido history ~/.local/share/latido --plan nightly --metric wakeup.latency.max
  latido history --values nights.csv --unit us
  latido history ~/.local/share/latido --plan nightly --against last:10
  latido history ~/.local/share/latido --plan nightly --format junit > history.xml

A change needs five runs after it. If the newest one to four runs are above all runs before them since the last change, the history is
undecided. --against last:N compares the newest run with the N runs before it, by the repeats of each, as `latido compare` does.
--against NAME compares it with a baseline (`latido baseline set NAME RUN`).

Exit status: 0 no change, or the newest change is to lower values; 2 the newest change is to higher values (worse); 3 too few values
(below ten), or newest runs that stand out. With --against: 2 the newest run is worse, 3 undecided. With --metric
PROBE.QUANTITY.STATISTIC only that quantity decides. 1 error, 64 usage.";

/// Find where stored runs, or a series of values, changed their level.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES, override_usage = "latido history RUN...|DIR [OPTIONS]\n       latido history --values FILE [OPTIONS]")]
pub struct Args {
    /// Stored runs in order of time, or a directory that contains them
    #[arg(value_name = "RUN|DIR", add = ArgValueCompleter::new(completions::runs), conflicts_with = "values")]
    pub runs: Vec<String>,
    /// The runs of this plan in DIR
    #[arg(long, value_name = "PLAN", conflicts_with = "values")]
    pub plan: Option<String>,
    /// Compare the newest run with the N runs before it (last:N), or with a baseline, by their repeats
    #[arg(long, value_name = "last:N|NAME", conflicts_with = "values")]
    pub against: Option<Against>,
    /// Lines `label,value` in order of time; - is stdin
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// Ratios, or differences where values are zero or below [default: ratio]
    #[arg(long, value_name = "SCALE", value_enum, requires = "values")]
    pub scale: Option<ScaleWord>,
    #[command(flatten)]
    pub form: Form,
    #[command(flatten)]
    pub alike: Alike,
    #[command(flatten)]
    pub common: Common,
}

/// Carries out `latido history`.
///
/// # Errors
/// The values cannot be read, or are too many.
pub fn run(args: &Args) -> Result<u8> {
    check(&args.form, args.against.is_some(), args.values.is_some())?;
    let Some(path) = &args.values else { return runs(args) };
    let scale = args.scale.map_or(Scale::Ratio, Scale::from);
    let source = Source::read(path)?;
    let table = values::table(&source.text, Some(2), args.common.unit).map_err(|at| source.wrong(&at))?;
    if scale == Scale::Ratio {
        table.positive(DIFFERENCES).map_err(|at| source.wrong(&at))?;
    }
    if let Some(row) = table.rows.get(MOST) {
        let what = format!("more than {MOST} values: give the last {MOST}");
        return Err(source.wrong(&AtLine { line: row.line, what }));
    }
    let point = |row: values::Row| Some(Point { label: row.fields.into_iter().next()?, value: row.value });
    let points: Vec<Point> = table.rows.into_iter().filter_map(point).collect();
    let found = history::of(&points, scale, values::kind(args.common.unit))?;
    match args.common.json {
        true => write_out(&document(&found)?)?,
        false => write_out(&report::numbers::history::text(&found, &source.name, outcome::style()))?,
    };
    Ok(status(found.outcome))
}

/// Finds the history of stored runs.
fn runs(args: &Args) -> Result<u8> {
    let metric = args.common.metric()?;
    let load_margin = args.alike.load_margin()?;
    let mut reader = args.common.reader(&metric, args.against.is_some())?;
    let runs = nights::read(&args.runs, args.plan.as_deref(), &mut reader)?;
    ensure!(runs.len() <= MOST, "more than {MOST} runs: name the last {MOST}");
    if let Some(against) = &args.against {
        let arms = against.arms(args.common.store.as_deref(), runs, &mut reader)?;
        let asked = compare::Asked { metric, margin: None, despite: args.alike.despite(), load_margin };
        return super::compare::told(&arms, &asked, &args.alike, &args.form, args.common.json);
    }
    let asked = Asked { metric, despite: args.alike.despite(), load_margin };
    let found = of_runs::of(&runs, &asked).map_err(|why| anyhow!(why))?;
    args.alike.write(|| report::history::figures(&found))?;
    match (args.form.format.as_deref(), args.common.json) {
        (Some(_), _) => write_out(&compared::histories(&found))?,
        (None, true) => write_out(&document(&found)?)?,
        (None, false) => write_out(&report::history::text(&found, outcome::style()))?,
    };
    Ok(status(found.outcome))
}

/// Refuses a format that the command does not have: a history has its verdicts as tests, and only a comparison has a table of them.
fn check(form: &Form, compares: bool, values: bool) -> Result<(), Usage> {
    form.check_float()?;
    match form.format.as_deref() {
        Some(format) if values || (format != JUNIT && !compares) => Err(Usage::new(format!(
            "--format {format} needs stored runs, and for a table --against; else write --json"
        ))),
        _ => Ok(()),
    }
}

/// Returns the exit status: "worse" wins over "undecided", and both over everything else.
fn status(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Worse => Exit::Failed,
        Outcome::Undecided => Exit::Undecided,
        Outcome::NotWorse => Exit::Done,
    }
    .code()
}
