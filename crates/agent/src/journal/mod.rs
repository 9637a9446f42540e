//! The journal of changes: latido writes and syncs an entry before it starts or sets anything, and strikes the entry out when it has undone
//! it.
//!
//! It is `journal.jsonl` in the state directory. A latido that finds entries of this boot without an owner undoes them. The latido that
//! holds the journal has its lines in memory too: it notices when the journal is deleted, cut or replaced, and loses nothing.

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

/// On whose behalf something was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Custody {
    /// A run. The next latido that finds it undoes it when the run is over.
    Run,
    /// A user, with `tune apply`. Only `tune undo` undoes it.
    Manual,
    /// A `tune apply` or `tune undo` that has not finished. It is undone like a run's entry, so that half of it never stays.
    Unsettled,
}

/// What latido applied to the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Borrowed {
    /// A load: every process with `LATIDO_LOAD=<mark>` in its environment.
    Load {
        /// The mark.
        mark: String,
        /// The command line, for messages.
        argv: Vec<String>,
        /// The control group of its processes, where one is available.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<Group>,
    },
    /// A trace of latido's in addition to the kernel's.
    Trace {
        /// The instance of tracefs.
        instance: Instance,
    },
    /// An event that latido defined at a kernel function.
    Hook {
        /// How it is defined.
        hook: Hook,
    },
    /// A change of a setting, with its original.
    Setting {
        /// The tuning that wanted it.
        tuning: String,
        /// The root of the machine, if it is a fake one.
        root: Option<PathBuf>,
        /// What is changed.
        change: Step,
    },
}

/// The journal, used by the process that holds the lock.
#[derive(Debug)]
pub struct Journal {
    files: Files,
    file: File,
    boot: String,
    /// The root of the changed machine, if it is a fake one.
    place: Option<PathBuf>,
    /// The lines of the file, kept in memory whatever happens to the file.
    lines: Vec<Line>,
    /// Lines that another program has put in the file's place. They stay there, and latido does not undo them.
    foreign: Vec<Line>,
    /// How many of `lines` were there before this process.
    earlier: usize,
    /// The length of the file with `lines`, in bytes.
    length: u64,
    /// Whether the file ends in half a line that could not be removed: any further line would be lost with it.
    broken: bool,
    /// The lock of the machine, from the first change of a setting: no other process measures until all is restored.
    machine: Option<lock::MachineTurn>,
    /// The locks that were taken again after they were deleted with the journal.
    again: Vec<lock::Lock>,
    /// Messages that the user has not received yet.
    news: Vec<String>,
    /// latido calls it at every change and every undoing.
    pub pulse: Pulse,
}

impl Journal {
    /// Opens the journal. Before, it undoes what an earlier, crashed latido left of the machine `place` (if `None`: of any machine).
    /// [`Journal::news`] reports what was done.
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

    /// Opens a journal in a separate directory, for tests.
    #[cfg(test)]
    pub fn scratch() -> (tempfile::TempDir, Self) {
        let dir = tempfile::tempdir().unwrap();
        let files = Files { journal: dir.path().join("journal.jsonl"), second: None };
        let journal = Self::at(files, None, Pulse::none()).unwrap();
        (dir, journal)
    }

    /// Makes every further write fail, for tests.
    #[cfg(test)]
    pub fn fill(&mut self) {
        fs::remove_file(&self.files.journal).unwrap();
        std::os::unix::fs::symlink("/dev/full", &self.files.journal).unwrap();
        self.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
    }

    /// Writes an entry durably. Only after that may latido apply the change.
    ///
    /// # Errors
    /// The journal cannot be written. Then latido must not apply the change.
    pub fn write(&mut self, what: Borrowed) -> Result<()> {
        self.write_for(Custody::Run, what)
    }

    /// Writes an entry for this owner, as [`Journal::write`] does.
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

    /// Appends the whole line or nothing: the next line would be joined to half a line, and both would be lost.
    fn append(&mut self, line: &[u8]) -> Result<()> {
        ensure!(!self.broken, "its last line is incomplete");
        if let Err(error) = self.file.write_all(line).and_then(|()| self.file.sync_data()) {
            self.broken = self.file.set_len(self.length).is_err();
            return Err(error.into());
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Returns what has happened to the file, if it is not as latido left it.
    fn lost(&self) -> Option<&'static str> {
        let Ok(own) = self.file.metadata() else { return Some("cannot be examined") };
        match fs::metadata(&self.files.journal) {
            Err(_) => Some("was deleted"),
            Ok(there) if (there.dev(), there.ino()) != (own.dev(), own.ino()) => Some("was replaced by another file"),
            Ok(there) if there.len() < self.length => Some("was cut"),
            Ok(there) if there.len() > self.length => Some("was written by another program"),
            Ok(_) => None,
        }
    }

    /// Notices that the journal is lost, and adds a message. Returns whether it is.
    fn notice(&mut self) -> Result<bool> {
        let Some(what) = self.lost() else { return Ok(false) };
        if !self.lines.is_empty() {
            let journal = self.files.journal.display();
            self.news.push(format!(
                "the journal {journal} {what} while latido needed it: latido continues with its copy in memory, and \
                 restores everything from there; find out which program did that"
            ));
        }
        if let Some(dir) = self.files.journal.parent() {
            lock::make(dir)?;
            self.again.extend(lock::again(dir, "continuing without its journal"));
        }
        self.foreign = read(&self.files.journal)?.0;
        self.foreign.retain(|line| !self.lines.contains(line));
        Ok(true)
    }

    /// Writes a lost journal again: if latido crashes, others must know what was changed.
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

    /// Undoes everything that runs applied, and removes it from the journal.
    ///
    /// # Errors
    /// Something could not be undone. It stays in the journal.
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

    /// Hands over to the user what `tune apply` has changed: from now on only `tune undo` restores it. What an earlier latido could not
    /// undo was not applied by a user: its owner does not change. Returns the last messages.
    ///
    /// # Errors
    /// The journal cannot be written. All changes must still be undone.
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
            let only = format!("only the journal {} lists what was applied: {error:#}", self.files.journal.display());
            self.news.push(only);
        }
        crate::fault::point("agent");
        self.write_out()?;
        crate::fault::point("agent");
        Ok(self.news)
    }

    /// Returns the messages that the user has not received yet.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }
}

/// Opens the journal for appending.
fn opened(files: &Files) -> Result<File> {
    let path = &files.journal;
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path).with_context(|| format!("cannot open {}", path.display()))
}

/// Returns the path of the journal.
pub fn path() -> PathBuf {
    lock::state_dir().join("journal.jsonl")
}

impl Borrowed {
    /// Whether it is a setting of the running machine.
    fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::Setting { root: None, .. })
    }

    /// Describes what was restored, for users.
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

/// Returns the kernel's id of this boot. It is empty where /proc does not show it: then it matches only entries of such a machine.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_string()).unwrap_or_default()
}
