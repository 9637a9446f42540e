//! The journal of borrowed things: written and synced before anything is started or set, struck out when it is undone.
//!
//! `journal.jsonl` in the state directory. Whoever finds entries of this boot that nobody owns any more undoes them.

mod entries;
mod group;
pub mod lock;
mod marked;
pub mod pulse;
mod recovery;
pub mod urgent;

#[cfg(test)]
mod tests;

use crate::step::Step;
use anyhow::{Context, Result, ensure};
use entries::{Entry, Line, hand_over, read};
pub use group::Group;
pub use marked::{MARK, end_marked, marked, started_as_load};
use pulse::Pulse;
pub use recovery::{Recovery, recover_now, undo_manual};
use recovery::{left_behind, recover};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
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
    /// The root of the machine that is changed, where it is a fake one.
    place: Option<PathBuf>,
    /// How many lines are not of this process: they were there before.
    earlier: usize,
    /// A line was begun that could not be taken back: whatever follows would be lost with it.
    broken: bool,
    /// The machine, once a setting of it is to be changed: nobody else measures on it until all is put back.
    machine: Option<lock::MachineTurn>,
    /// Asked at every change and every undoing.
    pub pulse: Pulse,
}

impl Journal {
    /// Opens the journal after undoing what an earlier, crashed latido left of the machine `place` (of the running one:
    /// of any); returns what was done, for people.
    ///
    /// # Errors
    /// The journal cannot be read or written, or names what this latido cannot undo.
    pub fn open(_lock: &lock::Lock, place: Option<PathBuf>, pulse: Pulse) -> Result<(Self, Vec<String>)> {
        Self::at(&path(), place, pulse)
    }

    fn at(path: &Path, place: Option<PathBuf>, mut pulse: Pulse) -> Result<(Self, Vec<String>)> {
        let boot = boot_id();
        let patience = &mut lock::Patience::none();
        let told =
            recover(path, &boot, &|_, entry| left_behind(entry, place.as_ref()), &mut pulse, patience)?.settled()?;
        let earlier = read(path)?.0.len();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .with_context(|| format!("cannot open the journal {}", path.display()))?;
        Ok((Self { path: path.into(), file, boot, place, earlier, broken: false, machine: None, pulse }, told))
    }

    /// A journal in a directory of its own, for tests.
    #[cfg(test)]
    pub fn scratch() -> (tempfile::TempDir, Self) {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Self::at(&dir.path().join("journal.jsonl"), None, Pulse::none()).unwrap();
        (dir, journal)
    }

    /// From now on nothing more can be written, for tests.
    #[cfg(test)]
    pub fn fill(&mut self) {
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
            self.machine = Some(lock::machine(lock::Use::Change, "changing settings", &mut lock::Patience::none())?);
        }
        let entry = Entry { boot: self.boot.clone(), owner, what };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.append(&line)
            .with_context(|| format!("cannot write the journal {}; nothing was changed", self.path.display()))?;
        crate::fault::point("agent");
        Ok(())
    }

    /// The whole line, or nothing of it: the next one would be glued to half a line and lost.
    fn append(&mut self, line: &[u8]) -> Result<()> {
        ensure!(!self.broken, "it ends in half a line");
        let end = self.file.metadata()?.len();
        if let Err(error) = self.file.write_all(line).and_then(|()| self.file.sync_data()) {
            self.broken = self.file.set_len(end).is_err();
            return Err(error.into());
        }
        Ok(())
    }

    /// Undoes everything borrowed by runs and empties the journal.
    ///
    /// # Errors
    /// Something would not go; it stays in the journal.
    pub fn settle(&mut self) -> Result<Vec<String>> {
        let wanted = |index: usize, entry: &Entry| {
            (index >= self.earlier && entry.owner != Custody::Manual) || left_behind(entry, self.place.as_ref())
        };
        recover(&self.path, &self.boot, &wanted, &mut self.pulse, &mut lock::Patience::none())?.settled()
    }

    /// Makes over to the person what `tune apply` has changed: from now on only `tune undo` puts it back. What an earlier
    /// latido could not undo was not applied by anybody: it stays as it is.
    ///
    /// # Errors
    /// The journal cannot be written; all is still to be put back.
    pub fn keep(self) -> Result<()> {
        let own = |index: usize, entry: &Entry| index >= self.earlier && entry.owner == Custody::Unsettled;
        hand_over(&self.path, &own, Custody::Manual)
    }
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
    /// Lines of this boot, or of one that is not known, that another latido wrote.
    pub unreadable: Vec<String>,
}

/// What the journal holds now; changes nothing.
///
/// # Errors
/// The journal cannot be read.
pub fn standing() -> Result<Standing> {
    let (lines, _) = read(&path())?;
    let boot = boot_id();
    let mut standing = Standing::default();
    for line in lines {
        let void = line.boot().is_some_and(|of| of != boot);
        match line {
            Line::Entry(entry) if void => standing.void.push(entry.what),
            Line::Entry(entry) if entry.owner == Custody::Manual => standing.by_hand.push(entry.what),
            Line::Entry(entry) => standing.unowned.push(entry.what),
            Line::Unreadable(_) if void => {}
            Line::Unreadable(bytes) => {
                standing.unreadable.push(String::from_utf8_lossy(&bytes).escape_debug().to_string());
            }
        }
    }
    Ok(standing)
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

/// The kernel's name for this boot; empty where /proc does not tell, and then only entries of such a machine match.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_string()).unwrap_or_default()
}
