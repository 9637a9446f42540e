//! Reads runs. A file that is truncated, from elsewhere, too large or newer is reported, and the rest is read.

use super::{
    files::{bounded, json, meta},
    in_parts, runs,
    stored::{numbered_parts, state, strays},
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    plan::{Order, Plan},
    quantity::{Measurand, Quantity},
    record::{HostFacts, Record},
    run::{CellState, Manifest, Meta, Planned, Run, SCHEMA, StoredCell, bounds, cell_dir},
};
use rustix::fs::{FlockOperation, flock};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::File,
    path::{Path, PathBuf},
};

/// The runs of a store, by their `run.json` alone.
#[derive(Debug, Default)]
pub struct Listing {
    /// Directory and `run.json` of each run: in [`list_runs`] the newest first, in [`list_runs_in`] the oldest first.
    pub runs: Vec<(PathBuf, Meta)>,
    /// What in the store is not a readable run, one sentence each.
    pub problems: Vec<String>,
}

/// Returns the directories of everything in a store that could be a run, the newest first.
///
/// # Errors
/// The store itself cannot be read.
pub fn directories(root: &Path) -> Result<Vec<PathBuf>> {
    let dir = runs::runs_dir(root);
    Ok(runs::in_order(root)?.into_iter().rev().map(|id| dir.join(id)).collect())
}

/// Lists every run of a store. Reads only each `run.json`.
///
/// # Errors
/// The store itself cannot be read.
pub fn list_runs(root: &Path) -> Result<Listing> {
    let mut listing = Listing::default();
    for dir in directories(root)? {
        match meta(&dir) {
            Ok(meta) => listing.runs.push((dir, meta)),
            Err(error) => listing.problems.push(format!("{error:#}")),
        }
    }
    Ok(listing)
}

/// Lists the runs of a directory, the first one started first: for a store in its order, else by the start time of each run.
///
/// # Errors
/// It cannot be read.
pub fn list_runs_in(dir: &Path) -> Result<Listing> {
    if runs::runs_dir(dir).is_dir() {
        let mut listing = list_runs(dir)?;
        listing.runs.reverse();
        return Ok(listing);
    }
    let mut listing = Listing::default();
    let entries = std::fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))?;
    let there = entries.flatten().map(|entry| entry.path()).filter(|path| path.join("run.json").exists());
    for dir in there {
        match meta(&dir) {
            Ok(meta) => listing.runs.push((dir, meta)),
            Err(error) => listing.problems.push(format!("{error:#}")),
        }
    }
    listing.runs.sort_by(|a, b| (&a.1.started, &a.1.id).cmp(&(&b.1.started, &b.1.id)));
    Ok(listing)
}

/// Reads a run.
///
/// # Errors
/// The directory contains no run, or a run larger than any valid one. Every other problem is in [`Run::problems`].
pub fn read(dir: &Path) -> Result<Run> {
    ensure!(dir.is_dir(), "{}: no such directory", dir.display());
    if !["run.json", "plan.toml", "cells"].iter().any(|name| dir.join(name).exists()) {
        bail!("{}: not a run (neither run.json nor plan.toml nor cells)", dir.display());
    }
    let mut problems = Vec::new();
    let manifest = bounded::<Manifest>(&dir.join("run.json"), SCHEMA, &mut problems, bounds::manifest);
    let damaged = manifest.is_err();
    let Manifest { meta, plan, measurands, cells: planned, .. } = manifest.unwrap_or_else(|error| {
        problems.push(format!("{error:#}"));
        nameless(dir)
    });
    let mut numbered: BTreeMap<usize, Option<Planned>> = (1..).zip(planned.into_iter().map(Some)).collect();
    for number in present_cells(dir, &mut problems) {
        let Entry::Vacant(place) = numbered.entry(number) else { continue };
        place.insert(None);
        if !damaged {
            problems.push(format!("{}: the run has no such cell", cell_dir(dir, number).display()));
        }
    }
    within_bounds(dir, numbered.keys())?;
    let cells = numbered
        .into_iter()
        .filter_map(|(number, planned)| cell(dir, number, planned, &measurands, &mut problems))
        .collect();
    let at_work = meta.finished.is_none() && is_at_work(dir);
    Ok(Run { dir: dir.to_path_buf(), meta, plan, cells, problems, damaged, at_work })
}

/// Returns whether a process measures the run in this directory: it then holds the run's lock. The check takes the lock only during the
/// call, and shared, so that two callers do not disturb each other.
fn is_at_work(dir: &Path) -> bool {
    let Ok(file) = File::open(dir) else { return false };
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
}

