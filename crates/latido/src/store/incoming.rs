//! Files of a cell that are still arriving. The store keeps them apart until the record that names them is there.

use super::{Draft, write::check_name};
use crate::durable;
use anyhow::Result;
use latido_model::run::cell_dir;
use std::{fs::File, io::Write, path::PathBuf};

/// A file that is arriving.
#[derive(Debug)]
pub struct Incoming {
    file: File,
    path: PathBuf,
}

impl Draft {
    /// Starts a file of a started cell.
    ///
    /// # Errors
    /// The name is not plain, or belongs to the store; or the store cannot be written.
    pub fn receive(&self, number: usize, name: &str) -> Result<Incoming> {
        check_name(name)?;
        let dir = self.incoming(number);
        durable::make_dirs(&dir)?;
        let path = dir.join(name);
        Ok(Incoming { file: durable::create(&path)?, path })
    }

    /// Returns the directory of a cell's files until their record arrives.
    pub(super) fn incoming(&self, number: usize) -> PathBuf {
        cell_dir(&self.dir, number).join(".incoming")
    }
}

impl Incoming {
    /// Writes the next bytes.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).or_else(|error| durable::failed(error, "writing", &self.path))
    }

    /// Syncs the complete file: it is on disk before the record that names it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep(self) -> Result<()> {
        self.file.sync_all().or_else(|error| durable::failed(error, "writing", &self.path))
    }
}
