//! Reads single files of a run with limits: opening a file never hangs, and no file fills the memory.

use anyhow::{Context, Result, ensure};
use latido_model::run::{Header, Meta, SCHEMA, StoredCell, bounds, tolerant};
use rustix::fs::OFlags;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs::{File, OpenOptions},
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The largest `record.json` that latido reads, bytes: one of 8192 threads is smaller.
const MAX_JSON: u64 = 32 << 20;

/// The largest `plan.toml` that latido reads, bytes.
const MAX_PLAN: u64 = 1 << 20;

/// The largest text next to a record, bytes: one line for each of about a million events.
const MAX_TEXT: u64 = bounds::MOST_FILE;

/// The largest file of a series that latido reads, bytes.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// Reads a run's `run.json`.
pub(super) fn meta(dir: &Path) -> Result<Meta> {
    let path = dir.join("run.json");
    let bytes = bytes(&path, MAX_JSON)?;
    let read = || -> Result<Meta> {
        tolerant::schema(&bytes, SCHEMA)?;
        let meta = serde_json::from_slice::<Header>(&bytes)?.meta;
        bounds::meta(&meta)?;
        Ok(meta)
    };
    read().with_context(|| path.display().to_string())
}

/// Reads the text of a run's `plan.toml`.
///
/// # Errors
/// The file does not exist or cannot be read.
pub fn plan_text(dir: &Path) -> Result<String> {
    Ok(String::from_utf8(bytes(&dir.join("plan.toml"), MAX_PLAN)?)?)
}

/// Reads the text of a small file next to a cell's record.
///
/// # Errors
/// The file does not exist or cannot be read.
pub fn text_beside(cell: &StoredCell, name: &str) -> Result<String> {
    Ok(String::from_utf8(bytes(&cell.dir.join(name), MAX_TEXT)?)?)
}

/// Reads a regular file of at most `limit` bytes. Opening must not hang on a pipe at this path.
///
/// # Errors
/// The file does not exist, cannot be read, or is too large.
pub fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let open = || -> std::io::Result<(File, std::fs::Metadata)> {
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let what = file.metadata()?;
        Ok((file, what))
    };
    let (file, what) = open().with_context(|| format!("reading {}", path.display()))?;
    ensure!(what.is_file(), "{}: not a file", path.display());
    ensure!(
        what.len() <= limit,
        "{}: {} bytes, more than the {limit} that a valid file may have",
        path.display(),
        what.len()
    );
    // One byte more than the file, so that a single read also sees its end.
    let mut bytes = Vec::new();
    let _ = bytes.try_reserve_exact(usize::try_from(what.len()).unwrap_or(0).saturating_add(1));
    file.take(limit).read_to_end(&mut bytes).with_context(|| format!("reading {}", path.display()))?;
    Ok(bytes)
}

/// Reads a JSON file and checks the bounds of its kind.
pub(super) fn bounded<T: Serialize + DeserializeOwned>(
    path: &Path,
    schema: u32,
    problems: &mut Vec<String>,
    bounds: impl Fn(&T) -> Result<()>,
) -> Result<T> {
    let value = json(path, schema, problems)?;
    bounds(&value).with_context(|| path.display().to_string())?;
    Ok(value)
}

pub(super) fn json<T: Serialize + DeserializeOwned>(path: &Path, schema: u32, problems: &mut Vec<String>) -> Result<T> {
    let bytes = bytes(path, MAX_JSON)?;
    let (value, unknown) = tolerant::parse(&bytes, schema).with_context(|| path.display().to_string())?;
    if !unknown.is_empty() {
        let keys = unknown.join(", ");
        problems.push(format!("{}: latido ignores keys that this version does not know: {keys}", path.display()));
    }
    Ok(value)
}