/// Refuses more cells and larger records than latido keeps in memory.
fn within_bounds<'a>(dir: &Path, numbers: impl ExactSizeIterator<Item = &'a usize>) -> Result<()> {
    let (cells, most) = (numbers.len(), bounds::MOST_CELLS);
    ensure!(cells <= most, "{}: {cells} cells, more than the {most} that latido reads", dir.display());
    let record = |number: &usize| std::fs::metadata(cell_dir(dir, *number).join("record.json"));
    let bytes: u64 = numbers.filter_map(|number| record(number).ok()).map(|file| file.len()).sum();
    let most = bounds::MOST_RECORDS;
    ensure!(
        bytes <= most,
        "{}: records of {bytes} bytes, more than the {most} that latido reads of a run",
        dir.display()
    );
    Ok(())
}

/// Returns the numbers of the cells that have a directory, and reports anything else there.
fn present_cells(dir: &Path, problems: &mut Vec<String>) -> Vec<usize> {
    let cells = dir.join("cells");
    let entries = match std::fs::read_dir(&cells) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(format!("{}: {error}", cells.display()));
            return Vec::new();
        }
    };
    let mut numbers = Vec::new();
    for name in entries.flatten().map(|entry| entry.file_name()) {
        let text = name.to_string_lossy();
        match text.parse::<usize>() {
            Ok(number) if number > 0 && cell_dir(dir, number) == cells.join(&name) => numbers.push(number),
            _ if text.starts_with('.') => {}
            _ => problems.push(format!("{}: does not belong to this run", cells.join(&name).display())),
        }
    }
    numbers
}

fn cell(
    run: &Path,
    number: usize,
    planned: Option<Planned>,
    measurands: &[Measurand],
    problems: &mut Vec<String>,
) -> Option<StoredCell> {
    let dir = cell_dir(run, number);
    let begun = std::fs::symlink_metadata(&dir).is_ok();
    if begun && !dir.is_dir() {
        problems.push(format!("{}: not a readable directory", dir.display()));
    }
    let host = dir.join("host.json");
    let host = host.exists().then(|| json::<HostFacts>(&host, 0, problems)).transpose().unwrap_or_else(|error| {
        problems.push(format!("{error:#}"));
        None
    });
    let Some(Planned { cell, measurand, written, skipped }) = planned else {
        // latido can read a measured cell without a plan: the record contains its cell.
        let (state, dir, _) = state(dir, problems);
        let CellState::Measured(record) = &state else { return None };
        let (cell, measurand) = (record.cell.clone(), shown(record));
        return Some(StoredCell { number, dir, cell, measurand, written: number, state, host, parts: Vec::new() });
    };
    let measurand = measurands.get(measurand).cloned().unwrap_or_else(|| {
        problems.push(format!("run.json: it does not list what cell {number} measures"));
        Measurand::default()
    });
    let earlier = if begun && skipped.is_none() { numbered_parts(&dir) } else { Vec::new() };
    let of = |dir, state, host| {
        let (cell, measurand) = (cell.clone(), measurand.clone());
        StoredCell { number, dir, cell, measurand, written, state, host, parts: Vec::new() }
    };
    if !earlier.is_empty() {
        return Some(in_parts::cell(of(dir, CellState::Open, host), earlier, problems));
    }
    let (state, dir, cut) = match skipped {
        Some(reason) => (CellState::Skipped(reason), dir, None),
        None if !begun => (CellState::Pending, dir, None),
        None => state(dir, problems),
    };
    problems.extend(cut);
    let stored = of(dir, state, host);
    strays(&stored, problems);
    Some(stored)
}

/// Returns what a record without a plan shows about its measurement: its quantities by name.
fn shown(record: &Record) -> Measurand {
    let mut measurand = Measurand { title: record.probe.clone().into(), ..Measurand::default() };
    for series in &record.series {
        if !measurand.yields(&series.quantity) {
            measurand.quantities.push(Quantity {
                name: series.quantity.clone().into(),
                title: format!("{}: {}", record.probe, series.quantity).into(),
                unit: series.unit.clone().into(),
                periodic: series.slots.is_some(),
                ..Quantity::time("", "")
            });
        }
    }
    measurand
}

/// Returns a replacement for a `run.json` that cannot be read.
fn nameless(dir: &Path) -> Manifest {
    let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let meta = Meta { id, ..Meta::default() };
    let plan = Plan { order: Order::AsWritten, ..Plan::default() };
    Manifest { schema: SCHEMA, meta, plan, measurands: Vec::new(), cells: Vec::new() }
}
