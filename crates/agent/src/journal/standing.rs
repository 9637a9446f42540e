//! What stands in the journal now, for people and records.

use super::{Borrowed, Custody, boot_id, entries::Line, kept::Files, lock};
use crate::rights;
use anyhow::{Context, Result};
use std::path::PathBuf;

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
    /// The journal has lost some of what is applied by hand: it stands here alone.
    pub lost: Option<PathBuf>,
}

/// What the journal holds now; changes nothing.
///
/// # Errors
/// The journal cannot be read, or somebody else could have written it.
pub fn standing() -> Result<Standing> {
    let (boot, dir) = (boot_id(), lock::state_dir());
    if dir.exists() {
        rights::ours(&dir).with_context(|| format!("what lies in {} cannot be trusted", dir.display()))?;
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
