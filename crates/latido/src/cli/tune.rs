//! `latido tune`: applies settings by hand, shows them and restores the originals.

use super::{Usage, ask::Ask, assemble, known, known::list};
use crate::{
    output::{self, write_out},
    stop::StopRequests,
};
use anyhow::{Result, anyhow};
use latido_model::{
    catalogue::Kind,
    exit::Exit,
    protocol::{Setting, TuneStatus, TuneWhat, Tuned},
    suggest::nearest,
    units::Ns,
};
use std::{cell::Cell, fmt::Write as _};

/// Apply tunings by hand, show them, undo them.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Exit status: 0 done; 1 refused, or not everything could be put back; 64 usage; 130 interrupted while \
                  applying, nothing stays changed.\n\n`latido list tunings` shows them all, `latido help NAME` explains \
                  one."
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// A tree of files with a simulated kernel instead of this machine, in builds for tests
    #[cfg(debug_assertions)]
    #[arg(long, value_name = "DIR", global = true, hide = true)]
    sysroot: Option<std::path::PathBuf>,
    #[arg(long, value_name = "TARGET", help = known::targets(), global = true, value_parser = known::target)]
    on: Option<String>,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    /// Apply tunings, all or none; they stay until `latido tune undo` or a reboot
    Apply {
        /// NAME[:key=value,...]
        #[arg(value_name = "TUNING", required = true)]
        words: Vec<String>,
        #[command(flatten)]
        turn: Turn,
    },
    /// Restore what was applied by hand, the last change first, and what a crash left
    Undo {
        /// The tunings [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        turn: Turn,
    },
    /// Show what is applied by hand, whether it is still in force, and what a crash left
    Status {
        /// Print one JSON document and nothing else
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args, Clone, Copy, Debug)]
struct Turn {
    /// Wait for another latido that runs there, without limit or for this long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "200d",
        value_parser = known::span)]
    wait: Option<Ns>,
}

/// Carries out `latido tune`.
///
/// # Errors
/// A usage error, or a refused change.
pub fn run(args: Args) -> Result<u8> {
    #[cfg(debug_assertions)]
    let sysroot = args.sysroot.as_ref().map(std::path::absolute).transpose()?;
    #[cfg(not(debug_assertions))]
    let sysroot = None;
    let wait = match &args.what {
        What::Apply { turn, .. } | What::Undo { turn, .. } => turn.wait,
        What::Status { .. } => None,
    };
    let ask = Ask { target: args.on.as_deref(), sysroot, wait };
    match args.what {
        What::Apply { words, .. } => apply(&words, &ask),
        What::Undo { names, .. } => undo(&names, &ask),
        What::Status { json } => status(json, &ask),
    }
}

fn apply(words: &[String], ask: &Ask<'_>) -> Result<u8> {
    let items = words.iter().map(|word| assemble::item(list(Kind::Tuning), word)).collect::<Result<Vec<_>>>()?;
    // From here on, Ctrl-C ends the command between two changes, never within one.
    let stops = StopRequests::watch()?;
    let records = match ask.tune(TuneWhat::Apply { items }, &|| stops.count() > 0)? {
        Tuned::Applied { records } => records,
        Tuned::Stopped { left } => {
            let rest = if left.is_empty() { "everything is" } else { "what latido could put back is" };
            warn(left.into_iter().chain([format!("interrupted: nothing was applied, {rest} as it was")]));
            return Ok(Exit::Interrupted.code());
        }
        other => return Err(other_answer(&other)),
    };
    let mut text = String::new();
    for record in &records {
        writeln!(text, "{}: in force", record.item.name)?;
        for change in &record.changes {
            writeln!(text, "  {}: {} -> {}", change.knob, change.original, change.new)?;
        }
        if let Some(note) = &record.note {
            writeln!(text, "  {note}")?;
        }
    }
    if records.iter().any(|record| !record.changes.is_empty()) {
        let on = ask.target.map(|target| format!(" --on {target}")).unwrap_or_default();
        writeln!(text, "`latido tune undo{on}` puts it back.")?;
    }
    write_out(&text)
}

