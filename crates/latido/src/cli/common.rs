//! Options that comparisons, histories and effects share: which figure of which runs, or a file of values.

use super::{
    Usage, completions,
    stored::{self, Reader},
    values::{self, TimeUnit},
};
use crate::{
    host::outcome,
    output::{tell, write_out},
};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap_complete::ArgValueCompleter;
use latido_judge::observed::{Metric, Unlike};
use latido_report::{
    figures::svg::Drawing,
    formats::{self, files},
    terminal::Style,
    tree::Sheet,
};
use std::path::PathBuf;

/// The default of --load-margin: rates that differ by more count as another load.
pub(super) const LOAD_MARGIN: f64 = 0.25;

/// The options of all three commands.
#[derive(clap::Args, Clone, Debug)]
pub struct Common {
    /// Which figure of each repeat to use: max, p99.9, missed, ...; with PROBE.QUANTITY.STATISTIC only that quantity decides
    #[arg(long, value_name = "METRIC", add = ArgValueCompleter::new(completions::metrics), conflicts_with = "values")]
    metric: Option<String>,
    /// Where runs are kept
    #[arg(long, value_name = "DIR", conflicts_with = "values")]
    pub store: Option<PathBuf>,
    /// The unit of the values [default: numbers of any kind]
    #[arg(long, value_name = "UNIT", value_enum, requires = "values")]
    pub unit: Option<TimeUnit>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

impl Common {
    /// Returns the requested figure.
    ///
    /// # Errors
    /// It names no statistic.
    pub fn metric(&self) -> Result<Metric, Usage> {
        let metric = self.metric.as_deref().map(str::parse).transpose();
        Ok(metric.map_err(|error: String| Usage::new(format!("--metric {error}")))?.unwrap_or_default())
    }

    /// Returns a reader of runs; `samples` as in [`stored::Reader::new`].
    ///
    /// # Errors
    /// There is no place for a store.
    pub fn reader(&self, metric: &Metric, samples: bool) -> Result<Reader> {
        stored::Reader::new(self.store.as_deref(), metric.statistic, samples)
    }
}

/// The options of commands that compare runs with each other.
#[derive(clap::Args, Clone, Debug)]
pub struct Alike {
    /// Compare runs although they differ in these
    #[arg(long, value_name = "WHAT", value_delimiter = ',', conflicts_with = "values",
        value_parser = PossibleValuesParser::new(Unlike::ALL.map(Unlike::name)))]
    despite: Vec<String>,
    /// How far apart the rates of loads may be [default: 25%]
    #[arg(long, value_name = "MARGIN", conflicts_with = "values")]
    load_margin: Option<String>,
    /// Write a picture of each shift or history as SVG and its data as CSV into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "values")]
    figures: Option<PathBuf>,
}

impl Alike {
    /// Returns in what respects runs may differ.
    pub fn despite(&self) -> Vec<Unlike> {
        self.despite.iter().filter_map(|name| Unlike::named(name)).collect()
    }

    /// Writes the figures where the user requested them. Their names go to stderr, because stdout carries the answer.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn write(&self, figures: impl FnOnce() -> Vec<(String, Drawing, Sheet)>) -> Result<()> {
        let Some(dir) = &self.figures else { return Ok(()) };
        let files = files::of_figures(figures())?.into_iter().map(|(name, text)| (name, text.into_bytes()));
        for path in outcome::write_files(files.collect(), dir)? {
            tell(&path.display().to_string());
        }
        Ok(())
    }

    /// Returns how far apart the rates of loads may be, .25 for 25 %.
    ///
    /// # Errors
    /// It is not a share.
    pub fn load_margin(&self) -> Result<f64, Usage> {
        let margin = self.load_margin.as_deref().map(values::percent).transpose();
        Ok(margin.map_err(|what| Usage::new(format!("--load-margin {what}")))?.unwrap_or(LOAD_MARGIN))
    }
}

/// The format of tests.
pub(super) const JUNIT: &str = "junit";

/// How a command prints its verdicts, if not for people.
#[derive(clap::Args, Clone, Debug)]
pub struct Form {
    /// Print the verdicts as a table for a paper or a program, or as tests for a CI system
    #[arg(long, value_name = "FORMAT", conflicts_with = "json", value_parser = ["latex", "markdown", "csv", JUNIT])]
    pub format: Option<String>,
    /// For --format latex: set the table in an environment `table`, with a caption and the label tab:compare
    #[arg(long, requires = "format")]
    float: bool,
}

/// What a command found, in each form in which it is printed.
pub trait Printed {
    /// Returns the text for people.
    fn text(&self, style: Style) -> String;

    /// Returns the JSON document.
    ///
    /// # Errors
    /// A number cannot be written.
    fn document(&self) -> Result<String>;

    /// Returns the table for a paper.
    fn table(&self) -> Sheet;

    /// Returns the table for programs.
    fn data(&self) -> Sheet;

    /// Returns the tests for a CI system, as JUnit XML.
    fn tests(&self) -> String;
}

impl Form {
    /// Checks `--float`.
    ///
    /// # Errors
    /// The format is not LaTeX.
    pub fn check_float(&self) -> Result<(), Usage> {
        match self.float && self.format.as_deref() != Some("latex") {
            true => Err(Usage::new(formats::ONLY_LATEX_FLOATS)),
            false => Ok(()),
        }
    }

    /// Prints what a command found.
    ///
    /// # Errors
    /// The format has no such table, or stdout cannot be written.
    pub fn print(&self, found: &impl Printed, json: bool) -> Result<()> {
        self.check_float()?;
        let text = match (self.format.as_deref(), json) {
            (Some(JUNIT), _) => found.tests(),
            (Some("csv"), _) => table("csv", &found.data(), self.float)?,
            (Some(format), _) => table(format, &found.table(), self.float)?,
            (None, true) => found.document()?,
            (None, false) => found.text(outcome::style()),
        };
        write_out(&text)?;
        Ok(())
    }
}

/// Returns a table of verdicts in one of the formats for papers and programs.
///
/// # Errors
/// The format has no floating tables, or the table cannot be written.
pub(super) fn table(format: &str, sheet: &Sheet, float: bool) -> Result<String> {
    formats::of_sheet(format, sheet, "compare", float).map_err(|error| Usage::new(format!("{error:#}")).into())
}
