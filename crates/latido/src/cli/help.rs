//! `latido help`: on a command, on a probe, load or tuning, or on a topic.

mod exit_status;

use super::{Cli, Usage, completions, foreign, known, list, wrap};
use crate::{host::outcome, output::write_out};
use anyhow::Result;
use clap::{CommandFactory, ValueEnum};
use clap_complete::{ArgValueCompleter, CompletionCandidate};
use latido_model::{
    catalogue::Kind,
    plan::{around::Around, extent::Extent, parse, shipped},
    suggest::nearest,
};
use std::ffi::OsStr;

/// Files and environment variables; the manual pages contain the same text.
pub const FILES: &str = include_str!("help/files.txt");

/// Returns the entries of a text below a heading: `  NAME   what it is`.
pub fn entries(text: &'static str, heading: &str) -> Vec<(&'static str, &'static str)> {
    let below = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.trim().is_empty());
    below.filter_map(|line| line.trim().split_once("  ")).map(|(name, what)| (name, what.trim())).collect()
}

/// Texts that belong to no command and no item.
const TOPICS: &[(&str, &str)] = &[
    ("exit-status", exit_status::TEXT),
    ("files", FILES),
    ("lab", include_str!("help/lab.txt")),
    ("plans", include_str!("help/plans.txt")),
    ("words", include_str!("help/words.txt")),
];

/// Words that users look for, and where latido has the matter.
const POINTERS: &[(&[&str], &str)] = &[
    (
        &["deadline", "deadlines", "period", "start"],
        "`latido run quick --deadline 100us` measures for a minute and ends in PASS or FAIL. `latido check --period 1ms --deadline 100us` \
         says what can delay such a loop. For a night: `latido run wakeup --period 1ms --deadline 100us --load stress-cpu -d 8h`.",
    ),
    (
        &["latency", "jitter", "timer", "wakeups"],
        "`latido run wakeup` measures scheduling latency: how late a periodic thread runs after its timer, as cyclictest does. \
         `latido run gap` measures how long other work interrupts a busy CPU, as oslat does.",
    ),
    (
        &["dropout", "dropouts", "xrun", "overrun", "late"],
        "`latido run task --period 5ms --explain -- ./my-program` says what caused the late and missed periods of \
         your program. `latido check --pid NAME` checks a running program.",
    ),
    (
        &["ci", "junit", "nightly", "regression"],
        "`latido run wakeup --limit 100us --repeat 5 --export junit=results.xml --label NIGHT` is a complete CI job; \
         to compare two runs, latido needs at least five repeats of each. `latido history DIR --against last:10` \
         tests the newest run, `latido compare NIGHT NIGHT` two of them, `latido prune --keep 90d --labelled` removes \
         old ones.",
    ),
    (
        &["percentile", "percentiles", "quantile", "quantiles", "statistics"],
        "Tables have percentiles; `latido show --full` adds their 95 % limits. `latido stats FILE` computes the same \
         from any numbers.",
    ),
    (
        &["paper", "latex", "pdf", "citation"],
        "`latido cite --into DIR` writes a run's paragraph on methods, its entry for BibTeX, its tables in LaTeX and its figures. `latido \
         figure` writes one figure, `latido report --format latex --table NAME` one table.",
    ),
    (
        &["isolcpus", "isolation"],
        "`latido help isolate` keeps a CPU for the measured task alone; `latido help boot` requires isolcpus.",
    ),
    (
        &["breaktrace", "threshold"],
        "`latido run wakeup --stop-on 100us` ends at the first sample above 100 us; `--explain` says why samples were \
         late.",
    ),
    (
        &["environment", "config", "configuration"],
        "`latido help files` lists files, environment variables and the configuration.",
    ),
    (&["syntax"], "`latido help words` explains the words of the command line."),
];

