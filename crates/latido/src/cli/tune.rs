//! `latido tune`: settings changed by hand, shown and put back.

use super::{Usage, assemble, known::list, write_out};
use crate::host::{INTERRUPTED, Interrupts};
use anyhow::{Context, Result};
use latido_agent::{
    journal::{self, lock, pulse::Pulse},
    machine::Root,
    supervise::by_hand::{self, Line, Status},
};
use latido_model::{catalogue::Kind, suggest::nearest};
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Apply tunings by hand, show them, put them back.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Exit status: 0 done; 1 refused, or not everything could be put back; 64 usage; 130 interrupted while \
                  applying, nothing stays changed.\n\n`latido list tunings` shows them all, `latido help NAME` explains \
                  one."
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// Another machine's file tree instead of this machine, for tests
    #[arg(long, value_name = "DIR", global = true)]
    sysroot: Option<PathBuf>,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    /// Apply tunings, all or none; they stay until `latido tune undo` or a reboot
    Apply {
        /// NAME[:key=value,...]
        #[arg(value_name = "TUNING", required = true)]
        words: Vec<String>,
    },
    /// Put back what was applied by hand, the last change first, and what a crash left
    Undo {
        /// The tunings [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show what is applied by hand, whether it is still in force, and what a crash left
    Status {
        /// Print one JSON document and nothing else
        #[arg(long)]
        json: bool,
    },
}

/// Carries out `latido tune`.
///
/// # Errors
/// A usage error, or what was refused.
pub fn run(args: Args) -> Result<u8> {
    let root = root(args.sysroot.as_deref())?;
    match args.what {
        What::Apply { words } => apply(&words, &root),
        What::Undo { names } => undo(&names, &root),
        What::Status { json } => status(json, &root),
    }
}

fn root(directory: Option<&Path>) -> Result<Root> {
    let Some(directory) = directory else { return Ok(Root::default()) };
    let whole = directory.canonicalize().with_context(|| format!("--sysroot {}", directory.display()))?;
    Ok(Root::new(whole))
}

fn apply(words: &[String], root: &Root) -> Result<u8> {
    let items = words.iter().map(|word| assemble::item(list(Kind::Tuning), word)).collect::<Result<Vec<_>>>()?;
    // From here on Ctrl-C ends it between two changes, never in one.
    let interrupts = Interrupts::watch()?;
    let outcome = by_hand::apply_all(&items, root, Pulse::new(move || interrupts.count() > 0, |_| {}))?;
    warn(outcome.told.iter().map(|told| format!("after an earlier crash: {told}")));
    if let Some(left) = outcome.stopped {
        let rest = if left.is_empty() { "everything is" } else { "what could be put back is" };
        warn(left.into_iter().chain([format!("interrupted: nothing was applied, {rest} as it was")]));
        return Ok(INTERRUPTED);
    }
    let mut text = String::new();
    for record in &outcome.records {
        writeln!(text, "{}: in force", record.item.name)?;
        for change in &record.changes {
            writeln!(text, "  {}: {} -> {}", change.knob, change.original, change.new)?;
        }
        if let Some(note) = &record.note {
            writeln!(text, "  {note}")?;
        }
    }
    if outcome.records.iter().any(|record| !record.changes.is_empty()) {
        text.push_str("`latido tune undo` puts it back.\n");
    }
    write_out(&text)
}

fn undo(names: &[String], root: &Root) -> Result<u8> {
    if let Some(name) = names.iter().find(|name| list(Kind::Tuning).entry(name).is_none()) {
        let known = list(Kind::Tuning).entries();
        let hint = nearest(name, known.iter().map(|entry| entry.name));
        let only = if name.contains(':') { " (a name alone, without options)" } else { "" };
        return Err(
            Usage::new(format!("there is no tuning `{name}`{hint}{only}; `latido tune status` shows them")).into()
        );
    }
    // Half an undoing serves nobody: it comes to its end.
    let interrupts = Interrupts::watch()?;
    let recovery = by_hand::undo(names, root)?;
    warn(recovery.told.iter().cloned());
    if interrupts.count() > 0 {
        warn(["the undoing was brought to its end before the signal was heeded".into()].into_iter());
    }
    let mut text = String::new();
    for what in &recovery.back {
        writeln!(text, "{}", what.put_back())?;
    }
    if recovery.back.is_empty() && recovery.told.is_empty() {
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
        writeln!(text, "nothing{of} is applied by hand")?;
        text.push_str(&elsewhere());
    }
    write_out(&text)?;
    Ok(u8::from(recovery.incomplete))
}

fn status(json: bool, root: &Root) -> Result<u8> {
    let status = by_hand::status(root)?;
    if json {
        return write_out(&(serde_json::to_string_pretty(&status)? + "\n"));
    }
    let Status { applied, unsettled, void, unreadable, at_work, .. } = status;
    let mut text = String::new();
    if let Some(holder) = &at_work {
        writeln!(text, "another latido is at work ({holder})")?;
    }
    let left = match at_work {
        Some(_) => "changed for it:",
        None => "left by a crash; the next run, or `latido tune undo`, puts it back:",
    };
    for (title, lines) in [("applied by hand:", applied), (left, unsettled), (VOID, void)] {
        if lines.is_empty() {
            continue;
        }
        writeln!(text, "{title}")?;
        for line in &lines {
            writeln!(text, "  {}", shown(line, title == VOID))?;
        }
    }
    if !unreadable.is_empty() {
        writeln!(text, "not readable by this version, in the journal {}:", journal::path().display())?;
        unreadable.iter().try_for_each(|line| writeln!(text, "  {line}"))?;
    }
    if text.is_empty() {
        text.push_str("nothing is applied by hand\n");
        text.push_str(&elsewhere());
    }
    write_out(&text)
}

const VOID: &str = "from before the last boot, void, for the machine forgot it:";

fn shown(line: &Line, void: bool) -> String {
    let Line { tuning, knob, original, new, current, in_force } = line;
    let name = tuning.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let state = match (in_force, current) {
        _ if void => String::new(),
        (Some(true), _) => ", in force".into(),
        (Some(false), Some(current)) => format!(", NOT in force: now {current}"),
        _ => ", cannot be read".into(),
    };
    format!("{name}{knob}: {original} -> {new}{state}")
}

/// Each user has a journal; what root applied is in root's.
fn elsewhere() -> String {
    let of_root = Path::new("/run/latido/journal.jsonl");
    match of_root != journal::path() && lock::is_default() && of_root.exists() {
        true => format!("(root's journal {} is not empty: sudo latido tune status)\n", of_root.display()),
        false => String::new(),
    }
}

fn warn(lines: impl Iterator<Item = String>) {
    for line in lines {
        // Nobody is left to tell when this fails.
        let _ = writeln!(io::stderr(), "warning: {line}");
    }
}
