//! The journal of borrowed things: written and synced before anything is started or set, struck out when it is undone.
//!
//! `journal.jsonl` in the state directory. Whoever finds entries of this boot that nobody owns any more undoes them.
//! The holder has its lines in memory too: a journal that is deleted, cut or replaced is noticed and loses nothing.

mod entries;
mod group;
mod hook;
mod instance;
mod kept;
pub mod lock;
mod marked;
pub mod pulse;
mod recovery;
mod standing;
pub mod urgent;

#[cfg(test)]
mod tests;

use crate::step::Step;
use anyhow::{Context, Result, ensure};
use entries::{Entry, Line, read, rewrite};
pub use group::Group;
pub use hook::{By, Hook};
pub use instance::Instance;
use kept::Files;
pub use marked::{MARK, Marked, end_marked, mark, marked, started_as_load};
use pulse::Pulse;
pub use recovery::{Recovery, recover_now, undo_manual};
use recovery::{left_behind, put_back, recover};
use serde::{Deserialize, Serialize};
pub use standing::{Standing, standing};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::PathBuf,
};

/// On whose behalf something was borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Custody {
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
        /// The control group that holds its processes, where one can be had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<Group>,
    },
    /// A trace of our own beside the kernel's.
    Trace {
        /// The instance that holds it.
        instance: Instance,
    },
    /// An event of our own at a function of the kernel.
    Hook {
        /// How it is defined.
        hook: Hook,
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
    files: Files,
    file: File,
    boot: String,
    /// The root of the machine that is changed, where it is a fake one.
    place: Option<PathBuf>,
    /// What stands in the file, whatever becomes of that.
    lines: Vec<Line>,
    /// What somebody else has put in the file's place: it stays there, and is not ours to undo.
    foreign: Vec<Line>,
    /// How many of these are not of this process: they were there before.
    earlier: usize,
    /// How long the file is with them, in bytes.
    length: u64,
    /// A line was begun that could not be taken back: whatever follows would be lost with it.
    broken: bool,
    /// The machine, once a setting of it is to be changed: nobody else measures on it until all is put back.
    machine: Option<lock::MachineTurn>,
    /// The locks, where those that we had were deleted with the journal.
    again: Vec<lock::Lock>,
    /// What a person should know, and was not told yet.
    news: Vec<String>,
    /// Asked at every change and every undoing.
    pub pulse: Pulse,
}

impl Journal {
    /// Opens the journal after undoing what an earlier, crashed latido left of the machine `place` (of the running one:
    /// of any); what was done is in the [`Journal::news`].
    ///
    /// # Errors
    /// The journal cannot be read or written, or names what this latido cannot undo.
    pub fn open(_lock: &lock::Lock, place: Option<PathBuf>, pulse: Pulse) -> Result<Self> {
        Self::at(Files::usual(), place, pulse)
    }

    fn at(files: Files, place: Option<PathBuf>, mut pulse: Pulse) -> Result<Self> {
        let boot = boot_id();
        let mended = files.mend(&boot)?;
        let patience = &mut lock::Patience::none();
        let told =
            recover(&files, &boot, &|_, entry| left_behind(entry, place.as_ref()), &mut pulse, patience)?.settled()?;
        let told = told.into_iter().map(|told| format!("after an earlier crash: {told}"));
        let news = mended.into_iter().chain(patience.passed()).chain(told).collect();
        let lines = read(&files.journal)?.0;
        let file = opened(&files)?;
        let (earlier, length) = (lines.len(), file.metadata()?.len());
        let (broken, machine, foreign, again) = (false, None, Vec::new(), Vec::new());
        Ok(Self { files, file, boot, place, lines, foreign, earlier, length, broken, machine, again, news, pulse })
    }

    /// A journal in a directory of its own, for tests.
    #[cfg(test)]
    pub fn scratch() -> (tempfile::TempDir, Self) {
        let dir = tempfile::tempdir().unwrap();
        let files = Files { journal: dir.path().join("journal.jsonl"), second: None };
        let journal = Self::at(files, None, Pulse::none()).unwrap();
        (dir, journal)
    }

    /// From now on nothing more can be written, for tests.
    #[cfg(test)]
    pub fn fill(&mut self) {
        fs::remove_file(&self.files.journal).unwrap();
        std::os::unix::fs::symlink("/dev/full", &self.files.journal).unwrap();
        self.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    }

    /// Writes an entry durably; only then may the thing be borrowed.
    ///
    /// # Errors
    /// The journal cannot be written: then nothing must be borrowed.
    pub fn write(&mut self, what: Borrowed) -> Result<()> {
        self.write_for(Custody::Run, what)
    }

    /// The same on somebody's behalf.
    ///
    /// # Errors
    /// As [`Journal::write`].
    pub fn write_for(&mut self, owner: Custody, what: Borrowed) -> Result<()> {
        if what.is_of_this_machine() && self.machine.is_none() {
            let patience = &mut lock::Patience::none();
            self.machine = Some(lock::machine(lock::Use::Change, "changing settings", patience)?);
            self.news.extend(patience.passed());
        }
        let entry = Entry { boot: self.boot.clone(), owner, what };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        let written = self.hold_on().and_then(|()| self.append(&line));
        written.with_context(|| {
            format!("cannot write the journal {}; nothing was changed", self.files.journal.display())
        })?;
        self.lines.push(Line::Entry(entry));
        crate::fault::point("agent");
        Ok(())
    }