/// Explain a command, probe, load, tuning or topic.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A command, probe, load, tuning or plan, or one of probes, loads, tunings, plans, words, files, exit-status
    #[arg(value_name = "TOPIC", add = ArgValueCompleter::new(complete))]
    pub topic: Option<String>,
}

/// Carries out `latido help`.
///
/// # Errors
/// There is no such topic.
pub fn run(args: Args) -> Result<u8> {
    let width = outcome::style().width;
    let mut command = wrap::command(Cli::command(), width);
    command.build();
    let Some(topic) = args.topic else { return write_out(&command.render_long_help().to_string()) };
    let mut texts = Vec::new();
    if let Some(command) = command.find_subcommand_mut(&topic) {
        texts.push(command.render_long_help().to_string());
    }
    let of_clap = texts.len();
    for kind in Kind::ALL {
        texts.extend(item(kind, &topic));
    }
    if let Some((name, text)) = shipped::PLANS.iter().find(|(name, _)| *name == topic) {
        texts.push(plan(name, text)?);
    }
    if let Ok(what) = list::What::from_str(&topic, false)
        && what != list::What::Runs
    {
        texts.push(list::page(what));
    }
    texts.extend(foreign::page(&topic));
    if texts.is_empty() {
        let pointers = POINTERS.iter().filter(|(words, _)| words.contains(&topic.as_str()));
        texts.extend(pointers.map(|(_, text)| (*text).to_owned()));
    }
    texts.extend(TOPICS.iter().filter(|(name, _)| *name == topic).map(|(_, text)| exit_status::filled(text)));
    if texts.is_empty() {
        let all = topics();
        let hint = nearest(&topic, all.iter().map(String::as_str));
        let more = "`latido --help` shows the commands, `latido list` the rest";
        return Err(Usage::new(format!("there is no help on `{topic}`{hint}; {more}")).into());
    }
    let own = texts.split_off(of_clap);
    write_out(&texts.into_iter().chain(own.iter().map(|text| wrap::page(text, width))).collect::<Vec<_>>().join("\n"))
}

fn complete(word: &OsStr) -> Vec<CompletionCandidate> {
    completions::beginning(word, topics())
}

/// Lists everything that has a help page.
fn topics() -> Vec<String> {
    let command = Cli::command();
    let items = Kind::ALL.into_iter().flat_map(|kind| known::list(kind).entries()).map(|entry| entry.name.to_string());
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let plans = shipped::PLANS.iter().map(|(name, _)| (*name).to_string());
    let lists = ["probes", "loads", "tunings"].map(String::from);
    commands
        .map(|command| command.get_name().to_string())
        .chain(items)
        .chain(plans)
        .chain(lists)
        .chain(TOPICS.iter().map(|(name, _)| name.to_string()))
        .chain(foreign::TOOLS.iter().map(|tool| tool.name.to_string()))
        .collect()
}

/// Describes a shipped plan: its purpose, its extent, and how to see all of it.
fn plan(name: &str, text: &str) -> Result<String> {
    let plan = parse::parse(name, text, known::CATALOGUE)?;
    let about = plan.about.as_deref().unwrap_or("no description");
    let extent = Extent::of_plan(&plan, &Around::default()).sentence();
    let source = plan.source.as_ref().map(|source| format!("Repeats {source}.\n\n")).unwrap_or_default();
    Ok(format!(
        "plan `{name}`: {about}\n\n{source}{extent}. `latido run {name}` measures it, `latido run {name} \
         --print-plan` prints it.\n"
    ))
}

fn item(kind: Kind, name: &str) -> Option<String> {
    let entry = known::list(kind).entry(name)?;
    let mut text = format!("{} `{name}`: {}\n", kind.word(), entry.about);
    if !entry.help.trim().is_empty() {
        text.push_str(&format!("\n{}\n", entry.help.trim()));
    }
    if let Some(main) = entry.main_option {
        text.push_str(&format!("\n`{name}:VALUE` is short for `{name}:{main}=VALUE`.\n"));
    }
    Some(text)
}
