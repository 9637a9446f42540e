//! The command line: the commands that a user can type, and the code that runs each.

mod against;
mod agent;
mod arms;
mod ask;
mod assemble;
mod baseline;
mod check;
mod cite;
mod common;
mod compare;
mod completions;
mod effects;
mod export;
mod figure;
mod flags;
mod foreign;
mod gauge;
mod help;
mod history;
mod import;
pub mod known;
mod lab;
mod lab_bisect;
mod list;
mod list_runs;
mod load;
mod man;
mod nights;
mod prune;
mod report;
mod run;
mod script;
mod show;
mod station;
mod stats;
mod stored;
#[cfg(test)]
mod tests;
mod trace;
mod trace_analyze;
mod trace_explain;
mod trace_record;
mod tune;
mod typed;
pub mod values;
mod vary;
pub mod words;
mod wrap;

use crate::{
    durable,
    host::outcome,
    output::{self, Colour},
    person,
};
use anyhow::Result;
use clap::{
    CommandFactory, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use latido_model::{catalogue::Kind, exit::Exit};
use latido_report::terminal::{Paint, Style, hang};
use latido_sys::identity;
use std::fmt;

/// Will this machine keep its deadlines, and what decides it?
#[derive(Parser, Debug)]
#[command(name = "latido", version = VERSION, about, disable_help_subcommand = true)]
#[command(
    after_help = "`latido help TOPIC` explains a command, a probe, a load, a tuning, a plan, exit-status, files, \
                  plans, words.\n`latido completions SHELL` writes completions for a shell, `latido man` manual \
                  pages."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// When to colour text [default: auto]
    #[arg(long, global = true, value_name = "WHEN", hide_short_help = true)]
    color: Option<Colour>,
}

/// The version, and the commit that it was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("LATIDO_COMMIT"));

/// The text that `latido` alone prints: how to start.
const START: &str = "\
Does this machine keep your deadlines, and what decides it?

  new here?          sudo latido run quick --deadline 100us
                     a minute: PASS or FAIL, idle and under load
  used cyclictest?   latido help cyclictest
  your own program?  sudo latido run task --period 1ms --explain -- ./my-program
  another board?     latido run quick --deadline 100us --on ssh:root@BOARD
  a report?          latido report            of the last run, as report.html
  everything else:   latido --help
";

#[derive(Subcommand, Debug)]
enum Command {
    Check(check::Args),
    Run(Box<flags::Args>),
    List(list::Args),
    Show(show::Args),
    Report(report::Args),
    Figure(figure::Args),
    Cite(cite::Args),
    Export(export::Args),
    Import(Box<import::Args>),
    Stats(stats::Args),
    Compare(compare::Args),
    History(history::Args),
    Baseline(baseline::Args),
    Prune(prune::Args),
    Effects(effects::Args),
    Load(load::Args),
    Station(station::Args),
    Tune(tune::Args),
    Trace(trace::Args),
    Lab(lab::Args),
    Help(help::Args),
    #[command(hide = true)]
    Agent(agent::Args),
    #[command(hide = true)]
    Completions(completions::Args),
    #[command(hide = true)]
    Man(man::Args),
}

impl Cli {
    /// Carries out the command and returns the exit status.
    ///
    /// # Errors
    /// The error that ended the command; [`Usage`] if the command line is wrong.
    pub fn run(self) -> Result<u8> {
        self.color.into_iter().for_each(output::set_colour);
        let Some(command) = self.command else { return output::write_out(START) };
        let topic = match &command {
            Command::Run(_) => Some("run"),
            Command::Load(_) => Some("load"),
            Command::Station(_) => Some("station"),
            Command::Tune(_) => Some("tune"),
            Command::Trace(_) => Some("trace"),
            Command::Lab(_) => Some("lab"),
            Command::Report(_) => Some("report"),
            Command::Figure(_) => Some("figure"),
            Command::Cite(_) => Some("cite"),
            Command::Export(_) => Some("export"),
            Command::Import(_) => Some("import"),
            Command::Stats(_) => Some("stats"),
            Command::Compare(_) => Some("compare"),
            Command::History(_) => Some("history"),
            Command::Baseline(_) => Some("baseline"),
            Command::Prune(_) => Some("prune"),
            Command::Effects(_) => Some("effects"),
            _ => None,
        };
        let told = command.carry_out();
        match (told, topic) {
            (Err(error), Some(topic)) if error.is::<Usage>() => Err(error.downcast::<Usage>()?.see(topic).into()),
            (told, _) => told,
        }
    }
}

