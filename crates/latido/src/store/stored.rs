//! The contents of the directory of a cell or of a part: its record, and the data next to it.

use super::files::{MAX_FILE, bounded, bytes, json};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    record::{self, Outcome, Series},
    run::{CHECKPOINTS, CellState, InfraNote, PART_NEW, SCHEMA, SeriesData, StoredCell, bounds, codec, parts},
};
use std::path::{Path, PathBuf};

/// Reads the data of one series from the files next to its record.
///
/// # Errors
/// A file that is missing, too large or broken, with its path.
pub fn series_data(cell: &StoredCell, series: &Series) -> Result<SeriesData> {
    if !cell.parts.is_empty() {
        return parts::data(series, &cell.parts, &series_data);
    }
    let files = &series.files;
    Ok(SeriesData {
        blocks: file(cell, &files.blocks, codec::decode_blocks)?.unwrap_or_default(),
        largest: file(cell, &files.largest, codec::decode_largest)?.unwrap_or_default(),
        samples: file(cell, &files.samples, codec::decode_samples)?.unwrap_or_default(),
        ..distribution(cell, series)?
    })
}

/// Reads only the distribution of one series: what comparisons of many runs need, without the stored samples.
///
/// # Errors
/// As [`series_data`].
pub fn distribution(cell: &StoredCell, series: &Series) -> Result<SeriesData> {
    if !cell.parts.is_empty() {
        return parts::data(series, &cell.parts, &distribution);
    }
    let bins = file(cell, &series.files.buckets, codec::decode_bins)?.unwrap_or_default();
    Ok(SeriesData {
        histogram: match file(cell, &series.files.histogram, codec::decode_histogram)? {
            Some(histogram) => histogram,
            // For another tool's file, its bins are the distribution. Without bins there is none.
            None if series.bounds.is_some() => codec::upper_ends(&bins)?,
            None if series.count == 0 => codec::histogram()?,
            None => bail!("cell {}: {} has no stored histogram", cell.number, series.quantity),
        },
        missed: file(cell, &series.files.missed, codec::decode_histogram)?,
        blocks: Vec::new(),
        largest: Vec::new(),
        samples: Vec::new(),
        bins,
    })
}

/// Reads the distribution and the largest samples. A comparison needs these to decide which samples are due to other programs.
///
/// # Errors
/// As [`series_data`].
pub fn distribution_and_largest(cell: &StoredCell, series: &Series) -> Result<SeriesData> {
    if !cell.parts.is_empty() {
        return parts::data(series, &cell.parts, &distribution_and_largest);
    }
    let largest = file(cell, &series.files.largest, codec::decode_largest)?.unwrap_or_default();
    Ok(SeriesData { largest, ..distribution(cell, series)? })
}

fn file<T>(cell: &StoredCell, name: &Option<String>, decode: impl Fn(&[u8]) -> Result<T>) -> Result<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    // The name comes from the target and may be hostile.
    ensure!(!name.contains('/') && !name.starts_with('.'), "cell {}: a file named {name:?}", cell.number);
    let path = cell.dir.join(name);
    let bytes = bytes(&path, MAX_FILE)?;
    decode(&bytes).with_context(|| path.display().to_string()).map(Some)
}

/// Reports a record whose cell is not the requested one.
pub(super) fn strays(stored: &StoredCell, problems: &mut Vec<String>) {
    if let Some(why) = stored.record().and_then(|record| record.strays_from(&stored.cell)) {
        problems.push(format!("{}: {why}", stored.dir.join("record.json").display()));
    }
}

/// Returns the parts in place, from the first on.
pub(super) fn numbered_parts(cell: &Path) -> Vec<PathBuf> {
    (1..=parts::MOST).map(|number| parts::dir(cell, number)).take_while(|dir| dir.is_dir()).collect()
}

/// Returns the state of a cell, the directory of its files, and for a checkpoint why there is no more.
pub(super) fn state(dir: PathBuf, problems: &mut Vec<String>) -> (CellState, PathBuf, Option<String>) {
    let path = dir.join("record.json");
    if std::fs::symlink_metadata(&path).is_ok() {
        let state = match bounded(&path, record::SCHEMA, problems, bounds::record) {
            Ok(record) => CellState::Measured(Box::new(record)),
            Err(error) => {
                problems.push(format!("{error:#}"));
                CellState::Infra(format!("{error:#}"))
            }
        };
        return (state, dir, None);
    }
    let told = |path: &Path, problems: &mut Vec<String>| {
        path.exists().then(|| match json::<InfraNote>(path, SCHEMA, problems) {
            Ok(told) => told.reason,
            Err(error) => format!("{error:#}"),
        })
    };
    let infra = dir.join("infra.json");
    let reason = told(&infra, problems);
    for name in CHECKPOINTS.into_iter().chain([PART_NEW]) {
        let place = dir.join(name);
        if !place.join("record.json").exists() {
            continue;
        }
        match bounded(&place.join("record.json"), record::SCHEMA, problems, bounds::record) {
            Ok(mut record) => {
                // A record that is about to become a part keeps its own outcome.
                if name != PART_NEW {
                    record.outcome = Outcome::Checkpoint;
                }
                let cut = reason.map(|reason| format!("{}: {reason}", infra.display()));
                return (CellState::Measured(Box::new(record)), place, cut);
            }
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    (reason.map_or(CellState::Open, CellState::Infra), dir, None)
}
