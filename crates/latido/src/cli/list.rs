//! `latido list`: what can be named on the command line and in plans.

use super::write_out;
use crate::{
    plan::{kind::Kind, parse, shipped},
    store,
};
use anyhow::Result;
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

/// List probes, loads, tunings, plans or runs.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// What to list [default: all but the runs]
    pub what: Option<What>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// What to list.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Measuring procedures
    Probes,
    /// What disturbs the machine meanwhile
    Loads,
    /// Reversible changes of the machine's settings
    Tunings,
    /// Shipped plans
    Plans,
    /// Stored runs
    Runs,
}

/// Carries out `latido list`.
///
/// # Errors
/// The store cannot be read.
pub fn run(args: Args) -> Result<u8> {
    if args.what == Some(What::Runs) {
        return runs(&args);
    }
    let lists = [What::Probes, What::Loads, What::Tunings, What::Plans];
    let asked = lists.into_iter().filter(|what| args.what.is_none_or(|asked| asked == *what));
    let lists: Vec<(&str, Vec<Line>)> = asked.map(lines).collect();
    write_out(&if args.json { json(&lists)? } else { text(&lists) })
}

fn runs(args: &Args) -> Result<u8> {
    let listing = store::list_runs(&store::root(args.store.as_deref())?)?;
    for problem in &listing.problems {
        // Nobody is left to tell when this fails.
        let _ = writeln!(io::stderr(), "note: {problem}");
    }
    if args.json {
        let runs: Vec<_> = listing.runs.iter().map(|(_, meta)| meta).collect();
        let document = serde_json::json!({ "schema": 1, "runs": runs, "problems": listing.problems });
        return write_out(&(serde_json::to_string_pretty(&document)? + "\n"));
    }
    let mut text = String::new();
    for (_, meta) in &listing.runs {
        let verdict = match (meta.verdict, &meta.finished) {
            (Some(verdict), _) => format!("{verdict:?}").to_lowercase(),
            (None, _) => "unfinished".into(),
        };
        let headline = meta.headline.as_deref().unwrap_or("");
        text.push_str(&format!("{}  {verdict:<12}  {} cells  {headline}\n", meta.id, meta.cells));
    }
    if listing.runs.is_empty() {
        text.push_str("no runs yet: `latido run quick` makes one\n");
    }
    write_out(&text)
}

struct Line {
    name: String,
    about: String,
    main_option: Option<&'static str>,
}

fn lines(what: What) -> (&'static str, Vec<Line>) {
    let of = |kind: Kind| {
        let entries = kind.entries().into_iter();
        entries
            .map(|entry| Line { name: entry.name.into(), about: entry.about.into(), main_option: entry.main_option })
            .collect()
    };
    match what {
        What::Probes => ("probes", of(Kind::Probe)),
        What::Loads => ("loads", of(Kind::Load)),
        What::Tunings => ("tunings", of(Kind::Tuning)),
        What::Plans | What::Runs => ("plans", shipped::PLANS.iter().map(|(name, text)| plan(name, text)).collect()),
    }
}

fn plan(name: &str, text: &str) -> Line {
    let about = match parse::parse(name, text) {
        Ok(plan) => plan.about.unwrap_or_default(),
        Err(problem) => format!("cannot run here: {problem}"),
    };
    Line { name: name.into(), about, main_option: None }
}

fn text(lists: &[(&str, Vec<Line>)]) -> String {
    let width = lists.iter().flat_map(|(_, lines)| lines).map(|line| line.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (at, (title, lines)) in lists.iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{gap}{title}");
        for Line { name, about, .. } in lines {
            let _ = writeln!(out, "  {name:width$}  {about}");
        }
        if lines.is_empty() {
            let _ = writeln!(out, "  (none)");
        }
    }
    out
}

fn json(lists: &[(&str, Vec<Line>)]) -> Result<String> {
    let mut document = serde_json::Map::new();
    document.insert("schema".into(), 1.into());
    for (title, lines) in lists {
        let list = lines
            .iter()
            .map(|line| serde_json::json!({ "name": line.name, "about": line.about, "main_option": line.main_option }));
        document.insert((*title).into(), list.collect());
    }
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
