//! Run directories: `runs/<id>/{plan.toml, run.json, cells/<n>/{cell.json, record.json, host.json, ...}}`.

pub mod codec;
mod durable;
mod read;
mod root;
#[cfg(test)]
mod tests;
mod tolerant;
mod write;

pub use read::{Listing, list_runs, read, series_data};
pub use root::{find, root};
pub use write::{Draft, New, is_done};

use crate::{
    analyze::verdict::Verdict,
    cell::Cell,
    plan::Plan,
    record::{Block, HostFacts, Point, Record, Sample},
};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of `run.json`.
pub const SCHEMA: u32 = 1;

/// Where a cell's checkpoint may be, best first: in place, or left by an interrupted replacement.
const CHECKPOINTS: [&str; 3] = ["checkpoint", "checkpoint.new", "checkpoint.old"];

/// A run as it lies on the disk. Whatever could not be read is in `problems`; the rest is whole.
#[derive(Debug)]
pub struct Run {
    /// The directory.
    pub dir: PathBuf,
    /// `run.json`.
    pub meta: Meta,
    /// `plan.toml`, read again.
    pub plan: Plan,
    /// The cells in the order in which they run.
    pub cells: Vec<StoredCell>,
    /// What is truncated, foreign or missing, one sentence each, with the path.
    pub problems: Vec<String>,
    /// Whether the plan could not be read, so that its cells and expectations are not known.
    pub damaged: bool,
}

/// `run.json`: what `list runs` shows without opening a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of this structure, [`SCHEMA`].
    pub schema: u32,
    /// `20261121T200000Z-quick-k3f9`.
    pub id: String,
    /// The plan's name.
    pub plan: String,
    /// The version of latido that ran it.
    pub latido: String,
    /// The command line, for the report's "run it again".
    pub command: Vec<String>,
    /// Name of the machine measured.
    pub machine: String,
    /// RFC 3339.
    pub started: String,
    /// RFC 3339; absent while it runs or when it was cut off.
    pub finished: Option<String>,
    /// Number of cells.
    pub cells: usize,
    /// The verdict, when it is finished.
    pub verdict: Option<Verdict>,
    /// The verdict in one sentence.
    pub headline: Option<String>,
}

/// One cell of a run.
#[derive(Debug)]
pub struct StoredCell {
    /// Number in the run, from 1; the name of its directory.
    pub number: usize,
    /// Where its files are: its directory, or the checkpoint in it.
    pub dir: PathBuf,
    /// What was to be measured.
    pub cell: Cell,
    /// What came of it.
    pub state: CellState,
    /// What the host knows of it.
    pub host: Option<HostFacts>,
}

/// What came of a cell.
#[derive(Debug)]
pub enum CellState {
    /// Not started.
    Pending,
    /// Started and not finished: no record, no error.
    Open,
    /// Measured; the record says whether completely.
    Measured(Box<Record>),
    /// The infrastructure failed, not the machine under test.
    Infra(String),
    /// Not to be had here, for this reason; not tried.
    Skipped(String),
}

impl StoredCell {
    /// The record, if there is one.
    pub fn record(&self) -> Option<&Record> {
        match &self.state {
            CellState::Measured(record) => Some(record),
            _ => None,
        }
    }

    /// Why it was skipped, if it was.
    pub fn skipped(&self) -> Option<&str> {
        match &self.state {
            CellState::Skipped(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Run {
    /// Every reason for which cells were skipped, with the number of these cells.
    pub fn skips(&self) -> Vec<(&str, usize)> {
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for reason in self.cells.iter().filter_map(StoredCell::skipped) {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, cells)) => *cells += 1,
                None => reasons.push((reason, 1)),
            }
        }
        reasons
    }
}

/// `infra.json` or `skipped.json`: why a cell has no record.
#[derive(Debug, Serialize, Deserialize)]
struct Reason {
    schema: u32,
    reason: String,
}

/// The directory of a cell in a run's directory.
fn cell_dir(run: &Path, number: usize) -> PathBuf {
    run.join("cells").join(format!("{number:03}"))
}

/// The data stored beside a record for one series.
#[derive(Debug)]
pub struct SeriesData {
    /// The samples, ns.
    pub histogram: Histogram<u64>,
    /// The delays of missed slots, ns.
    pub missed: Option<Histogram<u64>>,
    /// About one entry a second.
    pub blocks: Vec<Block>,
    /// The largest samples, in descending order.
    pub largest: Vec<Sample>,
    /// The samples in the order of time, where they were kept.
    pub samples: Vec<Point>,
}
