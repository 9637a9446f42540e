//! What users applied by hand, in a second place: deleting the state directory removes the journal but not this.
//!
//! `applied.jsonl` in `lock::second_dir()` contains the journal's lines of this boot that belong to a user. latido writes it before it
//! hands a change over to the user, and strikes an entry before its line leaves the journal. So it never names more than the journal does,
//! unless the journal was lost.

use super::{
    Borrowed, Custody,
    entries::{Entry, Line, read, rewrite},
    lock,
};
use anyhow::{Context, Result};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The files that contain entries.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// The journal.
    pub journal: PathBuf,
    /// The second record; `None` for a user who has no place for it.
    pub second: Option<PathBuf>,
}

/// The lines of the journal, including those that it has lost.
pub(super) struct Whole {
    pub lines: Vec<Line>,
    /// The file from which the lost lines come, if any are lost.
    pub lost: Option<PathBuf>,
}

impl Files {
    /// Returns the files of this user.
    pub fn usual() -> Self {
        let second = lock::second_dir().map(|dir| dir.join("applied.jsonl"));
        Self { journal: lock::state_dir().join("journal.jsonl"), second }
    }

    /// Returns what users applied in this boot, oldest first; nothing where another user could have written it.
    fn kept(&self, boot: &str) -> Vec<Entry> {
        let Some(path) = self.second.as_deref().filter(|_| self.is_ours()) else { return Vec::new() };
        let of_this_boot = |line| match line {
            Line::Entry(entry) => Some(entry).filter(|entry: &Entry| entry.boot == boot),
            Line::Unreadable(_) => None,
        };
        read(path).unwrap_or_default().0.into_iter().filter_map(of_this_boot).collect()
    }

    /// Whether no other user can have written the second record.
    fn is_ours(&self) -> bool {
        self.second.as_deref().and_then(Path::parent).is_some_and(|dir| lock::trusted(dir).is_ok())
    }

    /// Returns the journal's lines, and the kept entries that it lacks. The kept entries come first, in their order.
    pub fn whole(&self, boot: &str) -> Result<Whole> {
        let there = read(&self.journal)?.0;
        let mut rest = there.clone();
        let mut lines = Vec::new();
        let mut lost = false;
        for entry in self.kept(boot) {
            let same =
                |line: &Line| matches!(line, Line::Entry(other) if other.boot == boot && other.what == entry.what);
            match rest.iter().position(same) {
                Some(at) => lines.push(rest.remove(at)),
                None => {
                    lost = true;
                    lines.push(Line::Entry(entry));
                }
            }
        }
        if !lost {
            return Ok(Whole { lines: there, lost: None });
        }
        lines.append(&mut rest);
        Ok(Whole { lines, lost: self.second.clone() })
    }

    /// Restores lost entries of users in the journal. Returns a message if there were any.
    pub fn mend(&self, boot: &str) -> Result<Option<String>> {
        let whole = self.whole(boot)?;
        let Some(second) = whole.lost else { return Ok(None) };
        rewrite(&self.journal, &whole.lines)?;
        Ok(Some(format!(
            "the journal {} was lost: latido restored its entries for what was applied by hand from {}",
            self.journal.display(),
            second.display()
        )))
    }

    /// Keeps these entries too: durably, and before they belong to the user.
    ///
    /// # Errors
    /// There is no place for them, or another user could write to it. Then only the journal has them.
    pub fn keep(&self, boot: &str, new: impl Iterator<Item = Entry>) -> Result<()> {
        let path = self.second.as_deref().context("there is no home directory")?;
        let dir = path.parent().unwrap_or(Path::new("/"));
        lock::make(dir)?;
        let new = new.map(|entry| Entry { owner: Custody::Manual, ..entry });
        let lines: Vec<Line> = self.kept(boot).into_iter().chain(new).map(Line::Entry).collect();
        rewrite(path, &lines)
    }

    /// Strikes out what leaves the journal.
    ///
    /// # Errors
    /// The file cannot be written. What is restored now would be restored again later.
    pub fn strike(&self, boot: &str, gone: &[Borrowed]) -> Result<()> {
        let Some(path) = &self.second else { return Ok(()) };
        let mut kept = self.kept(boot);
        let before = kept.len();
        for what in gone {
            if let Some(at) = kept.iter().rposition(|entry| entry.what == *what) {
                kept.remove(at);
            }
        }
        // A record from an earlier boot is removed too.
        let void = before == 0 && self.is_ours() && fs::symlink_metadata(path).is_ok();
        if kept.len() == before && !void {
            return Ok(());
        }
        let empty = kept.is_empty();
        rewrite(path, &kept.into_iter().map(Line::Entry).collect::<Vec<_>>())?;
        if empty && let Some(dir) = path.parent() {
            // The directory may contain files of others.
            let _: io::Result<()> = fs::remove_dir(dir);
        }
        Ok(())
    }
}