impl Command {
    fn carry_out(self) -> Result<u8> {
        // `take_on` must run before there is a second thread. `load` and `agent` run on the machine under test and stay root.
        if !matches!(self, Self::Load(_) | Self::Agent(_)) {
            person::take_on()?;
        }
        match self {
            Command::Check(args) => check::run(args),
            Command::Run(args) => run::run(*args),
            Command::List(args) => list::run(args),
            Command::Show(args) => show::run(args),
            Command::Report(args) => report::run(args),
            Command::Figure(args) => figure::run(&args),
            Command::Cite(args) => cite::run(&args),
            Command::Export(args) => export::run(args),
            Command::Import(args) => import::run(*args),
            Command::Stats(args) => stats::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::History(args) => history::run(&args),
            Command::Baseline(args) => baseline::run(args),
            Command::Prune(args) => prune::run(args),
            Command::Effects(args) => effects::run(&args),
            Command::Load(args) => load::run(args),
            Command::Station(args) => station::run(args),
            Command::Tune(args) => tune::run(args),
            Command::Trace(args) => trace::run(args),
            Command::Lab(args) => lab::run(args),
            Command::Help(args) => help::run(args),
            Command::Agent(args) => agent::run(args),
            Command::Completions(args) => completions::run(args),
            Command::Man(args) => man::run(args),
        }
    }
}

/// A wrong command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    message: String,
    topic: Option<&'static str>,
}

impl Usage {
    /// Returns an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), topic: None }
    }

    /// Adds the help topic that explains more.
    pub fn see(self, topic: &'static str) -> Self {
        Self { topic: Some(topic), ..self }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Usage {}

/// Reads the words of the command line. A shell that completes words gets its answer, and the process ends.
///
/// # Errors
/// A word is wrong, or the user requested help.
pub fn parsed() -> Result<Cli, clap::Error> {
    completions::answer();
    Cli::try_parse()
}

/// Prints clap's message on stderr (for `--help` and `--version` on stdout), in latido's words where clap's would mislead. Returns the exit
/// status.
pub fn explain(error: clap::Error) -> u8 {
    if let Some(usage) = in_our_words(&error) {
        return complain(&usage.into());
    }
    // latido fits texts to the terminal only when the user requests help.
    let mut error = match error.kind() {
        ErrorKind::DisplayHelp => {
            let command = wrap::command(Cli::command(), outcome::style().width);
            command.try_get_matches().err().unwrap_or(error)
        }
        _ => error,
    };
    // clap suggests "to pass '-x' as a value, use '-- -x'", but no option here takes such a value.
    error.remove(ContextKind::Suggested);
    let text = error.render();
    if error.use_stderr() {
        // Without clap's colours, because clap quotes the user's text between them.
        output::tell(&more_by_topic(&typed::quoted(text.to_string().trim_end())));
        return Exit::Usage.code();
    }
    // A file or a pipe gets no colours: the cleaning of output would turn them into garbage.
    let text = if outcome::style().color { text.ansi().to_string() } else { text.to_string() };
    // If this fails, latido has no channel left to report it.
    let _ = output::write_out(&text);
    Exit::Done.code()
}

/// Replaces clap's last line with the one under latido's own errors, which names the typed command.
fn more_by_topic(text: &str) -> String {
    let command = std::env::args().nth(1).filter(|word| Cli::command().find_subcommand(word).is_some());
    match command {
        Some(command) => text.replace("try '--help'", &format!("try 'latido help {command}'")),
        None => text.replace("try '--help'", "try 'latido --help'"),
    }
}

fn in_our_words(error: &clap::Error) -> Option<Usage> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    if let (ErrorKind::InvalidSubcommand, Some(name)) = (error.kind(), word(ContextKind::InvalidSubcommand)) {
        return foreign::instead(name).map(Usage::new);
    }
    let (ErrorKind::UnknownArgument, Some(flag)) = (error.kind(), word(ContextKind::InvalidArg)) else { return None };
    // Only commands that measure have these flags. For other commands clap reports what is wrong.
    let typed: Vec<String> = std::env::args().skip(1).take(2).collect();
    let command = typed.first().map(String::as_str).filter(|command| ["run", "load"].contains(command))?;
    let flag = flag.split('=').next().unwrap_or(flag);
    let item = typed.get(1).and_then(|item| item.split(':').next()).unwrap_or_default();
    option_of(item, flag)
        .or_else(|| foreign::hint(command, item, flag))
        .map(|hint| Usage::new(hint).see(if command == "run" { "run" } else { "load" }))
}