fn undo(names: &[String], ask: &Ask<'_>) -> Result<u8> {
    if let Some(name) = names.iter().find(|name| list(Kind::Tuning).entry(name).is_none()) {
        let known = list(Kind::Tuning).entries();
        let hint = nearest(name, known.iter().map(|entry| entry.name));
        let only = if name.contains(':') { " (a name alone, without options)" } else { "" };
        return Err(
            Usage::new(format!("there is no tuning `{name}`{hint}{only}; `latido tune status` shows them")).into()
        );
    }
    // A half-finished undo helps no user, so latido completes it.
    let stops = StopRequests::watch()?;
    let told = Cell::new(0);
    let count = |line: String| {
        told.set(told.get() + 1);
        warn([line].into_iter());
    };
    // A wait for the lock is not yet an undo: Ctrl-C ends it.
    let stopped = || ask.wait.is_some() && stops.count() > 0;
    let (back, incomplete) = match ask.tune_telling(TuneWhat::Undo { names: names.to_vec() }, &stopped, &count)? {
        Tuned::Undone { back, incomplete } => (back, incomplete),
        other => return Err(other_answer(&other)),
    };
    if stops.count() > 0 {
        warn(["latido finished the undo before it obeyed the signal".into()].into_iter());
    }
    let mut text = String::new();
    for what in &back {
        writeln!(text, "{what}")?;
    }
    if back.is_empty() && told.get() == 0 {
        let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
        writeln!(text, "nothing{of} is applied by hand")?;
        text.push_str(&elsewhere(&self::state(ask)?));
    }
    write_out(&text)?;
    Ok(u8::from(incomplete))
}

fn state(ask: &Ask<'_>) -> Result<TuneStatus> {
    match ask.tune(TuneWhat::Status, &|| false)? {
        Tuned::Status(status) => Ok(status),
        other => Err(other_answer(&other)),
    }
}

fn other_answer(tuned: &Tuned) -> anyhow::Error {
    anyhow!("the agent sent an answer that does not match the request: {tuned:?}")
}

fn status(json: bool, ask: &Ask<'_>) -> Result<u8> {
    let status = state(ask)?;
    let wanting = status.applied.iter().any(|line| line.in_force == Some(false) && !line.superseded);
    if json {
        // A tuning that was applied but is not in force is a failure.
        let written = write_out(&(serde_json::to_string_pretty(&status)? + "\n"))?;
        return Ok(if wanting { Exit::Failed.code() } else { written });
    }
    let mut text = String::new();
    if let Some(kept) = &status.lost {
        let journal = status.journal.display();
        writeln!(text, "the journal {journal} was lost: `latido tune undo` puts back from {}", kept.display())?;
    }
    if let Some(holder) = &status.at_work {
        writeln!(text, "another latido is running ({holder})")?;
    }
    let left = match status.at_work {
        Some(_) => "changed by it:",
        None => "left by a crash; the next run, or `latido tune undo`, puts it back:",
    };
    for (title, lines) in [("applied by hand:", &status.applied), (left, &status.unsettled), (VOID, &status.void)] {
        if lines.is_empty() {
            continue;
        }
        writeln!(text, "{title}")?;
        for line in lines {
            writeln!(text, "  {}", shown(line, title == VOID))?;
        }
    }
    if !status.unreadable.is_empty() {
        writeln!(text, "not readable by this version, in the journal {}:", status.journal.display())?;
        status.unreadable.iter().try_for_each(|line| writeln!(text, "  {line}"))?;
    }
    if text.is_empty() {
        text.push_str("nothing is applied by hand\n");
        text.push_str(&elsewhere(&status));
    }
    // A tuning that was applied but is not in force is a failure.
    let written = write_out(&text)?;
    Ok(if wanting { Exit::Failed.code() } else { written })
}

const VOID: &str = "from before the last boot, no longer in force:";

fn shown(line: &Setting, void: bool) -> String {
    let Setting { tuning, knob, original, new, current, in_force, superseded } = line;
    let name = tuning.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let state = match (in_force, current) {
        _ if void => String::new(),
        _ if *superseded => ", then changed again".into(),
        (Some(true), _) => ", in force".into(),
        (Some(false), Some(current)) => format!(", NOT in force: now {current}"),
        _ => ", cannot be read".into(),
    };
    format!("{name}{knob}: {original} -> {new}{state}")
}

/// Each user has a journal. What root applied is in root's journal.
fn elsewhere(status: &TuneStatus) -> String {
    match &status.elsewhere {
        Some(path) => format!("(root's journal {} is not empty: sudo latido tune status)\n", path.display()),
        None => String::new(),
    }
}

fn warn(lines: impl Iterator<Item = String>) {
    for line in lines {
        output::tell(&format!("warning: {line}"));
    }
}