    /// The whole line, or nothing of it: the next one would be glued to half a line and lost.
    fn append(&mut self, line: &[u8]) -> Result<()> {
        ensure!(!self.broken, "it ends in half a line");
        if let Err(error) = self.file.write_all(line).and_then(|()| self.file.sync_data()) {
            self.broken = self.file.set_len(self.length).is_err();
            return Err(error.into());
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// What has become of the file, where it is not as we left it.
    fn lost(&self) -> Option<&'static str> {
        let Ok(own) = self.file.metadata() else { return Some("cannot be looked at") };
        match fs::metadata(&self.files.journal) {
            Err(_) => Some("was deleted"),
            Ok(there) if (there.dev(), there.ino()) != (own.dev(), own.ino()) => Some("was replaced by another file"),
            Ok(there) if there.len() < self.length => Some("was cut"),
            Ok(there) if there.len() > self.length => Some("was written by somebody else"),
            Ok(_) => None,
        }
    }

    /// Notices that the journal is lost, and says so; whether it is.
    fn notice(&mut self) -> Result<bool> {
        let Some(what) = self.lost() else { return Ok(false) };
        if !self.lines.is_empty() {
            let journal = self.files.journal.display();
            self.news.push(format!(
                "the journal {journal} {what} while it was needed: latido goes on with what it has in memory, and puts \
                 all back from there; find out who did that"
            ));
        }
        if let Some(dir) = self.files.journal.parent() {
            lock::make(dir)?;
            self.again.extend(lock::again(dir, "going on without its journal"));
        }
        self.foreign = read(&self.files.journal)?.0;
        self.foreign.retain(|line| !self.lines.contains(line));
        Ok(true)
    }

    /// A journal that is lost is written anew: what was changed must be known to others when we crash.
    fn hold_on(&mut self) -> Result<()> {
        if self.notice()? {
            self.write_out()?;
            self.file = opened(&self.files)?;
            (self.length, self.broken) = (self.file.metadata()?.len(), false);
        }
        Ok(())
    }

    fn write_out(&self) -> Result<()> {
        rewrite(&self.files.journal, &[&self.foreign[..], &self.lines[..]].concat())
    }

    /// Undoes everything borrowed by runs and empties the journal.
    ///
    /// # Errors
    /// Something would not go; it stays in the journal.
    pub fn settle(&mut self) -> Result<Vec<String>> {
        let wanted = |index: usize, entry: &Entry| {
            (index >= self.earlier && entry.owner != Custody::Manual) || left_behind(entry, self.place.as_ref())
        };
        let patience = &mut lock::Patience::none();
        let lines = self.lines.clone();
        let (kept, recovery) = put_back(&self.files, lines, &self.boot, &wanted, &mut self.pulse, patience)?;
        self.news.extend(patience.passed());
        let noticed = self.notice();
        self.lines = kept;
        noticed.and_then(|_| self.write_out())?;
        recovery.settled()
    }

    /// Makes over to the person what `tune apply` has changed: from now on only `tune undo` puts it back. What an earlier
    /// latido could not undo was not applied by anybody: it stays as it is. Returns the last news.
    ///
    /// # Errors
    /// The journal cannot be written; all is still to be put back.
    pub fn keep(mut self) -> Result<Vec<String>> {
        self.notice()?;
        let mut new = Vec::new();
        for line in self.lines.iter_mut().skip(self.earlier) {
            if let Line::Entry(entry) = line
                && entry.owner == Custody::Unsettled
            {
                entry.owner = Custody::Manual;
                new.push(entry.clone());
            }
        }
        if !new.is_empty()
            && let Err(error) = self.files.keep(&self.boot, new.into_iter())
        {
            let only = format!("only the journal {} keeps what was applied: {error:#}", self.files.journal.display());
            self.news.push(only);
        }
        crate::fault::point("agent");
        self.write_out()?;
        crate::fault::point("agent");
        Ok(self.news)
    }

    /// What a person should know and was not told yet.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }
}

/// The journal, to be appended to.
fn opened(files: &Files) -> Result<File> {
    let path = &files.journal;
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// The journal's file.
pub fn path() -> PathBuf {
    lock::state_dir().join("journal.jsonl")
}

impl Borrowed {
    /// Whether it is a setting of the running machine.
    fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::Setting { root: None, .. })
    }

    /// What was put back, for people.
    pub fn put_back(&self) -> String {
        match self {
            Self::Load { .. } => format!("{self}: ended"),
            Self::Trace { .. } | Self::Hook { .. } => format!("{self}: removed"),
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
            Self::Trace { instance } => write!(f, "the trace `{}`", instance.name()),
            Self::Hook { hook } => write!(f, "the event `{hook}`"),
            Self::Setting { tuning, change, .. } => write!(f, "tuning {tuning}: {}", change.change().knob),
        }
    }
}

/// The kernel's name for this boot; empty where /proc does not tell, and then only entries of such a machine match.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_string()).unwrap_or_default()
}