/// Returns what to write for a flag that has the name of an option of the probe or load.
fn option_of(item: &str, flag: &str) -> Option<String> {
    let key = flag.strip_prefix("--")?;
    let has = |kind| known::list(kind).entry(item).is_some_and(|entry| documents(entry.help, key));
    [Kind::Probe, Kind::Load].into_iter().find(|kind| has(*kind)).map(|kind| {
        format!("{flag}: `{key}` is an option of the {} `{item}`: write {key}=VALUE after its name", kind.word())
    })
}

/// Returns whether a help text has a line that starts with this option.
fn documents(help: &str, key: &str) -> bool {
    help.lines().any(|line| line.starts_with("  ") && line.split_whitespace().next() == Some(key))
}

/// The addition to a refusal that root does not expect.
const BEHIND_SUDO: &str = "; under sudo latido opens files as the user who called it, and with `env -u SUDO_UID \
                           latido` as root, who has another store (--store DIR)";

/// Lays out an error for a terminal: latido breaks a long one into parts, each on its own lines. A program that reads it gets one line.
fn laid_out(text: &str, terminal: Option<usize>) -> String {
    let Some(width) = terminal.filter(|_| text.chars().count() > LONG && !text.contains('\n')) else {
        return format!("error: {text}");
    };
    let style = Style { width: width.min(LONG), color: false };
    let mut parts = text.split("; ");
    let first = hang("error:", Paint::Plain, parts.next().unwrap_or_default(), style);
    first.into_iter().chain(parts.flat_map(|part| hang("  ", Paint::Plain, part, style))).collect::<Vec<_>>().join("\n")
}

/// The longest line of an error, where the terminal is at least this wide.
const LONG: usize = 100;

/// Prints on stderr what went wrong and returns the exit status. A closed stdout is no error.
pub fn complain(error: &anyhow::Error) -> u8 {
    if output::is_broken_pipe(error) {
        return Exit::Done.code();
    }
    let usage = error.downcast_ref::<Usage>().is_some();
    let more = match error.downcast_ref::<Usage>() {
        Some(Usage { topic: Some(topic), .. }) => format!("\n\nFor more information, try 'latido help {topic}'."),
        Some(Usage { topic: None, .. }) => "\n\nFor more information, try 'latido --help'.".into(),
        None => String::new(),
    };
    let whose = if durable::is_denied(error) && identity::is_taken_on() { BEHIND_SUDO } else { "" };
    let text = typed::quoted(&format!("{error:#}{whose}"));
    output::tell(&(laid_out(&text, output::width_of_errors()) + &more));
    if usage { Exit::Usage } else { Exit::Error }.code()
}
