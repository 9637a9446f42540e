//! The files that are imported: as they were named, and those that lie in directories.

use crate::store;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The largest file that is read into memory.
const LARGEST: u64 = 16 << 30;

/// The most files of one import: a run has no more cells.
const MOST: usize = latido_model::run::bounds::MOST_CELLS;

/// How deep directories are looked through.
const DEEP: usize = 8;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where.
    pub path: PathBuf,
    /// Whether a person named it; else it lies in a directory that they named.
    pub named: bool,
}

/// All files, those of a directory by their names.
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
        // Reading it as a file says why.
        found.push(Found { path: dir.to_owned(), named: true });
        return;
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // No link is followed: one may lead back.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_file() {
            found.push(Found { path: entry.path(), named: false });
        } else if kind.is_dir() && deep > 0 {
            below(&entry.path(), deep - 1, found);
        }
    }
}

/// The bytes of a file.
///
/// # Errors
/// It is none, or cannot be read.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    store::bytes(path, LARGEST)
}

/// A name under which a copy is kept: letters, digits, `.`, `-` and `_` of the file's own, no dot in front.
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
