//! Memory-mapped trace files: those that the user names, and those next to records.

use anyhow::{Context, Result, anyhow, ensure};
use latido_model::{record::TRACE, run::StoredCell};
use latido_sys::mapped::Mapped;
use latido_trace::bytes::Bad;
use rustix::fs::OFlags;
use std::{
    fs::OpenOptions,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// In a file longer than this, at least a thousandth of the bytes must be on the disk.
const HOLES: u64 = 1 << 30;

/// The bytes of a file, memory-mapped.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    mapped: Mapped,
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is not a regular file: a trace cannot come from a pipe, because its end contains the positions of its parts.
    pub fn open(path: &Path) -> Result<Self> {
        // Opening must not hang on a pipe at this path.
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.with_context(|| format!("opening the trace {}", path.display()))?;
        let meta = file.metadata().with_context(|| format!("looking at {}", path.display()))?;
        if !meta.is_file() {
            return Err(anyhow!(
                "{} is not a file: latido reads a trace at several positions, so write it to a file first",
                path.display()
            ));
        }
        // latido reads a text to its end, and holes cost time but no disk. A file system's compression does not save this much.
        let (bytes, stored) = (meta.len(), meta.blocks().saturating_mul(512));
        ensure!(
            bytes <= HOLES || stored >= bytes / 1_000,
            "{} is not a trace: it is {bytes} bytes long, of which {stored} are stored, and the rest is holes",
            path.display()
        );
        let mapped = Mapped::of(&file).map_err(|error| anyhow!("reading {}: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), mapped })
    }

    /// Returns all bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.mapped
    }

    /// Returns the path as the user wrote it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Words what is wrong with the file, and where.
    pub fn wrong(&self, bad: &Bad) -> anyhow::Error {
        anyhow!("{}: {bad}", self.path.display())
    }
}

/// Opens the trace of a cell.
///
/// # Errors
/// As [`Source::open`].
pub fn trace(cell: &StoredCell) -> Result<Source> {
    Source::open(&cell.dir.join(TRACE))
}
