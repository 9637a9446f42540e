//! The description of a format, and what the user states about a file because the file does not.

use crate::{doubt, imported::Imported};
use anyhow::Result;

/// One format: a file in the folder `formats` and a line in its list.
pub struct Format {
    /// Its name in `--format`: `cyclictest`, `cyclictest-json`.
    pub name: &'static str,
    /// Which tools write it, and which versions, in one line.
    pub about: &'static str,
    /// Tells from the content alone whether a file has this format. The argument is at least the first [`HEAD`] bytes, or the whole of a
    /// smaller file.
    pub recognise: fn(&[u8]) -> bool,
    /// Reads a whole file; [`Format::import`] checks it too.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub read: fn(&[u8], &Asked) -> Result<Imported>,
}

impl Format {
    /// Reads a whole file and leaves out the figures that other figures in it contradict. Reports each in a finding.
    ///
    /// # Errors
    /// What is wrong, and in which line; or no figure is credible.
    pub fn import(&self, bytes: &[u8], asked: &Asked) -> Result<Imported> {
        let mut imported = (self.read)(bytes, asked)?;
        doubt::settle(&mut imported)?;
        Ok(imported)
    }
}

/// How many bytes latido reads at least to recognise a format.
pub const HEAD: usize = 64 << 10;

/// What the user states about a file because the file does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The unit of its numbers.
    pub unit: Option<Unit>,
    /// The command line of the tool that wrote it.
    pub args: Option<String>,
    /// The CPU of each thread, in the order of threads.
    pub cpus: Vec<u32>,
    /// The name under which the user gave the file. latido recognises nothing by it.
    pub file: String,
}

/// A unit that files may omit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Returns how many ns it has.
    pub fn ns(self) -> i64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }
}
