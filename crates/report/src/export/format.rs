//! What a format is, and what it is written from.

use crate::judged::JudgedRun;
use anyhow::Result;
use latido_model::run::SeriesSource;

/// A format that other tools read.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its name on the command line: `junit`.
    pub name: &'static str,
    /// The extension of its files, without the point.
    pub ending: &'static str,
    /// The option that the format cannot do without, and what this option takes: no run contains it.
    pub needs: Option<&'static str>,
    /// Its contents, and who reads them.
    pub about: &'static str,
    /// Writes it.
    pub write: Writer,
}

/// A file of a directory: its name there, and its contents.
pub type Named = (&'static str, Written);

/// How a format is written.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// One file.
    File(fn(&Exported) -> Result<Written>),
    /// One file of signals for the reader of a console. On stdout, only this file may look like signals.
    Signals(fn(&Exported) -> Result<Written>),
    /// Several files in one directory, each with its name there, in the order in which they must be written.
    Directory(fn(&Exported) -> Result<Vec<Named>>),
    /// This build cannot write it; the sentence names one that can.
    Absent(&'static str),
}

/// A file's bytes, and what the file leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The whole file; text is UTF-8.
    pub bytes: Vec<u8>,
    /// What was measured but is not in the file, one sentence each. The user sees them, because no file has room for them.
    pub left_out: Vec<String>,
}

impl Written {
    /// Wraps text that leaves nothing out.
    pub fn all(text: String) -> Self {
        Self { bytes: text.into_bytes(), left_out: Vec::new() }
    }
}

/// Judged runs with the data next to their records.
pub struct Exported<'a> {
    /// The runs, oldest first.
    pub runs: &'a [JudgedRun],
    /// Their samples.
    pub source: &'a dyn SeriesSource,
    /// What the user requested in addition.
    pub options: Options,
}

/// Values that some formats need and no run contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// KCIDB: the build that was tested, `origin:id`.
    pub build: Option<String>,
    /// KCIDB: who submits, with characters `a` to `z`, `0` to `9` and `_`.
    pub origin: String,
    /// Otava: what was measured, such as the hash of a commit; the run's id if absent.
    pub commit: Option<String>,
    /// Formats with one distribution: the number of the cell.
    pub cell: Option<usize>,
    /// cyclictest and rt-tests: the number of bins of 1 us.
    pub bins: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { build: None, origin: "latido".into(), commit: None, cell: None, bins: 1000 }
    }
}
