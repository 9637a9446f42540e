//! The most that a stored run may contain. A run may come from an unknown source: each bound is above any sound run and below what fills
//! the memory.

use super::{Manifest, Meta};
use crate::record::{Record, Series};
use anyhow::{Result, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// Values in one JSON file: a record of 8192 threads with three quantities has 3 million.
pub const MOST_VALUES: usize = 6_000_000;

/// Different keys in one JSON file. All existing labels and options together are far below it.
pub const MOST_KEYS: usize = 100_000;

/// Bytes of a JSON file from a newer version, from which latido must leave parts out. To read it, latido builds all its values, each of
/// which takes up to a hundred times its bytes.
pub const MOST_FOREIGN: usize = 4 << 20;

/// Series in a record: 8192 threads with eight quantities each, more than any probe has.
pub const MOST_SERIES: usize = 65_536;

/// Distributions in a record that differ in quantity, labels or unit. Each needs two histograms of up to half a megabyte, and a probe has a
/// few for each of its sizes.
pub const MOST_DISTRIBUTIONS: usize = 256;

/// Labels of a series; probes set up to three.
pub const MOST_LABELS: usize = 16;

/// Cells in a run: a month of them at two minutes each.
pub const MOST_CELLS: usize = 20_000;

/// Pairs of an expectation and a cell: for each, latido checks the cell's samples. A study has some ten thousand.
pub const MOST_PAIRS: usize = 1_000_000;

/// Bytes of all records of a run together: its reader keeps them all.
pub const MOST_RECORDS: u64 = 1 << 30;

/// Bytes of one file next to a record, except for a trace and what a probe stores in full: a line for each of some million events.
pub const MOST_FILE: u64 = 256 << 20;

/// Bytes of all files next to one record: traces are the largest of them.
pub const MOST_FILES_BYTES: u64 = 4 << 30;

/// Files next to one record: up to six per series.
pub const MOST_FILES: usize = MOST_SERIES * 6;

/// Bytes of text in a run's metadata: a listing keeps that of every run.
pub const MOST_META: usize = 64 << 10;

/// Checks that a record keeps within the bounds, and that each of its files belongs to one series only: a file that is named often would be
/// read as often.
///
/// # Errors
/// The bound, and what exceeds it; the two series that name one file.
pub fn record(record: &Record) -> Result<()> {
    let all = &record.series;
    ensure!(all.len() <= MOST_SERIES, "{} series, but latido reads at most {MOST_SERIES}", all.len());
    let mut files: BTreeMap<&str, &Series> = BTreeMap::new();
    let mut told_apart = BTreeSet::new();
    for series in all {
        let name = |one: &Series| format!("{} of thread {}", one.quantity, one.thread);
        let labels = series.labels.len();
        ensure!(labels <= MOST_LABELS, "{}: {labels} labels, but latido reads at most {MOST_LABELS}", name(series));
        told_apart.insert((&series.quantity, &series.labels, &series.unit));
        ensure!(
            told_apart.len() <= MOST_DISTRIBUTIONS,
            "more than {MOST_DISTRIBUTIONS} distributions that differ in quantity, labels or unit, the most that \
             latido reads of a record"
        );
        let own = &series.files;
        for file in
            [&own.histogram, &own.missed, &own.blocks, &own.largest, &own.samples, &own.buckets].into_iter().flatten()
        {
            if let Some(other) = files.insert(file, series) {
                anyhow::bail!("the file {file:?} is named twice: by {} and by {}", name(other), name(series));
            }
        }
    }
    Ok(())
}

/// Checks that a run keeps within the bounds.
///
/// # Errors
/// The bound, and what exceeds it.
pub fn manifest(manifest: &Manifest) -> Result<()> {
    let cells = manifest.cells.len();
    ensure!(cells <= MOST_CELLS, "{cells} cells, but latido reads at most {MOST_CELLS}");
    pairs(cells, manifest.plan.expect.len())?;
    meta(&manifest.meta)
}

/// Checks that latido can judge this many cells and expectations.
///
/// # Errors
/// Both numbers, and the bound.
pub fn pairs(cells: usize, expectations: usize) -> Result<()> {
    let few = cells.saturating_mul(expectations) <= MOST_PAIRS;
    ensure!(
        few,
        "{expectations} expectations of {cells} cells: latido judges at most {MOST_PAIRS} such pairs in one run"
    );
    Ok(())
}

/// Checks that a run's metadata is short enough.
///
/// # Errors
/// The bound.
pub fn meta(meta: &Meta) -> Result<()> {
    let Meta {
        id,
        plan,
        latido,
        command,
        machine,
        label,
        started,
        finished,
        cells: _,
        verdict: _,
        headline,
        unjudged: _,
        unmeasured: _,
    } = meta;
    let texts =
        [id, plan, latido, machine, started].into_iter().chain(command).chain(finished).chain(headline).chain(label);
    let bytes: usize = texts.map(String::len).sum();
    ensure!(bytes <= MOST_META, "its description has {bytes} bytes, but latido reads at most {MOST_META}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn refused(change: impl Fn(&mut Record)) -> String {
        let mut one = sample::record();
        record(&one).unwrap();
        change(&mut one);
        record(&one).unwrap_err().to_string()
    }

    #[test]
    fn too_many_pairs_are_named() {
        pairs(10_000, 100).unwrap();
        pairs(0, usize::MAX).unwrap();
        let told = pairs(10_000, 101).unwrap_err().to_string();
        assert!(told.starts_with("101 expectations of 10000 cells: latido judges at most 1000000 such"), "{told}");
    }

    #[test]
    fn what_exceeds_a_bound_is_named() {
        let labels = |n: usize| (0..n).map(|n| (n.to_string(), String::new())).collect();
        let told = refused(|one| one.series[1].labels = labels(MOST_LABELS + 1));
        assert_eq!(told, "latency of thread 1: 17 labels, but latido reads at most 16");
        let told = refused(|one| {
            one.series[1].files.largest = Some("a.csv".into());
            one.series[0].files.blocks = Some("a.csv".into());
        });
        assert_eq!(told, "the file \"a.csv\" is named twice: by latency of thread 0 and by latency of thread 1");
        let many = |one: &mut Record, count: usize, named: bool| {
            let mut series = one.series[0].clone();
            series.files = Default::default();
            let next = |n: usize| {
                let quantity = if named { format!("q{n}") } else { "latency".to_owned() };
                Series { quantity, thread: n as u32, ..series.clone() }
            };
            one.series = (0..count).map(next).collect();
        };
        let told = refused(|one| many(one, MOST_SERIES + 1, false));
        assert_eq!(told, "65537 series, but latido reads at most 65536");
        let told = refused(|one| many(one, MOST_DISTRIBUTIONS + 1, true));
        assert!(told.starts_with("more than 256 distributions"), "{told}");
        let mut widest = sample::record();
        many(&mut widest, MOST_SERIES, false);
        record(&widest).unwrap();
    }
}
