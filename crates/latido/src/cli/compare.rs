//! `latido compare`: two or more sides of stored runs, or of values, one per run.

use super::{
    Usage,
    arms::{self, Named},
    common::{Alike, Common, LOAD_MARGIN},
    completions,
    values::{self, AtLine, Source, Table, TimeUnit},
    words,
};
use crate::{host::outcome, output::write_out, store};
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use latido_judge::{
    compare::{self as of_runs, Arms, Asked, Compared},
    numbers::{
        Question, Scale,
        compare::{self, Arm, Outcome},
    },
    observed::{self, Metric, Wanted, coarser},
};
use latido_model::{exit::Exit, run::Run};
use latido_report::{self as report, export::compared, formats, numbers::document, tree::Sheet};
use std::path::PathBuf;

/// The most runs of a side, and the most sides: what takes seconds, not hours.
const MOST: (usize, usize) = (1_000, 50);

/// The format of tests.
const JUNIT: &str = "junit";

const NOTES: &str = "\
Each argument is one side of the comparison; join several runs of one side with commas. The first side is the base, and latido compares
every other side with it. With --by AXIS the sides are the values of that axis (kernel, tuning, load, scheduling, target), of an
option of the probe or of a label, within the runs given. One figure per repeat decides (--metric; the maximum by default), by the
exact Mann-Whitney test at 5 % for all comparisons together (Holm). latido prints the ratio with its 95 % interval, Cliff's delta
and the shift of the quantiles too; they decide nothing. Lower is better. latido prints first what the sides differ in, and refuses
sides that are not alike (options of the probe, clock, load, CPUs, length), unless --despite names what may differ.

Examples:
  latido compare                                            the configurations of the last run, as of `run --vary`
  latido compare 20261121T2000 20261122T2000                two runs, each with repeats (run --repeat 10)
  latido compare --side stock=RUN,RUN --side rt=RUN,RUN     two runs per side
  latido compare last --by tuning --margin 5%               within one run; less than 5 % apart is the same
  latido compare RUN RUN --metric wakeup.latency.p99.9      that alone decides, for continuous integration
  latido compare RUN RUN --format junit > compare.xml       a test per verdict, for a CI system

With --values FILE has a line `side,value` for each run: its maximum, its p99, whatever is compared; - is stdin. The first line
may name the columns. docs/statistics.md says how each figure is computed, and what the keys of --json are.

Examples:
  latido compare --values maxima.csv --unit us
  latido compare --values maxima.csv --times 0.5          is b lower than half of a?
  latido compare --values misses.csv --scale difference   where zeros occur

Exit status: 0 none is higher, 2 a side is higher (worse), 3 undecided; 2 goes before 3. 1 error, 64 usage.";

/// Compare runs, or values: lower, higher, equivalent or undecided.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES, override_usage = "latido compare [RUN] [OPTIONS]\n       latido compare RUN RUN... [OPTIONS]\n       latido compare RUN... --by AXIS [OPTIONS]\n       latido compare --values FILE [OPTIONS]")]
pub struct Args {
    /// Stored runs, each a side; RUN,RUN is one side of several. One run is compared within itself [default: last]
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), conflicts_with = "values")]
    pub runs: Vec<String>,
    /// A side with a name: NAME=RUN,RUN
    #[arg(long = "side", alias = "arm", value_name = "NAME=RUN", conflicts_with = "values")]
    pub arm: Vec<String>,
    /// Which side or level is the base [default: the first]
    #[arg(long, value_name = "NAME", conflicts_with = "values")]
    pub base: Option<String>,
    /// Lines `side,value`, one per run; - is stdin
    #[arg(long, value_name = "FILE")]
    pub values: Option<PathBuf>,
    /// How far apart still counts as the same: 5% of a ratio, an amount of a difference
    #[arg(long, value_name = "MARGIN", allow_hyphen_values = true, value_parser = words::text)]
    pub margin: Option<String>,
    /// Compare with FACTOR times the base
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, value_parser = words::text, conflicts_with = "by",
        requires = "values")]
    pub times: Option<String>,
    /// Of runs: the axis, option or label whose levels are the sides. Of values: compare with the base plus this amount; differences, not
    /// ratios
    #[arg(long, value_name = "AXIS|AMOUNT", allow_hyphen_values = true, value_parser = words::text)]
    pub by: Option<String>,
    /// Ratios, or differences where values are zero or below [default: ratio]
    #[arg(long, value_name = "SCALE", value_enum, requires = "values")]
    pub scale: Option<ScaleWord>,
    /// Print the verdicts as a table for a paper or a program, or as tests for a CI system
    #[arg(long, value_name = "FORMAT", conflicts_with = "json", value_parser = ["latex", "markdown", "csv", JUNIT])]
    pub format: Option<String>,
    /// For --format latex: set the table in an environment `table`, with a caption and the label tab:compare
    #[arg(long, requires = "format")]
    pub float: bool,
    #[command(flatten)]
    pub alike: Alike,
    #[command(flatten)]
    pub common: Common,
}

