//! Baselines: names for stored runs that later runs are compared with. The directory `baselines` of the store has one file for each, which
//! contains the run's name.

use super::{files, root::find};
use crate::durable;
use anyhow::{Context, Result, bail, ensure};
use latido_model::suggest::closest;
use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The longest name, in bytes.
const LONGEST: usize = 64;
/// The largest file that latido reads, bytes.
const MOST: u64 = 4096;

fn directory(root: &Path) -> PathBuf {
    root.join("baselines")
}

/// Returns the path of a baseline's file.
fn place(root: &Path, name: &str) -> Result<PathBuf> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ensure!(
        (1..=LONGEST).contains(&name.len()) && name.bytes().all(allowed) && !name.starts_with('.'),
        "`{name}` cannot name a baseline: a name has 1 to {LONGEST} letters, digits, `-`, `_` and `.`, and does not \
         begin with a dot"
    );
    Ok(directory(root).join(name))
}

/// Gives a stored run this name. Returns the run's own name.
///
/// # Errors
/// There is no such run in the store, or the file cannot be written.
pub fn set(root: &Path, name: &str, run: &str) -> Result<String> {
    let path = place(root, name)?;
    let found = find(root, run)?;
    let id = found.file_name().and_then(|id| id.to_str()).unwrap_or_default().to_owned();
    let stored = super::runs::runs_dir(root).join(&id);
    ensure!(
        stored.is_dir() && stored.canonicalize().ok() == found.canonicalize().ok(),
        "{run} is outside the store {}: a baseline names a run of the store",
        root.display()
    );
    durable::make_dirs(&directory(root))?;
    durable::write(&path, format!("{id}\n").as_bytes())?;
    Ok(id)
}

/// Returns the run that a baseline names.
///
/// # Errors
/// There is no baseline with this name.
pub fn run(root: &Path, name: &str) -> Result<String> {
    let path = place(root, name)?;
    if !path.exists() {
        let all = all(root)?;
        let near = closest(name, all.iter().map(|(name, _)| name.as_str()));
        let hint = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        bail!("there is no baseline `{name}`{hint}; `latido baseline set {name} RUN` makes it");
    }
    let bytes = files::bytes(&path, MOST)?;
    let text = String::from_utf8(bytes).with_context(|| format!("{}: no text", path.display()))?;
    Ok(text.trim().to_owned())
}

/// Returns all baselines by name, each with its run.
///
/// # Errors
/// The directory cannot be read.
pub fn all(root: &Path) -> Result<Vec<(String, String)>> {
    let dir = directory(root);
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", dir.display())),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| place(root, name).is_ok()).collect();
    names.sort();
    names.into_iter().map(|name| Ok((name.clone(), run(root, &name)?))).collect()
}

/// Removes a baseline; its run stays.
///
/// # Errors
/// There is no baseline with this name, or its file cannot be removed.
pub fn remove(root: &Path, name: &str) -> Result<()> {
    run(root, name)?;
    durable::remove(&place(root, name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_names_a_run_of_the_store() {
        let store = tempfile::tempdir().unwrap();
        let id = "20261121T200000Z-quick-k3f9";
        let run_dir = super::super::runs::runs_dir(store.path()).join(id);
        fs::create_dir_all(&run_dir).unwrap();
        fs::write(run_dir.join("plan.toml"), "").unwrap();
        assert_eq!(all(store.path()).unwrap(), []);
        assert_eq!(set(store.path(), "good", "20261121").unwrap(), id);
        assert_eq!(run(store.path(), "good").unwrap(), id);
        assert_eq!(all(store.path()).unwrap(), [("good".to_owned(), id.to_owned())]);
        let error = run(store.path(), "god").unwrap_err().to_string();
        assert!(error.contains("did you mean `good`?") && error.contains("baseline set god"), "{error}");
        for name in ["", ".", "..", "a/b", "last:3", &"x".repeat(65)] {
            assert!(set(store.path(), name, id).unwrap_err().to_string().contains("cannot name a baseline"), "{name}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("plan.toml"), "").unwrap();
        let path = elsewhere.path().to_str().unwrap();
        assert!(set(store.path(), "far", path).unwrap_err().to_string().contains("outside the store"));
        remove(store.path(), "good").unwrap();
        assert!(remove(store.path(), "good").is_err() && run_dir.is_dir());
    }
}
