//! `latido cite`: the methods paragraph of a run, a BibTeX entry, and the other files that a paper takes from a run.

use super::{
    Usage,
    compare::{self, Within},
    completions,
    figure::{Kind, Look, millimetres},
};
use crate::{
    host::outcome,
    output::{tell, write_out},
    store,
};
use anyhow::Result;
use clap::ValueEnum;
use clap_complete::ArgValueCompleter;
use latido_report::{
    self as report, formats, judged,
    paper::{self, Figures, Markup, Picture},
};
use std::path::PathBuf;

const NOTES: &str = "\
Examples:
  latido cite                     the paragraph and the entry for the newest run
  latido cite last --into paper   also each table and each figure, as files of the directory `paper`:
                                  latido-methods.tex, latido.bib, table-NAME.tex, table-compare.tex
                                  (if latido can compare the configurations), figure-NAME.pdf;
                                  latido replaces files of these names";

/// Write a paragraph on methods of a run, and a BibTeX entry for latido; with --into, all that a paper takes from the run
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// A run: an id, an unambiguous prefix, a path, or `last`
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), default_value = "last", hide_default_value = true)]
    pub run: String,
    /// The format of the paragraph
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub format: Format,
    /// Write the paragraph, the entry, each table (LaTeX) and each figure (PDF) into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "format")]
    pub into: Option<PathBuf>,
    /// How wide the figures of --into are: 84mm, 8.4cm, 3.3in, 239pt
    #[arg(long, value_name = "LENGTH", default_value = "84mm", value_parser = millimetres, requires = "into")]
    pub width: f64,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// How the paragraph of `latido cite` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As it is
    Text,
    /// For LaTeX: special characters escaped, latido cited by \cite
    Latex,
}

/// Carries out `latido cite`.
///
/// # Errors
/// The run does not exist or cannot be read, or a file cannot be written.
pub fn run(args: &Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let all = [outcome::judged(&store::find(&root, &args.run)?)?];
    let found = outcome::pooled(&all);
    outcome::warn_of_losses(&all, &found);
    let [one] = &all;
    let is_latex = args.format == Format::Latex || args.into.is_some();
    let compared = compare::within(&one.run)?;
    let test = match &compared {
        Within::Found(compared) => Some(report::compare::tested(compared)),
        _ => None,
    };
    let said = paper::citation(one, (&found, test.as_deref()), if is_latex { Markup::Latex } else { Markup::Plain });
    let Some(dir) = &args.into else { return write_out(&format!("{}\n\n{}", said.methods, said.entry)) };
    if dir.as_os_str().is_empty() || dir.symlink_metadata().is_ok_and(|_| !dir.is_dir()) {
        let what =
            format!("--into {}: not a directory: name a directory; latido makes it if it is missing", dir.display());
        return Err(Usage::new(what).into());
    }
    let input = judged::input(&all, &found);
    let mut files = vec![
        ("latido-methods.tex".to_owned(), format!("{}\n", said.methods).into_bytes()),
        ("latido.bib".to_owned(), said.entry.into_bytes()),
    ];
    let table = |(name, text): (String, String)| (format!("table-{name}.tex"), text.into_bytes());
    files.extend(formats::floats(&input)?.into_iter().map(table));
    match compared {
        Within::Found(compared) => files.push(table(("compare".to_owned(), compare::float(&compared)?))),
        Within::Refused(why) => tell(&format!("note: latido writes no table of the comparison: {why}")),
        Within::Nothing => {}
    }
    files.extend(pictures(&Figures::of(&input, args.width))?);
    let written = outcome::write_files(files, dir)?;
    write_out(&written.iter().map(|path| format!("{}\n", path.display())).collect::<String>())
}

/// Returns the first form of each figure: as PDF, or as SVG where this latido or this machine cannot write PDF.
fn pictures(figures: &Figures) -> Result<Vec<(String, Vec<u8>)>> {
    let look = Look { title: false, font: None, dpi: 300 };
    if figures.list().is_empty() {
        return Ok(Vec::new());
    }
    let all = |kind: Kind, ending: &str| -> Result<Vec<(String, Vec<u8>)>> {
        let printer = kind.printer(&look)?;
        let one = |(name, picture): (&str, Picture<'_>)| Ok((format!("figure-{name}.{ending}"), printer(picture)?));
        figures.first_forms().map(one).collect()
    };
    all(Kind::Pdf, "pdf").or_else(|error| {
        tell(&format!("note: latido writes the figures as SVG, because it cannot write PDF: {error:#}"));
        all(Kind::Svg, "svg")
    })
}