/// How latido compares two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleWord {
    /// One divided by the other
    Ratio,
    /// One minus the other
    Difference,
}

impl From<ScaleWord> for Scale {
    fn from(word: ScaleWord) -> Self {
        match word {
            ScaleWord::Ratio => Self::Ratio,
            ScaleWord::Difference => Self::Difference,
        }
    }
}

/// The remedy where a ratio has no value.
pub const DIFFERENCES: &str = "--scale difference compares differences";

/// Carries out `latido compare`.
///
/// # Errors
/// The values cannot be read, or cannot be compared in this way.
pub fn run(args: &Args) -> Result<u8> {
    let Some(path) = &args.values else { return runs(args) };
    let question = question(args)?;
    let source = Source::read(path)?;
    let table = values::table(&source.text, Some(2), args.common.unit).map_err(|at| source.wrong(&at))?;
    if question.scale == Scale::Ratio {
        table.positive(DIFFERENCES).map_err(|at| source.wrong(&at))?;
    }
    let arms = arms(table).map_err(|at| source.wrong(&at))?;
    let found = compare::of(&arms, question, values::kind(args.common.unit))?;
    let name = &source.name;
    match (args.format.as_deref(), args.common.json) {
        (Some(JUNIT), _) => write_out(&tests(args.float, || compared::values(&found, name))?)?,
        (Some("csv"), _) => write_out(&table_of(&report::numbers::compare::data(&found, name), "csv", args.float)?)?,
        (Some(format), _) => write_out(&table_of(&report::numbers::compare::sheet(&found, name), format, args.float)?)?,
        (None, true) => write_out(&document(&found)?)?,
        (None, false) => write_out(&report::numbers::compare::text(&found, name, outcome::style()))?,
    };
    Ok(status(found.outcome))
}

/// Compares stored runs.
fn runs(args: &Args) -> Result<u8> {
    let margin = args.margin.as_deref().map(values::percent).transpose();
    let asked = Asked {
        metric: args.common.metric()?,
        margin: margin.map_err(|what| Usage::new(format!("--margin {what}")))?,
        despite: args.alike.despite(),
        load_margin: args.alike.load_margin()?,
    };
    let mut reader = args.common.reader(&asked.metric, true)?;
    let named = Named { runs: &args.runs, arms: &args.arm, base: args.base.as_deref() };
    let arms = named.read(args.by.as_deref(), &mut reader)?;
    match &args.format {
        None => told(&arms, &asked, &args.alike, args.common.json),
        Some(format) => {
            let found = of_runs::of(&arms, &asked).map_err(|why| anyhow!(why))?;
            args.alike.write(|| report::compare::figures(&found))?;
            let text = match format.as_str() {
                JUNIT => tests(args.float, || compared::runs(&found)),
                "csv" => table_of(&report::compare::data(&found), format, args.float),
                _ => table_of(&report::compare::sheet(&found), format, args.float),
            };
            write_out(&text?)?;
            Ok(status(found.outcome))
        }
    }
}

/// What `latido compare` finds between the configurations of one run.
pub(super) enum Within {
    /// The run has no two sides.
    Nothing,
    /// The run has sides, and `latido compare` would print this error.
    Refused(String),
    /// The comparison.
    Found(Box<Compared>),
}

/// Compares the configurations of a run by their maxima. It reports no problems of the run: the caller has printed them.
///
/// # Errors
/// Samples of the run cannot be read.
pub(super) fn within(run: &Run) -> Result<Within> {
    let asked = Asked { metric: Metric::default(), margin: None, despite: Vec::new(), load_margin: LOAD_MARGIN };
    let wanted = Wanted { statistic: asked.metric.statistic, samples: false };
    let observed = observed::of_run(run, wanted, &store::distribution, &mut Vec::new())?;
    let mut arms = match arms::varied(&run.meta.id, observed, None) {
        Ok(Some(arms)) => arms,
        Ok(None) => return Ok(Within::Nothing),
        Err(why) => return Ok(Within::Refused(why)),
    };
    coarser::level(wanted.statistic, arms.observed.iter_mut().flatten());
    Ok(of_runs::of(&arms, &asked).map_or_else(Within::Refused, |found| Within::Found(Box::new(found))))
}

/// Writes the verdicts of a comparison as a LaTeX table with its caption.
///
/// # Errors
/// The table cannot be written.
pub(super) fn float(found: &Compared) -> Result<String> {
    table_of(&report::compare::sheet(found), "latex", true)
}

/// Writes the tests of a comparison.
fn tests(float: bool, write: impl FnOnce() -> String) -> Result<String> {
    match float {
        false => Ok(write()),
        true => {
            Err(Usage::new("--float: only tables of LaTeX float: write --format latex, or leave --float away").into())
        }
    }
}

