//! `latido compare`: two or more sides of stored runs, or of values, one per run.

use super::{
    Usage,
    arms::{self, Named},
    common::{Alike, Common, Form, LOAD_MARGIN, Printed, table},
    completions,
    values::{self, AtLine, Source, Table, TimeUnit},
    words,
};
use crate::store;
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
use latido_report::{self as report, export::compared, numbers::document, terminal::Style, tree::Sheet};
use std::path::PathBuf;

/// The most runs of a side, and the most sides: what takes seconds, not hours.
const MOST: (usize, usize) = (1_000, 50);

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
  latido compare RUN RUN --metric wakeup.latency.p99.9      only this figure decides, for continuous integration
  latido compare RUN RUN --format junit > compare.xml       a test per verdict, for a CI system

With --values, FILE has a line `side,value` for each run: its maximum, its p99, whatever is compared; - is stdin. The first line
may name the columns. docs/statistics.md says how each figure is computed, and what the keys of --json are.

Examples:
  latido compare --values maxima.csv --unit us
  latido compare --values maxima.csv --times 0.5          is b lower than half of a?
  latido compare --values misses.csv --scale difference   where zeros occur

Exit status: 0 no side is higher, 2 one of them is higher (worse), 3 undecided; 2 takes precedence over 3. 1 error, 64 usage.";

/// Compare runs, or values: lower, higher, equivalent or undecided.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES, override_usage = "latido compare [RUN] [OPTIONS]\n       latido compare RUN RUN... [OPTIONS]\n       latido compare RUN... --by AXIS [OPTIONS]\n       latido compare --values FILE [OPTIONS]")]
pub struct Args {
    /// Stored runs, each one side; RUN,RUN is one side of two runs. In a single run latido compares its configurations
    /// [default: last]
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
    /// How far apart two sides may be and still count as the same: 5% for ratios, an amount for differences
    #[arg(long, value_name = "MARGIN", allow_hyphen_values = true, value_parser = words::text)]
    pub margin: Option<String>,
    /// Compare with FACTOR times the base
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, value_parser = words::text, conflicts_with = "by",
        requires = "values")]
    pub times: Option<String>,
    /// For runs: the axis, option or label whose levels are the sides. For values: compare with the base plus this amount, by
    /// differences instead of ratios
    #[arg(long, value_name = "AXIS|AMOUNT", allow_hyphen_values = true, value_parser = words::text)]
    pub by: Option<String>,
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
    let values = values::table(&source.text, Some(2), args.common.unit).map_err(|at| source.wrong(&at))?;
    if question.scale == Scale::Ratio {
        values.positive(DIFFERENCES).map_err(|at| source.wrong(&at))?;
    }
    let arms = arms(values).map_err(|at| source.wrong(&at))?;
    let found = compare::of(&arms, question, values::kind(args.common.unit))?;
    args.form.print(&OfValues(&found, &source.name), args.common.json)?;
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
    told(&arms, &asked, &args.alike, &args.form, args.common.json)
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
    table("latex", &report::compare::sheet(found), true)
}

/// Compares sides of stored runs and prints the result. Returns the exit status.
///
/// # Errors
/// The sides cannot be compared in this way, or the requested output cannot be written.
pub(super) fn told(arms: &Arms, asked: &Asked, alike: &Alike, form: &Form, json: bool) -> Result<u8> {
    let found = of_runs::of(arms, asked).map_err(|why| anyhow!(why))?;
    alike.write(|| report::compare::figures(&found))?;
    form.print(&found, json)?;
    Ok(status(found.outcome))
}

impl Printed for Compared {
    fn text(&self, style: Style) -> String {
        report::compare::text(self, style)
    }

    fn document(&self) -> Result<String> {
        document(self)
    }

    fn table(&self) -> Sheet {
        report::compare::sheet(self)
    }

    fn data(&self) -> Sheet {
        report::compare::data(self)
    }

    fn tests(&self) -> String {
        compared::runs(self)
    }
}

/// A comparison of values, and where the values come from.
struct OfValues<'a>(&'a compare::Compared, &'a str);

impl Printed for OfValues<'_> {
    fn text(&self, style: Style) -> String {
        report::numbers::compare::text(self.0, self.1, style)
    }

    fn document(&self) -> Result<String> {
        document(self.0)
    }

    fn table(&self) -> Sheet {
        report::numbers::compare::sheet(self.0, self.1)
    }

    fn data(&self) -> Sheet {
        report::numbers::compare::data(self.0, self.1)
    }

    fn tests(&self) -> String {
        compared::values(self.0, self.1)
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
        [arm] => Err(AtLine {
            line: 0,
            what: format!("all values belong to the side `{}`: a comparison needs two sides", arm.name),
        }),
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
            "the pairs of these {} sides have {paired} values together, more than {MOST_PAIRED}: compare fewer sides \
             at a time",
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
            return Err(Usage::new("--by is a difference: remove --scale ratio, or write --times"));
        }
        (_, Some(_)) => Scale::Difference,
        (word, None) => word.map_or(Scale::Ratio, Scale::from),
    };
    let null = match (&args.times, &args.by) {
        (Some(_), _) if scale == Scale::Difference => {
            return Err(Usage::new("--times is a ratio: remove --scale difference, or write --by"));
        }
        (Some(text), _) => {
            let times = values::amount(text, None).map_err(wrong("times"))?;
            if times <= 0.0 {
                return Err(Usage::new(format!("--times {text}: the factor must be above zero")));
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
            return Err(format!("`{text}`: the margin of a difference is an amount, not a percentage"));
        }
        (None, Scale::Difference) => values::amount(text, unit)?,
    };
    if margin > 0.0 { Ok(margin) } else { Err(format!("`{text}`: the margin must be above zero")) }
}
