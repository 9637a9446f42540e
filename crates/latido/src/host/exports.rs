//! Writes runs in the formats of other tools, through the durable writer or to stdout.

use crate::{
    durable,
    output::{tell, write_out, write_signals},
    store,
};
use anyhow::{Context, Result, bail, ensure};
use latido_report::{
    export::{self, Export, Exported, Options, Writer, Written},
    judged::JudgedRun,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A format and where it goes; `-` is stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// A name that [`export::named`] knows.
    pub format: String,
    /// The file.
    pub path: PathBuf,
}

impl Wanted {
    /// Returns whether it goes to stdout.
    pub fn to_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Checks whether this build has the format and can write it to this path.
    ///
    /// # Errors
    /// Which build has the format, or that the path must be a directory.
    pub fn can_be_written(&self, export: &Export) -> Result<()> {
        match export.write {
            Writer::Absent(why) => bail!("{why}"),
            Writer::Directory(_) if self.to_stdout() => {
                bail!("{} consists of several files and cannot go to stdout: name a directory", self.format)
            }
            Writer::Directory(_) | Writer::File(_) | Writer::Signals(_) => Ok(()),
        }
    }
}

/// Reads `FORMAT=FILE[,FORMAT=FILE...]`.
///
/// # Errors
/// Which part is invalid, worded for a command line.
pub fn wanted(text: &str) -> Result<Vec<Wanted>> {
    let mut all: Vec<Wanted> = Vec::new();
    for one in text.split(',') {
        let Some((format, path)) = one.split_once('=').filter(|(_, path)| !path.is_empty()) else {
            bail!("--export {one}: write FORMAT=FILE, where FILE - is stdout; `latido export` lists the formats");
        };
        let export = export::named(format)?;
        if let Some(needs) = export.needs {
            bail!("--export {format}: it needs more than a run records: write `latido export {format} RUN {needs}`");
        }
        let wanted = Wanted { format: format.into(), path: path.into() };
        // Refuse before the measurement, not after it.
        wanted.can_be_written(export).map_err(|error| error.context(format!("--export {one}")))?;
        all.push(wanted);
    }
    ensure!(all.iter().filter(|one| one.to_stdout()).count() < 2, "--export: only one format can go to stdout");
    Ok(all)
}

/// Writes runs in a format and reports what it leaves out. Makes the directory if it is missing.
///
/// # Errors
/// The format does not accept the runs, or a file cannot be written.
pub fn write(runs: &[JudgedRun], wanted: &Wanted, options: Options) -> Result<()> {
    let format = export::named(&wanted.format)?;
    wanted.can_be_written(format)?;
    let exported = Exported { runs, source: &store::series_data, options };
    match format.write {
        Writer::Absent(why) => bail!("{why}"),
        Writer::File(write) | Writer::Signals(write) => {
            let written = write(&exported)?;
            tell_left_out(wanted, &written);
            if wanted.to_stdout() {
                let text = String::from_utf8(written.bytes).context("it is not text and cannot go to stdout")?;
                let put = if matches!(format.write, Writer::Signals(_)) { write_signals } else { write_out };
                return put(&text).map(|_| ());
            }
            replace(&wanted.path, &written.bytes)
        }
        Writer::Directory(write) => {
            let files = write(&exported)?;
            let dir = &wanted.path;
            fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
            for (name, written) in &files {
                tell_left_out(wanted, written);
                replace(&dir.join(name), &written.bytes)?;
            }
            Ok(())
        }
    }
}

fn tell_left_out(wanted: &Wanted, written: &Written) {
    for what in &written.left_out {
        tell(&format!("note: {}: {what}", wanted.format));
    }
}

fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    durable::write_named(path, bytes).context("cannot write the export")
}
