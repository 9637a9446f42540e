//! `latido import`: makes a run of the files of other tools.

use super::Usage;
use crate::{
    host::outcome,
    import::{self, Wanted},
    output::{tell, write_out},
    store,
};
use anyhow::Result;
use clap::ValueEnum;
use latido_import::{Asked, IMPORTS, Unit};
use latido_model::{clean, cpus::CpuSet, exit::Exit, units::Ns};
use latido_report::{judged::JudgedRun, terminal};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  latido import                                     the formats that can be read
  latido import histogram.txt                       recognised by its content
  latido import nightly/ --limit 150us              each file of the directory becomes a cell
  latido import old.hist --args 'cyclictest -N -h 60000 -a 2,3' --cpus 2,3
  latido import trace.hist --unit ns --label load=hackbench --label board=imx8
  latido compare RUN last                           compare it with a run of latido

A file says less than a measurement: latido could check nothing, and knows each figure only as a range between two values.
docs/import.md lists the formats, and what each contains and lacks.";

/// Make a run of the files of other tools: cyclictest, oslat, ...
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files, and directories of them; without any, list the formats
    #[arg(value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// The format, where the content does not show it
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// The unit of the numbers, where the file does not state it
    #[arg(long, value_name = "UNIT", value_enum)]
    pub unit: Option<UnitWord>,
    /// The command line of the tool that wrote the files
    #[arg(long, value_name = "TOOL'S COMMAND LINE", allow_hyphen_values = true)]
    pub args: Option<String>,
    /// The CPU of each thread, in the order of threads
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Further facts: load=, tuning=, target=, kernel=, or a name that you choose
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub labels: Vec<String>,
    /// Fail when a sample is above this
    #[arg(long, value_name = "TIME")]
    pub limit: Option<Ns>,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// A unit as the user types it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitWord {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl From<UnitWord> for Unit {
    fn from(word: UnitWord) -> Self {
        match word {
            UnitWord::Ns => Self::Ns,
            UnitWord::Us => Self::Us,
            UnitWord::Ms => Self::Ms,
            UnitWord::S => Self::S,
        }
    }
}

/// Carries out `latido import`.
///
/// # Errors
/// No file could be imported, or the store cannot be written.
pub fn run(args: Args) -> Result<u8> {
    if args.paths.is_empty() {
        return write_out(&list());
    }
    let wanted = wanted(&args)?;
    let root = store::root(args.store.as_deref())?;
    let came = import::run(&root, &wanted)?;
    let all = [came.run];
    let found = outcome::pooled(&all);
    let [JudgedRun { run, judgement, explained, maxima, chains, .. }] = &all;
    let text = match args.json {
        true => latido_report::formats::json::document(run, judgement, None)?,
        false => {
            let beside = terminal::Beside { explained, maxima, chains };
            terminal::summary(run, judgement, &found, beside, outcome::style())
        }
    };
    write_out(&text)?;
    if came.failed > 0 {
        let files = if came.failed == 1 { "file was" } else { "files were" };
        tell(&format!(
            "error: {} {files} not imported, see above; the others are in the run {}",
            came.failed, run.meta.id
        ));
        return Ok(Exit::Error.code());
    }
    Ok(judgement.exit)
}

fn wanted(args: &Args) -> Result<Wanted, Usage> {
    let mut labels = std::collections::BTreeMap::new();
    for text in &args.labels {
        let Some((key, value)) = text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())
        else {
            return Err(Usage::new(format!("--label {}: write KEY=VALUE", clean::line(text))));
        };
        if labels.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Usage::new(format!("--label {} is given twice", clean::line(key))));
        }
    }
    if let Some(name) = &args.format {
        let known = IMPORTS.iter().any(|one| one.name.strip_prefix(name.as_str()).is_some_and(family));
        if !known {
            return Err(Usage::new(format!(
                "--format {name}: there is no such format; `latido import` lists the formats"
            )));
        }
    }
    let cpus = args.cpus.as_deref().map(cpus).transpose()?.unwrap_or_default();
    let asked = Asked { unit: args.unit.map(Unit::from), args: args.args.clone(), cpus, ..Asked::default() };
    Ok(Wanted {
        paths: args.paths.clone(),
        format: args.format.clone(),
        asked,
        labels,
        limit: args.limit,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    })
}

/// Returns whether this may follow the name of a tool in the name of one of its formats.
fn family(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('-')
}

/// Reads CPUs in the order of the threads: `2,5` or `0-3,8`.
fn cpus(text: &str) -> Result<Vec<u32>, Usage> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let set: CpuSet = part.parse().map_err(|error| Usage::new(format!("--cpus {text}: {error}")))?;
        all.extend(set.iter());
    }
    Ok(all)
}

/// Lists the formats.
fn list() -> String {
    let widest = IMPORTS.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let line = |one: &latido_import::Format| format!("  {:widest$}  {}\n", one.name, one.about);
    let all: String = IMPORTS.iter().map(line).collect();
    format!("Formats of `latido import FILE|DIR...`, recognised by content:\n{all}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    /// A line feed in a label must not begin a line that looks like another message.
    #[test]
    fn a_refused_label_is_one_line() {
        let refused = |labels: &[&str]| {
            let labels = labels.iter().flat_map(|label| ["--label", label]);
            let words = ["latido", "import", "x"].into_iter().chain(labels);
            let Some(Command::Import(args)) = Cli::try_parse_from(words).unwrap().command else { panic!("no import") };
            wanted(&args).unwrap_err().to_string()
        };
        assert_eq!(refused(&["a\nerror: b"]), "--label a\\u000aerror: b: write KEY=VALUE");
        assert_eq!(refused(&["a\nb=1", "a\nb=2"]), "--label a\\u000ab is given twice");
    }
}
