//! Single files of a run, each bounded: opening one never hangs, and none fills the memory.

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

/// The largest `record.json` read: 8192 threads stay below.
const MAX_JSON: u64 = 32 << 20;

/// The largest `plan.toml` or other text read.
const MAX_PLAN: u64 = 1 << 20;

/// The most of a text beside a record: a line for each of some million events.
const MAX_TEXT: u64 = bounds::MOST_FILE;

/// The largest file of a series read.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// A run's `run.json`.
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

/// The text of a run's `plan.toml`.
///
/// # Errors
/// There is none that can be read.
pub fn plan_text(dir: &Path) -> Result<String> {
    Ok(String::from_utf8(bytes(&dir.join("plan.toml"), MAX_PLAN)?)?)
}

/// The text of a small file beside a cell's record.
///
/// # Errors
/// There is none that can be read.
pub fn text_beside(cell: &StoredCell, name: &str) -> Result<String> {
    Ok(String::from_utf8(bytes(&cell.dir.join(name), MAX_TEXT)?)?)
}

/// Reads a regular file of at most `limit` bytes. Opening must not hang on a pipe that someone left there.
///
/// # Errors
/// There is none that can be read.
pub fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let open = || -> std::io::Result<(File, std::fs::Metadata)> {
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let what = file.metadata()?;
        Ok((file, what))
    };
    let (file, what) = open().with_context(|| format!("reading {}", path.display()))?;
    ensure!(what.is_file(), "{}: not a file", path.display());
    ensure!(what.len() <= limit, "{}: {} bytes, more than the {limit} of any sound one", path.display(), what.len());
    // Room for all and one more: so that its end is seen in one reading.
    let mut bytes = Vec::new();
    let _ = bytes.try_reserve_exact(usize::try_from(what.len()).unwrap_or(0).saturating_add(1));
    file.take(limit).read_to_end(&mut bytes).with_context(|| format!("reading {}", path.display()))?;
    Ok(bytes)
}

/// Reads a JSON file that keeps within the bounds of its kind.
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
        problems.push(format!("{}: keys that this version does not know, left out: {keys}", path.display()));
    }
    Ok(value)
}
