//! The current content of the journal, for users and records.

use super::{Borrowed, Custody, boot_id, entries::Line, kept::Files, lock};
use crate::rights;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The entries of the journal, oldest first.
#[derive(Debug, Default)]
pub struct Standing {
    /// Applied by hand and not undone yet.
    pub by_hand: Vec<Borrowed>,
    /// Entries of a run or a `tune` that is running or has crashed.
    pub unowned: Vec<Borrowed>,
    /// From before the last boot.
    pub void: Vec<Borrowed>,
    /// Lines of this boot, or of an unknown one, that another version of latido wrote.
    pub unreadable: Vec<String>,
    /// The second record, if the journal has lost some of what is applied by hand.
    pub lost: Option<PathBuf>,
}

/// Returns the current content of the journal. It changes nothing.
///
/// # Errors
/// The journal cannot be read, or another user could have written it.
pub fn standing() -> Result<Standing> {
    let (boot, dir) = (boot_id(), lock::state_dir());
    if dir.exists() {
        rights::ours(&dir).with_context(|| format!("the content of {} cannot be trusted", dir.display()))?;
    }
    let whole = Files::usual().whole(&boot)?;
    let mut standing = Standing { lost: whole.lost, ..Standing::default() };
    for line in whole.lines {
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
