//! Files of a cell that are still arriving. The store keeps them apart until the record that names them is there.

use super::Draft;
use crate::durable;
use anyhow::{Result, ensure};
use latido_model::run::cell_dir;
use std::{fs::File, io::Write, path::PathBuf};

/// Names that a target's file must not take.
const RESERVED: &[&str] = &["record.json", "host.json", "infra.json"];

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

/// Refuses file names that are not plain, or that belong to the store.
///
/// # Errors
/// The refused name.
pub fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = !name.is_empty() && name.chars().all(plain) && !name.starts_with('.');
    ensure!(sound, "a cell's file cannot be named {name:?}");
    ensure!(!RESERVED.contains(&name) && !name.starts_with("checkpoint"), "{name} is the store's own file");
    Ok(())
}
