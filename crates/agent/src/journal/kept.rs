//! What persons applied, in a second place: whoever deletes the state directory takes the journal and not this.
//!
//! `applied.jsonl` in `lock::second_dir()`: the journal's lines of this boot that are a person's. It is written before a
//! change is made over to the person and struck before its line leaves the journal, so it never names more than the
//! journal does, unless the journal was lost.

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

/// Where entries stand.
#[derive(Clone, Debug)]
pub(super) struct Files {
    /// The journal.
    pub journal: PathBuf,
    /// The second record; `None` for who has no place for it.
    pub second: Option<PathBuf>,
}

/// The lines of the journal with those that it has lost.
pub(super) struct Whole {
    pub lines: Vec<Line>,
    /// Where the lost ones were found.
    pub lost: Option<PathBuf>,
}

impl Files {
    /// This user's.
    pub fn usual() -> Self {
        let second = lock::second_dir().map(|dir| dir.join("applied.jsonl"));
        Self { journal: lock::state_dir().join("journal.jsonl"), second }
    }

    /// What persons applied in this boot, oldest first; nothing where somebody else could have written it.
    fn kept(&self, boot: &str) -> Vec<Entry> {
        let Some(path) = self.second.as_deref().filter(|_| self.is_ours()) else { return Vec::new() };
        let of_this_boot = |line| match line {
            Line::Entry(entry) => Some(entry).filter(|entry: &Entry| entry.boot == boot),
            Line::Unreadable(_) => None,
        };
        read(path).unwrap_or_default().0.into_iter().filter_map(of_this_boot).collect()
    }

    /// Whether nobody else can have written the second record.
    fn is_ours(&self) -> bool {
        self.second.as_deref().and_then(Path::parent).is_some_and(|dir| lock::trusted(dir).is_ok())
    }

    /// The journal, and what it lacks of what is kept. What is kept stands in its order before the rest.
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

    /// Writes what the journal has lost of what persons applied into it again; tells so.
    pub fn mend(&self, boot: &str) -> Result<Option<String>> {
        let whole = self.whole(boot)?;
        let Some(second) = whole.lost else { return Ok(None) };
        rewrite(&self.journal, &whole.lines)?;
        Ok(Some(format!(
            "the journal {} was lost: what was applied by hand stands in it again, from {}",
            self.journal.display(),
            second.display()
        )))
    }

    /// Keeps these as well; durably, and before they are the person's.
    ///
    /// # Errors
    /// There is no place for it, or none that is ours alone: only the journal has them.
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
    /// It cannot be written: what was put back would be put back again.
    pub fn strike(&self, boot: &str, gone: &[Borrowed]) -> Result<()> {
        let Some(path) = &self.second else { return Ok(()) };
        let mut kept = self.kept(boot);
        let before = kept.len();
        for what in gone {
            if let Some(at) = kept.iter().rposition(|entry| entry.what == *what) {
                kept.remove(at);
            }
        }
        // What is from before the last boot goes as well.
        let void = before == 0 && self.is_ours() && fs::symlink_metadata(path).is_ok();
        if kept.len() == before && !void {
            return Ok(());
        }
        let empty = kept.is_empty();
        rewrite(path, &kept.into_iter().map(Line::Entry).collect::<Vec<_>>())?;
        if empty && let Some(dir) = path.parent() {
            // Others may have something in it.
            let _: io::Result<()> = fs::remove_dir(dir);
        }
        Ok(())
    }
}
