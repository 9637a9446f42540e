//! The measuring process's voice: progress, and records with their files.

use super::series::File;
use anyhow::Result;
use latido_model::{
    protocol::{Body, EndStatus, Progress, Writer},
    record::{Record, Series},
};
use std::io::{Stdout, stdout};

/// Writes the stream to the supervisor.
pub struct Reporter {
    out: Writer<Stdout>,
}

impl Default for Reporter {
    fn default() -> Self {
        Self { out: Writer::new(stdout()) }
    }
}

impl Reporter {
    /// How the cell goes.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn progress(&mut self, progress: Progress) -> Result<()> {
        self.out.send(Body::Progress(progress))
    }

    /// A record with its series; their files go first.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn record(&mut self, mut record: Record, parts: Vec<(Series, Vec<File>)>) -> Result<()> {
        for (series, files) in parts {
            for (name, bytes) in files {
                self.out.blob(&name, &bytes)?;
            }
            record.series.push(series);
        }
        self.out.send(Body::Record(Box::new(record)))?;
        crate::fault::point("measure");
        Ok(())
    }

    /// Nothing follows.
    ///
    /// # Errors
    /// The supervisor is gone.
    pub fn end(&mut self, error: Option<String>) -> Result<()> {
        let status = if error.is_some() { EndStatus::Failed } else { EndStatus::Done };
        if let Some(message) = error {
            self.out.send(Body::Error { message })?;
        }
        self.out.send(Body::End { status })
    }
}
