//! Trace files, mapped: those that were asked for, and those beside records.

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

/// A longer file must have a thousandth of its bytes on the disk.
const HOLES: u64 = 1 << 30;

/// The bytes of a file, where they lie.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    mapped: Mapped,
}

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no file: a trace cannot come from a pipe, since it says at its end where things are.
    pub fn open(path: &Path) -> Result<Self> {
        // Opening must not hang on a pipe that someone left there.
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.with_context(|| format!("opening the trace {}", path.display()))?;
        let meta = file.metadata().with_context(|| format!("looking at {}", path.display()))?;
        if !meta.is_file() {
            return Err(anyhow!(
                "{} is no file: a trace is read at several places, so write it to a file first",
                path.display()
            ));
        }
        // A text is read to its end, and holes cost time and no disk. Compression by the file system saves less.
        let (bytes, stored) = (meta.len(), meta.blocks().saturating_mul(512));
        ensure!(
            bytes <= HOLES || stored >= bytes / 1_000,
            "{} is no trace: it is {bytes} bytes long, of which {stored} are stored, and the rest is holes",
            path.display()
        );
        let mapped = Mapped::of(&file).map_err(|error| anyhow!("reading {}: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), mapped })
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.mapped
    }

    /// As it was named.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// What is wrong with it, and where.
    pub fn wrong(&self, bad: &Bad) -> anyhow::Error {
        anyhow!("{}: {bad}", self.path.display())
    }
}

/// The trace of a cell.
///
/// # Errors
/// As [`Source::open`].
pub fn trace(cell: &StoredCell) -> Result<Source> {
    Source::open(&cell.dir.join(TRACE))
}
