//! What a format is, and what it is made from.

use crate::judged::JudgedRun;
use anyhow::Result;
use latido_model::run::SeriesSource;

/// A format that other tools read.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// As the command line asks for it: `junit`.
    pub name: &'static str,
    /// How its files end, without the point.
    pub ending: &'static str,
    /// The option without which it cannot be written, and what that takes: nothing of a run tells it.
    pub needs: Option<&'static str>,
    /// What is in it, and who reads it.
    pub about: &'static str,
    /// Writes it.
    pub write: Writer,
}

/// A file of a directory: its name there, and what is in it.
pub type Named = (&'static str, Written);

/// What a format is written as.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// One file.
    File(fn(&Exported) -> Result<Written>),
    /// One file of signals to who reads a console: on stdout it may look like them, as nothing else may.
    Signals(fn(&Exported) -> Result<Written>),
    /// Several in one directory, each with its name there, in the order in which they are to be written.
    Directory(fn(&Exported) -> Result<Vec<Named>>),
    /// Not by this build; the sentence says which one does.
    Absent(&'static str),
}

/// A file's bytes, and what they leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// All of the file; text is UTF-8.
    pub bytes: Vec<u8>,
    /// What was measured and is not in it, one sentence each: for the person who asked, since no file has room for it.
    pub left_out: Vec<String>,
}

impl Written {
    /// Text that leaves nothing out.
    pub fn all(text: String) -> Self {
        Self { bytes: text.into_bytes(), left_out: Vec::new() }
    }
}

/// Judged runs with what lies beside their records.
pub struct Exported<'a> {
    /// The runs, oldest first.
    pub runs: &'a [JudgedRun],
    /// Their samples.
    pub source: &'a dyn SeriesSource,
    /// What was asked for besides.
    pub options: Options,
}

/// What some formats must be told, since no run knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// KCIDB: the build that was tested, `origin:id`.
    pub build: Option<String>,
    /// KCIDB: who submits, of `a` to `z`, `0` to `9` and `_`.
    pub origin: String,
    /// Otava: what was measured, such as the hash of a commit; the run's id where it is absent.
    pub commit: Option<String>,
    /// Formats of one distribution: the number of the cell.
    pub cell: Option<usize>,
    /// cyclictest and rt-tests: how many bins of 1 us.
    pub bins: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { build: None, origin: "latido".into(), commit: None, cell: None, bins: 1000 }
    }
}