/// Writes the table of a comparison in one of the formats for papers and programs.
fn table_of(sheet: &Sheet, format: &str, float: bool) -> Result<String> {
    formats::of_sheet(format, sheet, "compare", float).map_err(|error| Usage::new(format!("{error:#}")).into())
}

/// Compares sides of stored runs and prints the result. Returns the exit status.
///
/// # Errors
/// The sides cannot be compared in this way, or the requested output cannot be written.
pub(super) fn told(arms: &Arms, asked: &Asked, alike: &Alike, json: bool) -> Result<u8> {
    let found = of_runs::of(arms, asked).map_err(|why| anyhow!(why))?;
    alike.write(|| report::compare::figures(&found))?;
    match json {
        true => write_out(&document(&found)?)?,
        false => write_out(&report::compare::text(&found, outcome::style()))?,
    };
    Ok(status(found.outcome))
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

/// Returns the sides in the order in which they first occur.
fn arms(table: Table) -> Result<Vec<Arm>, AtLine> {
    let (most_runs, most_arms) = MOST;
    let mut arms: Vec<Arm> = Vec::new();
    for row in table.rows {
        let wrong = |what: String| AtLine { line: row.line, what };
        let name = row.fields.into_iter().next().unwrap_or_default();
        let at = arms.iter().position(|arm| arm.name == name).unwrap_or(arms.len());
        match arms.get_mut(at) {
            Some(arm) if arm.values.len() >= most_runs => {
                return Err(wrong(format!(
                    "the side `{name}` has more than {most_runs} values: a value is one run; `latido stats` takes samples"
                )));
            }
            Some(arm) => arm.values.push(row.value),
            None if at >= most_arms => {
                return Err(wrong(format!(
                    "more than {most_arms} sides: is the first column the side, the second the value?"
                )));
            }
            None => arms.push(Arm { name, values: vec![row.value] }),
        }
    }
    match arms.as_slice() {
        [arm] => {
            Err(AtLine { line: 0, what: format!("all values are of the side `{}`: it takes two to compare", arm.name) })
        }
        _ => bounded(arms),
    }
}

/// The most values in all pairs of sides together that random relabellings decide: each value takes milliseconds.
const MOST_PAIRED: usize = 20_000;

/// With up to this many values in a pair, the exact tests take hardly any time.
const FEW: usize = 20;

/// Refuses a comparison that would take minutes.
fn bounded(arms: Vec<Arm>) -> Result<Vec<Arm>, AtLine> {
    let pairs = arms.iter().enumerate().flat_map(|(at, one)| arms.iter().skip(at + 1).map(move |other| (one, other)));
    let paired: usize =
        pairs.map(|(one, other)| one.values.len() + other.values.len()).filter(|many| *many > FEW).sum();
    if paired > MOST_PAIRED {
        let what = format!(
            "{} sides whose pairs have {paired} values together, more than {MOST_PAIRED}: compare fewer sides at a time",
            arms.len()
        );
        return Err(AtLine { line: 0, what });
    }
    Ok(arms)
}

fn question(args: &Args) -> Result<Question, Usage> {
    let wrong = |name: &'static str| move |what: String| Usage::new(format!("--{name} {what}"));
    let scale = match (args.scale, &args.by) {
        (Some(ScaleWord::Ratio), Some(_)) => {
            return Err(Usage::new("--by is a difference: leave --scale ratio away, or write --times"));
        }
        (_, Some(_)) => Scale::Difference,
        (word, None) => word.map_or(Scale::Ratio, Scale::from),
    };
    let null = match (&args.times, &args.by) {
        (Some(_), _) if scale == Scale::Difference => {
            return Err(Usage::new("--times is a ratio: leave --scale difference away, or write --by"));
        }
        (Some(text), _) => {
            let times = values::amount(text, None).map_err(wrong("times"))?;
            if times <= 0.0 {
                return Err(Usage::new(format!("--times {text}: a factor is above zero")));
            }
            times
        }
        (None, Some(text)) => values::amount(text, args.common.unit).map_err(wrong("by"))?,
        (None, None) => {
            if scale == Scale::Ratio {
                1.0
            } else {
                0.0
            }
        }
    };
    let margin = args.margin.as_deref().map(|text| margin(text, scale, args.common.unit)).transpose();
    Ok(Question { scale, null, margin: margin.map_err(wrong("margin"))? })
}

fn margin(text: &str, scale: Scale, unit: Option<TimeUnit>) -> Result<f64, String> {
    let margin = match (text.strip_suffix('%'), scale) {
        (_, Scale::Ratio) => return values::percent(text),
        (Some(_), Scale::Difference) => {
            return Err(format!("`{text}`: the margin of a difference is an amount, no share"));
        }
        (None, Scale::Difference) => values::amount(text, unit)?,
    };
    if margin > 0.0 { Ok(margin) } else { Err(format!("`{text}`: a margin is above zero")) }
}
