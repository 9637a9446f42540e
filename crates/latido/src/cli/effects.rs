//! `latido effects`: what several factors do to a value.

use super::{
    Usage,
    common::Common,
    completions,
    values::{self, AtLine, Source, Table},
};
use crate::{
    host::outcome,
    output::{tell, write_out},
};
use anyhow::{Result, anyhow};
use clap_complete::ArgValueCompleter;
use latido_judge::{
    effects as of_runs,
    numbers::{
        Observation,
        effects::{self, Question},
    },
    observed::{Metric, Observed},
};
use latido_report::{self as report, numbers::document};
use std::path::PathBuf;

/// The most values.
const MOST: usize = 10_000;
/// The names of a column that is not a factor but the order of repeats.
const BLOCKS: [&str; 2] = ["repeat", "block"];

const NOTES: &str = "\
The factors of RUN... are the axes (kernel, tuning, load, scheduling, target) and options of the probe in which the repeats
differ; an axis whose levels are all combinations of parts (rt, rcu, rt+rcu, and one without) is a factor for each part. The
value is the figure of each repeat (--metric; the maximum by default); the order of repeats is the block.

With --values, FILE is a table with one line per run: a column for each factor, and the value in the last column. The first line
names the columns; - is stdin. A column `repeat` or `block` is not a factor: it says which runs belong together. Effects are ratios
(least squares on logarithms, sum contrasts, type III), with 95 % intervals where there are repeats. Combinations may have
different numbers of runs; if the effects need a combination that is missing, latido names it. docs/statistics.md says how each
figure is computed, and what the keys of --json are.

Examples:
  latido effects last --metric wakeup.latency.max
  latido effects --published scheduling-latency         what a study printed: no repeats, no intervals
  latido effects --values runs.csv --unit us     with the columns kernel,load,repeat,max

Exit status: 0 answered, 1 error, 64 usage.";

/// Estimate what each of several factors does, and whether they act on each other.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES, override_usage = "latido effects RUN... [OPTIONS]\n       latido effects --published STUDY [OPTIONS]\n       latido effects --values FILE [OPTIONS]")]
pub struct Args {
    /// Stored runs
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), conflicts_with = "values")]
    pub runs: Vec<String>,
    /// The numbers that a study printed, for example scheduling-latency
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["values", "runs"])]
    pub published: Option<String>,
    /// Columns of factors, then the value, one line per run; - is stdin
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// Interactions of at most N factors; 1 means no interactions [default: 2 of values, 3 of runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub order: Option<u8>,
    #[command(flatten)]
    pub common: Common,
}

/// Carries out `latido effects`.
///
/// # Errors
/// The values cannot be read, or latido cannot distinguish the effects.
pub fn run(args: &Args) -> Result<u8> {
    let Some(path) = &args.values else { return runs(args) };
    let order = args.order.unwrap_or(2);
    let source = Source::read(path)?;
    let table = values::table(&source.text, None, args.common.unit).map_err(|at| source.wrong(&at))?;
    table.positive("effects are ratios").map_err(|at| source.wrong(&at))?;
    let (question, observations) = observed(table, usize::from(order)).map_err(|at| source.wrong(&at))?;
    let found = effects::of(&observations, question, values::kind(args.common.unit)).map_err(|unfit| {
        let fewer = if unfit.is_incomplete && order > 1 { "; --order 1 leaves interactions out" } else { "" };
        anyhow!("{}: {}{fewer}", source.name, unfit.why)
    })?;
    match args.common.json {
        true => write_out(&document(&found)?),
        false => write_out(&report::numbers::effects::text(&found, &source.name, outcome::style())),
    }
}

/// Finds the effects in stored runs, or in the numbers that a study printed.
fn runs(args: &Args) -> Result<u8> {
    let metric = args.common.metric()?;
    let order = args.order.map(usize::from);
    let found = match &args.published {
        Some(study) => of_runs::printed(study, &metric, order),
        None => of_runs::of(&repeats(args, &metric)?, &metric, order),
    };
    let found = found.map_err(|why| anyhow!(why))?;
    match args.common.json {
        true => write_out(&document(&found)?),
        false => write_out(&report::effects::text(&found, outcome::style())),
    }
}

/// Reads the repeats of all runs together.
fn repeats(args: &Args, metric: &Metric) -> Result<Vec<Observed>> {
    if args.runs.is_empty() {
        return Err(Usage::new("name a run, or a file of values with --values FILE").into());
    }
    let mut reader = args.common.reader(metric, false)?;
    let mut observed = Vec::new();
    for name in &args.runs {
        match reader.run(name)? {
            Some(repeats) => observed.extend(repeats),
            None => tell(&format!("note: `{name}` names a run that you already named; latido takes it once")),
        }
    }
    Ok(observed)
}

fn observed(table: Table, order: usize) -> Result<(Question, Vec<Observation>), AtLine> {
    let wrong = |what: &str| AtLine { line: 0, what: what.into() };
    let mut names =
        table.head.ok_or_else(|| wrong("the first line must name the columns, for example kernel,load,repeat,max"))?;
    names.pop();
    if names.iter().any(String::is_empty) {
        return Err(wrong("a column has no name in the first line"));
    }
    if let Some(twice) = (1..).zip(&names).find_map(|(next, name)| names.iter().skip(next).find(|other| *other == name))
    {
        return Err(wrong(&format!("two columns are called `{twice}`")));
    }
    if let Some(row) = table.rows.get(MOST) {
        return Err(AtLine {
            line: row.line,
            what: format!("more than {MOST} values: a value is one run, not one sample"),
        });
    }
    let is_block = |name: &String| BLOCKS.contains(&name.to_lowercase().as_str());
    let block = names.iter().position(is_block);
    let taken = block.map(|at| names.remove(at));
    if names.iter().any(is_block) {
        return Err(wrong("there is a column `repeat` and a column `block`: keep one of them"));
    }
    if names.is_empty() {
        return Err(wrong("there is no factor: put a column for each factor before the value"));
    }
    if names.len() > 8 {
        return Err(wrong("more than 8 factors"));
    }
    let observation = |row: values::Row| {
        let mut levels = row.fields;
        let block = block.map(|at| levels.remove(at));
        Observation { levels, block, value: row.value }
    };
    Ok((Question { factors: names, block: taken, order }, table.rows.into_iter().map(observation).collect()))
}
