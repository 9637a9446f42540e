//! The files of an import: those that the user names, and those in directories.

use crate::store;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The largest file that latido reads into memory, bytes.
const LARGEST: u64 = 16 << 30;

/// The most files of one import: a run has no more cells than this.
const MOST: usize = latido_model::run::bounds::MOST_CELLS;

/// How many levels of directories latido searches.
const DEEP: usize = 8;

/// A file of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Whether the user named the file; else it is in a directory that the user named.
    pub named: bool,
}

/// Returns all files. Those of a directory are ordered by name.
pub(super) fn all(paths: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => below(path, DEEP, &mut found),
            false => found.push(Found { path: path.clone(), named: true }),
        }
    }
    found.truncate(MOST);
    found
}

fn below(dir: &Path, deep: usize, found: &mut Vec<Found>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        // Reading it later as a file reports the error.
        found.push(Found { path: dir.to_owned(), named: true });
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // Links are not followed: a link may lead back.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_file() {
            found.push(Found { path: entry.path(), named: false });
        } else if kind.is_dir() && deep > 0 {
            below(&entry.path(), deep - 1, found);
        }
    }
}

/// Reads the bytes of a file.
///
/// # Errors
/// It is not a file, or cannot be read.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    store::bytes(path, LARGEST)
}

/// Returns a name for the stored copy: letters, digits, `.`, `-` and `_` of the file's name, and no leading dot.
pub(super) fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let name: String = name.trim_start_matches('.').chars().take(100).collect();
    if name.is_empty() { "file".into() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_kept_plain() {
        let names = ["../../etc/passwd", "a\nb\x1b[2J.hist", "...", "é.json", &"x".repeat(300)].map(plain_name);
        assert_eq!(names[..4], ["_.._etc_passwd", "a_b__2J.hist", "file", "_.json"]);
        assert_eq!(names[4].len(), 100);
    }
}
