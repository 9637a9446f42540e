//! `latido completions`: the script that a shell needs to complete latido's words, and the words themselves.

use super::{Cli, known};
use crate::{
    lab::{kernel, own},
    output::write_out,
    store,
};
use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::{
    CompletionCandidate, PathCompleter,
    engine::ValueCompleter,
    env::{EnvCompleter, Shells},
};
use latido_model::{
    catalogue::Kind,
    plan::{scheduling::POLICIES, shipped},
};
use latido_report::{export::EXPORTS, figures::FIGURES};
use std::ffi::OsStr;

/// Print the completion script of a shell.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  source <(latido completions bash)                                      in ~/.bashrc
  source <(latido completions zsh)                                       in ~/.zshrc
  latido completions fish > ~/.config/fish/completions/latido.fish

The shell asks latido for the words while you type: probes, plans, loads, tunings, stored runs, kernels, topics.")]
pub struct Args {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(["bash", "zsh", "fish", "elvish", "powershell"]))]
    pub shell: String,
}

/// The environment variable by which a shell requests words.
const ASKED: &str = "COMPLETE";

/// Carries out `latido completions`.
///
/// # Errors
/// The script cannot be written.
pub fn run(args: Args) -> Result<u8> {
    let shells = Shells::builtins();
    let shell: &dyn EnvCompleter = shells.completer(&args.shell).with_context(|| format!("no shell {}", args.shell))?;
    let mut script = Vec::new();
    shell.write_registration(ASKED, "latido", "latido", "latido", &mut script)?;
    write_out(&String::from_utf8_lossy(&script))
}

/// Answers a shell that requests words, and ends the process. Does nothing in any other call.
pub fn answer() {
    if std::env::var_os(ASKED).is_some() {
        clap_complete::CompleteEnv::with_factory(Cli::command).var(ASKED).complete();
    }
}

/// Returns the names that start with the word.
pub fn beginning<T: Into<String>>(word: &OsStr, names: impl IntoIterator<Item = T>) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let names = names.into_iter().map(Into::into).filter(|name: &String| name.starts_with(&*word));
    names.map(CompletionCandidate::new).collect()
}

fn names(kind: Kind) -> Vec<&'static str> {
    known::list(kind).entries().iter().map(|entry| entry.name).collect()
}

/// Probes and plans.
pub fn subjects(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, names(Kind::Probe).into_iter().chain(shipped::PLANS.iter().map(|(name, _)| *name)))
}

/// Loads.
pub fn loads(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, names(Kind::Load).into_iter().chain(["idle"]))
}

/// Tunings.
pub fn tunings(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, names(Kind::Tuning))
}

/// Policies.
pub fn policies(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, POLICIES.iter().map(|(name, _)| *name))
}

/// Stored runs, the newest first, and their labels.
pub fn runs(word: &OsStr) -> Vec<CompletionCandidate> {
    let listing = store::root(None).and_then(|root| store::list_runs(&root));
    let metas = listing.map(|listing| listing.runs).unwrap_or_default().into_iter().map(|(_, meta)| meta);
    beginning(word, metas.flat_map(|meta| meta.label.into_iter().chain([meta.id])).chain(["last".to_owned()]))
}

/// Formats of `latido export`.
pub fn exports(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, EXPORTS.iter().map(|one| one.name))
}

/// Figures of a report.
pub fn figures(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, FIGURES.iter().map(|one| one.name))
}

/// Figures of a repeat that comparisons accept.
pub fn metrics(word: &OsStr) -> Vec<CompletionCandidate> {
    beginning(word, ["min", "mean", "sd", "max", "p50", "p90", "p99", "p99.9", "p99.99", "missed", "above100us"])
}

/// Kernels of the laboratory and the user's own; else files, of which a kernel's name may be the path.
pub fn kernels(word: &OsStr) -> Vec<CompletionCandidate> {
    let own = own::directory().map(|directory| own::names(&directory)).unwrap_or_default();
    let named = beginning(word, kernel::SHIPPED.iter().map(|(name, _)| (*name).to_owned()).chain(own));
    if named.is_empty() { PathCompleter::any().complete(word) } else { named }
}
