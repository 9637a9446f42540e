//! The journal of borrowed things: written and synced before anything is started or set, struck out when it is undone.
//!
//! `journal.jsonl` in the state directory. Whoever finds entries of this boot that nobody owns any more undoes them.

use crate::{
    agent::lock,
    machine::Root,
    tuning::step::{Step, Undone},
};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The environment variable that marks every process of a load, so that none can be lost or mistaken.
pub const MARK: &str = "LATIDO_LOAD";

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// The boot it belongs to; after a reboot it is void.
    boot: String,
    /// Who wrote it: all entries but `manual` ones are undone by recovery.
    owner: Owner,
    /// What was borrowed.
    what: Borrowed,
}

/// On whose behalf something was borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// A run: undone when the run is over, by whoever finds it.
    Run,
    /// A person, with `tune apply`: undone only by `tune undo`.
    Manual,
    /// A `tune apply` or `tune undo` that has not come to its end: undone as a run's, so that half of it never stays.
    Unsettled,
}

/// What was borrowed of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Borrowed {
    /// A load: every process whose environment holds `LATIDO_LOAD=<mark>`.
    Load {
        /// The mark.
        mark: String,
        /// For people.
        argv: Vec<String>,
    },
    /// A change of a setting, with its original.
    Setting {
        /// The tuning that wanted it.
        tuning: String,
        /// The root of the machine, where it is a fake one.
        root: Option<PathBuf>,
        /// What is changed.
        change: Step,
    },
}

/// The journal of the process that holds the lock.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    boot: String,
}

impl Journal {
    /// Opens the journal after undoing what an earlier, crashed run left; returns what was done, for people.
    ///
    /// # Errors
    /// The journal cannot be read or written.
    pub fn open(_lock: &lock::Lock) -> Result<(Self, Vec<String>)> {
        let path = path();
        let boot = boot_id();
        let told = recover(&path, &boot, &unowned)?.told;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("cannot open the journal {}", path.display()))?;
        Ok((Self { path, file, boot }, told))
    }

    /// A journal in a directory of its own, for tests.
    #[cfg(test)]
    pub fn scratch() -> (tempfile::TempDir, Self) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        (dir, Self { path, file, boot: boot_id() })
    }

    /// Writes an entry durably; only then may the thing be borrowed.
    ///
    /// # Errors
    /// The journal cannot be written: then nothing must be borrowed.
    pub fn write(&mut self, what: Borrowed) -> Result<()> {
        self.write_for(Owner::Run, what)
    }

    /// The same on somebody's behalf.
    ///
    /// # Errors
    /// As [`Journal::write`].
    pub fn write_for(&mut self, owner: Owner, what: Borrowed) -> Result<()> {
        let entry = Entry { boot: self.boot.clone(), owner, what };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        let path = &self.path;
        self.file
            .write_all(&line)
            .and_then(|()| self.file.sync_data())
            .with_context(|| format!("cannot write the journal {}; nothing was changed", path.display()))?;
        crate::fault::point("agent");
        Ok(())
    }

    /// Undoes everything borrowed by runs and empties the journal.
    ///
    /// # Errors
    /// Something would not go; it stays in the journal.
    pub fn settle(&mut self) -> Result<Vec<String>> {
        Ok(recover(&self.path, &self.boot, &unowned)?.told)
    }

    /// Makes over to the person what `tune apply` has changed: from now on only `tune undo` puts it back.
    ///
    /// # Errors
    /// The journal cannot be written; all is still to be put back.
    pub fn keep(self) -> Result<()> {
        hand_over(&self.path, &|entry| entry.owner == Owner::Unsettled, Owner::Manual)
    }
}

/// Entries that recovery undoes: never what a person applied.
fn unowned(entry: &Entry) -> bool {
    entry.owner != Owner::Manual
}

/// What the journal holds, oldest first.
#[derive(Debug, Default)]
pub struct Standing {
    /// Applied by hand and not undone yet.
    pub by_hand: Vec<Borrowed>,
    /// Of a run or a `tune` that is at work, or crashed.
    pub unowned: Vec<Borrowed>,
    /// From before the last boot.
    pub void: Vec<Borrowed>,
}

/// What the journal holds now; changes nothing.
///
/// # Errors
/// The journal cannot be read.
pub fn standing() -> Result<Standing> {
    let (entries, _) = read(&path())?;
    let boot = boot_id();
    let mut standing = Standing::default();
    for entry in entries {
        match entry.owner {
            _ if entry.boot != boot => standing.void.push(entry.what),
            Owner::Manual => standing.by_hand.push(entry.what),
            Owner::Run | Owner::Unsettled => standing.unowned.push(entry.what),
        }
    }
    Ok(standing)
}

/// How an undoing went.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Put back, the last change first.
    pub back: Vec<Borrowed>,
    /// Not put back, and why, or what else a person should know.
    pub told: Vec<String>,
    /// Whether something is not as it was: `told` says what.
    pub incomplete: bool,
}

/// Undoes what persons applied and `wanted` picks, and what a crash left.
///
/// # Errors
/// Another latido is at work, or the journal cannot be read or written.
pub fn undo_manual(wanted: &dyn Fn(&Borrowed) -> bool) -> Result<Recovery> {
    // Between two cells of a run as well nothing may change.
    let _run = lock::take("run", "tune undo")?;
    let _lock = lock::take("lock", "tune undo")?;
    let boot = boot_id();
    let picked = |entry: &Entry| entry.owner == Owner::Manual && entry.boot == boot && wanted(&entry.what);
    hand_over(&path(), &picked, Owner::Unsettled)?;
    recover(&path(), &boot, &unowned)
}

/// The journal's file.
pub fn path() -> PathBuf {
    lock::state_dir().join("journal.jsonl")
}

