//! Files of a cell that are still coming: kept apart until the record that names them is there.

use super::{Draft, write::check_name};
use crate::durable;
use anyhow::Result;
use latido_model::run::cell_dir;
use std::{fs::File, io::Write, path::PathBuf};

/// One file on its way.
#[derive(Debug)]
pub struct Incoming {
    file: File,
    path: PathBuf,
}

impl Draft {
    /// Begins a file of a begun cell.
    ///
    /// # Errors
    /// A name that is not plain or is one of the store's own; the store cannot be written.
    pub fn receive(&self, number: usize, name: &str) -> Result<Incoming> {
        check_name(name)?;
        let dir = self.incoming(number);
        durable::make_dirs(&dir)?;
        let path = dir.join(name);
        Ok(Incoming { file: durable::create(&path)?, path })
    }

    /// Where files of a cell are until their record is there.
    pub(super) fn incoming(&self, number: usize) -> PathBuf {
        cell_dir(&self.dir, number).join(".incoming")
    }
}

impl Incoming {
    /// The next bytes.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).or_else(|error| durable::failed(error, "writing", &self.path))
    }

    /// It is whole: on the disk before the record that names it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn keep(self) -> Result<()> {
        self.file.sync_all().or_else(|error| durable::failed(error, "writing", &self.path))
    }
}
