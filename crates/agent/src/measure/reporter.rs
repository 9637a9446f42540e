//! The measuring process's voice: progress and records on its stream, their files in the spool.

use super::series::File;
use anyhow::{Context, Result, ensure};
use latido_model::{
    protocol::{Progress, Writer},
    record::{Record, Series},
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{Stdout, stdout},
    path::{Path, PathBuf},
};

/// What the measuring process tells its supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Told {
    /// How the cell goes.
    Progress(Progress),
    /// The result, or a checkpoint of it.
    Record {
        /// Without what only the supervisor knows.
        record: Box<Record>,
        /// Names and lengths of its files.
        files: Vec<(String, u64)>,
        /// Their directory in the spool.
        place: String,
    },
    /// Why there is no record.
    Error {
        /// What happened and what to do.
        message: String,
    },
    /// Nothing follows.
    End,
}

/// The most that a measurement may write, in bytes: what lies in a spool in memory is taken from what is measured.
pub const QUOTA: u64 = 4 << 30;

/// Writes the stream to the supervisor, and files to the spool.
pub struct Reporter {
    out: Writer<Stdout>,
    spool: PathBuf,
    records: u32,
    /// Bytes written so far, those of checkpoints that are gone again included.
    written: u64,
}

impl Reporter {
    /// With a spool of its own.
    pub fn new(spool: &Path) -> Self {
        Self { out: Writer::new(stdout()), spool: spool.into(), records: 0, written: 0 }
    }

    /// How the cell goes.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn progress(&mut self, progress: Progress) -> Result<()> {
        self.out.send(&Told::Progress(progress))
    }

    /// A record with its series and their files.
    ///
    /// # Errors
    /// The supervisor is gone, or the spool is full.
    pub fn record(&mut self, mut record: Record, parts: Vec<(Series, Vec<File>)>) -> Result<()> {
        self.records += 1;
        let place = self.records.to_string();
        let dir = self.spool.join(&place);
        fs::create_dir(&dir).with_context(|| format!("cannot write to the spool {}", dir.display()))?;
        let mut files = Vec::new();
        for (series, own) in parts {
            for (name, bytes) in own {
                self.written += bytes.len() as u64;
                ensure!(self.written <= QUOTA, "the measurement wrote more than {} GiB", QUOTA >> 30);
                let path = dir.join(&name);
                fs::write(&path, &bytes).with_context(|| format!("cannot write {} of the spool", path.display()))?;
                files.push((name, bytes.len() as u64));
            }
            record.series.push(series);
        }
        self.out.send(&Told::Record { record: Box::new(record), files, place })?;
        crate::fault::point("measure");
        Ok(())
    }

    /// Nothing follows.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn end(&mut self, error: Option<String>) -> Result<()> {
        if let Some(message) = error {
            self.out.send(&Told::Error { message })?;
        }
        self.out.send(&Told::End)
    }
}
