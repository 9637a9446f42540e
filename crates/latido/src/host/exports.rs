//! Runs in the formats of other tools: read, written by the one durable writer or to stdout.

use crate::{
    durable,
    output::{tell, write_out},
    store,
};
use anyhow::{Context, Result, bail, ensure};
use latido_report::{
    export::{self, Exported, Options},
    judged::JudgedRun,
};
use std::path::{Path, PathBuf};

/// A format and where it goes; `-` is stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A name that [`export::named`] knows.
    pub format: String,
    /// The file.
    pub path: PathBuf,
}

impl Wanted {
    /// Whether it goes to stdout.
    pub fn to_stdout(&self) -> bool {
        self.path == Path::new("-")
    }
}

/// `FORMAT=FILE[,FORMAT=FILE...]`.
///
/// # Errors
/// What of it is none, in words for a command line.
pub fn wanted(text: &str) -> Result<Vec<Wanted>> {
    let mut all: Vec<Wanted> = Vec::new();
    for one in text.split(',') {
        let Some((format, path)) = one.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            bail!("--export {one}: it is FORMAT=FILE, and FILE is - for stdout; `latido export` lists the formats");
        };
        if let Some(needs) = export::named(format)?.needs {
            bail!("--export {format}: it needs more than a run knows: `latido export {format} RUN {needs}`");
        }
        all.push(Wanted { format: format.into(), path: path.into() });
    }
    ensure!(all.iter().filter(|one| one.to_stdout()).count() < 2, "--export: stdout takes one format");
    Ok(all)
}

/// Writes runs in a format; what is left out is told.
///
/// # Errors
/// The format does not take the runs, or the file cannot be written.
pub fn write(runs: &[JudgedRun], wanted: &Wanted, options: Options) -> Result<()> {
    let format = export::named(&wanted.format)?;
    let written = (format.write)(&Exported { runs, source: &store::series_data, options })?;
    for what in &written.left_out {
        tell(&format!("note: {}: {what}", wanted.format));
    }
    if wanted.to_stdout() {
        let text = String::from_utf8(written.bytes).context("it is no text and cannot go to stdout")?;
        return write_out(&text).map(|_| ());
    }
    durable::replace(&wanted.path, &written.bytes)
        .with_context(|| format!("cannot write the export {}", wanted.path.display()))
}
