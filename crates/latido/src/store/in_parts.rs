//! Cells that were cut and then measured further: keeps each measured piece as a part, and reads all parts again.

use super::{
    Draft,
    files::json,
    stored::{numbered_parts, series_data, state, strays},
};
use crate::durable;
use anyhow::Result;
use latido_model::{
    record::{HostFacts, Record},
    run::{
        CHECKPOINTS, CellState, InfraNote, PART_NEW, SCHEMA, StoredCell, cell_dir,
        parts::{self, Part},
    },
};
use std::path::PathBuf;

/// Returns a cell with its parts: those in `earlier`, and the record at the cell's usual place.
pub(super) fn cell(asked: StoredCell, earlier: Vec<PathBuf>, problems: &mut Vec<String>) -> StoredCell {
    let top = asked.dir.clone();
    let mut all: Vec<Part> = Vec::new();
    for place in earlier.into_iter().chain([top]) {
        let is_top = place == asked.dir;
        let (state, dir, cut) = state(place.clone(), problems);
        match &state {
            CellState::Measured(_) => {}
            CellState::Infra(why) => {
                problems.push(format!("{}: {why}", place.display()));
                continue;
            }
            _ if is_top => continue,
            _ => {
                problems.push(format!("{}: a part without a record", place.display()));
                continue;
            }
        }
        let host = place.join("host.json");
        let host = host.exists().then(|| json::<HostFacts>(&host, 0, problems)).and_then(Result::ok);
        let reason = json_reason(&place, problems);
        if is_top {
            // A part contains its reason. For the last one, latido reports it as for any checkpoint.
            problems.extend(cut);
        }
        let measured: Vec<&Record> = all.iter().filter_map(|part| part.cell.record()).collect();
        let own = match measured.is_empty() {
            true => Some(asked.cell.clone()),
            false => parts::rest(&asked.cell, &asked.measurand, &measured),
        };
        let cell = StoredCell {
            number: asked.number,
            dir,
            cell: own.unwrap_or_else(|| asked.cell.clone()),
            measurand: asked.measurand.clone(),
            written: asked.written,
            state,
            host,
            parts: Vec::new(),
        };
        strays(&cell, problems);
        all.push(Part { cell, cut: reason });
    }
    match all.len() {
        0 => asked,
        // Nothing was measured after this part yet, so it counts like a checkpoint.
        1 => all.remove(0).cell,
        _ => match parts::pooled(&asked.cell, &all, &series_data) {
            Ok(record) => StoredCell { state: CellState::Measured(Box::new(record)), parts: all, ..asked },
            Err(error) => {
                let why = format!("its parts cannot be pooled: {error:#}");
                problems.push(format!("{}: {why}", asked.dir.display()));
                StoredCell { state: CellState::Infra(why), ..asked }
            }
        },
    }
}

/// Returns why the record in this directory was cut, if the host noted it.
fn json_reason(place: &std::path::Path, problems: &mut Vec<String>) -> Option<String> {
    let path = place.join("infra.json");
    path.exists().then(|| json::<InfraNote>(&path, SCHEMA, problems).ok()).flatten().map(|note| note.reason)
}

impl Draft {
    /// Makes the measured piece of a cell a part, so that the rest can be measured. An interrupted call can be repeated: each step leaves
    /// the measured record where a reader finds it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(super) fn keep_part(&self, number: usize) -> Result<()> {
        let cell = cell_dir(&self.dir, number);
        let part = parts::dir(&cell, numbered_parts(&cell).len() + 1);
        let new = cell.join(PART_NEW);
        let entries = || -> Result<Vec<PathBuf>> {
            let read = std::fs::read_dir(&cell).or_else(|error| durable::failed(error, "reading", &cell))?;
            Ok(read.flatten().map(|entry| entry.path()).collect())
        };
        let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|what| what.is_file());
        let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if cell.join("record.json").exists() {
            if !durable::is_dir(&new) {
                durable::remove(&new)?;
                durable::make_dir(&new)?;
            }
            // The record comes last: until then it counts at its old place.
            let mut files: Vec<PathBuf> = entries()?.into_iter().filter(|path| is_file(path)).collect();
            files.sort_by_key(|path| name(path) == "record.json");
            for path in files {
                durable::rename(&path, &new.join(name(&path)))?;
            }
        } else if !new.join("record.json").exists() {
            let Some(place) = CHECKPOINTS
                .iter()
                .map(|name| cell.join(name))
                .find(|dir| durable::is_dir(dir) && dir.join("record.json").exists())
            else {
                // The part is already in place.
                return self.clear_beside_parts(number);
            };
            let reason = cell.join("infra.json");
            if reason.exists() {
                durable::rename(&reason, &place.join("infra.json"))?;
            }
            durable::remove(&new)?;
            durable::rename(&place, &new)?;
        }
        durable::rename(&new, &part)?;
        self.clear_beside_parts(number)
    }

    /// Removes what an attempt without a measurement left behind.
    fn clear_beside_parts(&self, number: usize) -> Result<()> {
        let cell = cell_dir(&self.dir, number);
        let kept = numbered_parts(&cell);
        for entry in std::fs::read_dir(&cell).into_iter().flatten().flatten() {
            if !kept.contains(&entry.path()) {
                durable::remove(&entry.path())?;
            }
        }
        Ok(())
    }
}
