//! The runs of a store, and the order in which they started. A clock may be set back, and a run's name contains only the time of a clock.
//!
//! The file `order` of the store has one line per run, added when the run starts. A run that is not in it (from a latido without this file,
//! or copied here) counts as started before those that are.

use super::files;
use crate::durable;
use anyhow::{Result, bail};
use jiff::Timestamp;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// The largest `order` file that latido reads, bytes: half a million runs.
const MAX_ORDER: u64 = 32 << 20;

/// Returns the directory that contains the runs.
pub(super) fn runs_dir(root: &Path) -> PathBuf {
    root.join("runs")
}

fn place(root: &Path) -> PathBuf {
    root.join("order")
}

/// Returns the names of everything in the store that could be a run, in ascending order. A missing store is empty.
///
/// # Errors
/// The store cannot be read.
pub(super) fn ids(root: &Path) -> Result<Vec<String>> {
    let dir = runs_dir(root);
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => bail!("reading the store {}: {error}; name another with --store DIR", dir.display()),
    };
    let mut ids: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    ids.sort();
    Ok(ids)
}

/// Notes that a run has started.
pub(super) fn begun(root: &Path, id: &str) -> Result<()> {
    // A line that a power cut truncated must not spoil the next one, so each starts on a new line.
    durable::append(&place(root), format!("\n{id}\n").as_bytes())
}

/// Returns the names of everything that could be a run, in the order in which they started.
pub(super) fn in_order(root: &Path) -> Result<Vec<String>> {
    let noted = noted(root);
    let mut ids = ids(root)?;
    // The sort is stable: runs without a note stay sorted by name, before all others.
    ids.sort_by_key(|id| noted.get(id.as_str()).copied());
    Ok(ids)
}

/// Returns the run that started last. Without any notes, the names decide, and within one second `run.json`.
pub(super) fn newest(root: &Path) -> Result<Option<String>> {
    const STAMP: usize = "20261121T200000Z".len();
    let ids = in_order(root)?;
    if let Some(last) = ids.last().filter(|last| noted(root).contains_key(*last)) {
        return Ok(Some(last.clone()));
    }
    let stamp = |id: &String| id.get(..STAMP).filter(|s| s.ends_with('Z') && s.contains('T')).map(str::to_string);
    let Some(last) = ids.iter().filter_map(stamp).max() else { return Ok(None) };
    let started = |id: &String| {
        let meta = files::meta(&runs_dir(root).join(id)).ok();
        meta.and_then(|meta| meta.started.parse().ok()).unwrap_or(Timestamp::MIN)
    };
    Ok(ids.into_iter().filter(|id| stamp(id).as_ref() == Some(&last)).max_by_key(started))
}

/// Returns the newest run with this label.
pub(super) fn labelled(root: &Path, label: &str) -> Result<Option<String>> {
    let is_it =
        |id: &&String| files::meta(&runs_dir(root).join(id)).is_ok_and(|meta| meta.label.as_deref() == Some(label));
    Ok(in_order(root)?.iter().rev().find(is_it).cloned())
}

/// Returns the position of each noted run; empty without the file.
fn noted(root: &Path) -> HashMap<String, usize> {
    let bytes = files::bytes(&place(root), MAX_ORDER).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).zip(0..).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A run that started later comes later, whatever the clock showed. Names of other things do not come between them.
    #[test]
    fn runs_are_in_the_order_in_which_they_were_begun() {
        let store = tempfile::tempdir().unwrap();
        let make = |id: &str| fs::create_dir_all(runs_dir(store.path()).join(id)).unwrap();
        let (old, future) = ("20200101T000000Z-a-0000", "20990101T000000Z-b-0000");
        let (first, second) = ("20260102T000000Z-c-0000", "20260101T000000Z-d-0000");
        make(future);
        make(old);
        assert_eq!(newest(store.path()).unwrap().as_deref(), Some(future));
        for id in [first, second] {
            make(id);
            begun(store.path(), id).unwrap();
        }
        assert_eq!(in_order(store.path()).unwrap(), [old, future, first, second]);
        assert_eq!(newest(store.path()).unwrap().as_deref(), Some(second));
        // A truncated line, then a whole one, and one of a run that no longer exists.
        durable::append(&place(store.path()), b"\n2026").unwrap();
        begun(store.path(), first).unwrap();
        begun(store.path(), "20260103T000000Z-e-0000").unwrap();
        assert_eq!(newest(store.path()).unwrap().as_deref(), Some(first));
    }
}
