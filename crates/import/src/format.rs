//! What a format is, and what a person says of a file since the file does not.

use crate::{doubt, imported::Imported};
use anyhow::Result;

/// One format: a file of the folder `formats` and a line in its list.
pub struct Format {
    /// As `--format` names it: `cyclictest`, `cyclictest-json`.
    pub name: &'static str,
    /// Which tools write it, and which versions, in one line.
    pub about: &'static str,
    /// Whether a file is of this format, by its content alone: at least its first [`HEAD`] bytes, all of a smaller one.
    pub recognise: fn(&[u8]) -> bool,
    /// Reads a whole file; [`Format::import`] checks it too.
    ///
    /// # Errors
    /// What is wrong, and in which line.
    pub read: fn(&[u8], &Asked) -> Result<Imported>,
}

impl Format {
    /// Reads a whole file and leaves out the figures that others in it contradict: each is stated in a finding.
    ///
    /// # Errors
    /// What is wrong, and in which line; or no figure can be believed.
    pub fn import(&self, bytes: &[u8], asked: &Asked) -> Result<Imported> {
        let mut imported = (self.read)(bytes, asked)?;
        doubt::settle(&mut imported)?;
        Ok(imported)
    }
}

/// So many bytes at least are looked at to recognise a format.
pub const HEAD: usize = 64 << 10;

/// What a person says of a file, since the file does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The unit of its numbers.
    pub unit: Option<Unit>,
    /// The command line of the tool that wrote it.
    pub args: Option<String>,
    /// The CPU of each thread, in the order of threads.
    pub cpus: Vec<u32>,
    /// The name by which the file was given: nothing is recognised by it.
    pub file: String,
}

/// A unit that files may leave unsaid.
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
    /// How many ns it has.
    pub fn ns(self) -> i64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }
}