/// Undoes what a run left behind, where the lock is free. For the host, after its supervisor was killed.
///
/// # Errors
/// The lock is held, or the journal cannot be read.
pub fn recover_now() -> Result<Vec<String>> {
    let _lock = lock::take("lock", "recovery")?;
    Ok(recover(&path(), &boot_id(), &unowned)?.told)
}

/// Gives the picked entries another owner, all at once.
fn hand_over(path: &Path, picked: &dyn Fn(&Entry) -> bool, owner: Owner) -> Result<()> {
    let (mut entries, _) = read(path)?;
    if entries.is_empty() {
        // Opened, and nothing was to be changed.
        return rewrite(path, &entries);
    }
    if !entries.iter().any(picked) {
        return Ok(());
    }
    entries.iter_mut().filter(|entry| picked(entry)).for_each(|entry| entry.owner = owner);
    rewrite(path, &entries)?;
    crate::fault::point("agent");
    Ok(())
}

/// Undoes the entries that are wanted, the last one first, and keeps the others. Tells what a person should know.
fn recover(path: &Path, boot: &str, wanted: &dyn Fn(&Entry) -> bool) -> Result<Recovery> {
    let (entries, told) = read(path)?;
    let mut recovery = Recovery { told, ..Recovery::default() };
    let mut kept = Vec::new();
    for entry in entries.into_iter().rev() {
        if entry.boot != boot {
            let void = format!("{} is from before the last boot and void: the machine forgot it", entry.what);
            recovery.told.push(void);
        } else if !wanted(&entry) {
            kept.push(entry);
        } else {
            match entry.what.undo() {
                Ok(Past::Back) => recovery.back.push(entry.what),
                Ok(Past::Ended(processes)) => {
                    recovery.told.push(format!("ended {processes} processes of {}", entry.what));
                    recovery.back.push(entry.what);
                }
                Ok(Past::Left(why)) => {
                    recovery.told.push(why);
                    recovery.incomplete = true;
                }
                // It stays in the journal: the next latido tries again.
                Err(error) => {
                    recovery.told.push(format!("{} could not be undone: {error:#}", entry.what));
                    recovery.incomplete = true;
                    kept.push(entry);
                }
            }
            crate::fault::point("agent");
        }
    }
    kept.reverse();
    rewrite(path, &kept)?;
    Ok(recovery)
}

/// The entries of the journal, and what was wrong with it.
fn read(path: &Path) -> Result<(Vec<Entry>, Vec<String>)> {
    let text = match fs::read(path) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read the journal {}", path.display())),
    };
    let (mut entries, mut told) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str::<Entry>(line) {
            Ok(entry) => entries.push(entry),
            // A line cut by a power failure was never acted upon: writing comes first.
            Err(_) => told.push(format!("a cut line in the journal {} was dropped", path.display())),
        }
    }
    Ok((entries, told))
}

/// Replaces the journal by these entries, at once: a crash leaves the old one or the new one.
fn rewrite(path: &Path, entries: &[Entry]) -> Result<()> {
    if entries.is_empty() {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove the journal {}", path.display()))
            }
            _ => Ok(()),
        };
    }
    let mut text = Vec::new();
    for entry in entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    let next = path.with_extension("next");
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(&text)?;
        file.sync_data()?;
        fs::rename(&next, path)
    };
    write().with_context(|| format!("cannot write the journal {}", path.display()))
}

/// What became of something borrowed.
enum Past {
    /// It is as it was.
    Back,
    /// So many processes of a load had outlived it, and do so no longer.
    Ended(usize),
    /// Left alone, and why.
    Left(String),
}

impl Borrowed {
    /// Puts it back.
    fn undo(&self) -> Result<Past> {
        match self {
            Self::Load { mark, .. } => {
                let ended = end_marked(mark)?;
                // Its directory is nobody's now.
                crate::load::scratch::sweep();
                Ok(if ended == 0 { Past::Back } else { Past::Ended(ended) })
            }
            Self::Setting { tuning, root, change } => {
                let root = root.as_ref().map_or_else(Root::default, Root::new);
                Ok(match change.undo(&root)? {
                    Undone::Back => Past::Back,
                    Undone::Left(why) => Past::Left(format!("tuning {tuning}: {why}")),
                })
            }
        }
    }
}

impl Borrowed {
    /// What was put back, for people.
    pub fn put_back(&self) -> String {
        match self {
            Self::Load { .. } => format!("{self}: ended"),
            Self::Setting { tuning, change, .. } => {
                let change = change.change();
                format!("{tuning}: {}: back to {}", change.knob, change.original)
            }
        }
    }
}

impl std::fmt::Display for Borrowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Load { argv, .. } => write!(f, "the load `{}`", argv.first().map_or("load", String::as_str)),
            Self::Setting { tuning, change, .. } => write!(f, "tuning {tuning}: {}", change.change().knob),
        }
    }
}

/// Kills every process that carries the mark, until none is left (a load may be forking meanwhile). Returns how many.
///
/// # Errors
/// Some would not go (stuck in the kernel, or another user's): how many.
pub fn end_marked(mark: &str) -> Result<usize> {
    let mut ended = 0;
    // Fork storms outrun one pass; a bound keeps a process stuck in the kernel from holding us for ever.
    for _ in 0..200 {
        let found = marked(mark);
        if found.is_empty() {
            return Ok(ended);
        }
        for pid in &found {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        ended = ended.max(found.len());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    bail!("{} processes of a load would not end; look for {MARK}={mark} in /proc/*/environ", marked(mark).len())
}

/// The living processes that carry the mark.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// The kernel's name for this boot; empty where /proc does not tell, and then only entries of such a machine match.
fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_string()).unwrap_or_default()
}
