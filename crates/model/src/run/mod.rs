//! Reads and writes stored runs: `runs/<id>/{plan.toml, run.json, cells/<n>/{record.json, host.json, ...}}`. The `run.json` contains what
//! is needed to read the run: the cells and what their probes measure.

pub mod bounds;
pub mod codec;
pub(crate) mod keys;
pub mod late;
pub mod packed;
pub mod parts;
pub mod pool;
pub mod tolerant;

use crate::{
    cell::Cell,
    plan::Plan,
    quantity::Measurand,
    record::{Bin, Block, HostFacts, Point, Record, Sample, Series},
    verdict::Verdict,
};
use anyhow::Result;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of `run.json`.
pub const SCHEMA: u32 = 2;

/// Where a cell's checkpoint may be, best first: in place, or left over from an interrupted replacement.
pub const CHECKPOINTS: [&str; 3] = ["checkpoint", "checkpoint.new", "checkpoint.old"];

/// The directory of a future part while its files move there. A complete record in it counts if there is no other.
pub const PART_NEW: &str = "part.new";

/// A run as it is on the disk. `problems` lists what could not be read; the rest is complete.
#[derive(Debug)]
pub struct Run {
    /// The directory.
    pub dir: PathBuf,
    /// Its metadata.
    pub meta: Meta,
    /// The plan that it measured; `cells` has its groups, expanded.
    pub plan: Plan,
    /// The cells in the order in which they run.
    pub cells: Vec<StoredCell>,
    /// What is truncated, unknown or missing, one sentence each, with the path.
    pub problems: Vec<String>,
    /// Whether the plan could not be read, so that its cells and expectations are unknown.
    pub damaged: bool,
    /// Whether a process is writing the run now.
    pub at_work: bool,
}

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this structure, [`SCHEMA`].
    pub schema: u32,
    /// The run's metadata.
    pub meta: Meta,
    /// The plan without its groups.
    pub plan: Plan,
    /// What the cells' probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// The cells in the order in which they run.
    pub cells: Vec<Planned>,
}

/// The part of `run.json` that says which run it is.
#[derive(Debug, Deserialize)]
pub struct Header {
    /// As in [`Manifest::meta`].
    pub meta: Meta,
}

/// A cell as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// What was to be measured.
    pub cell: Cell,
    /// Index of its probe's measurand in [`Manifest::measurands`].
    pub measurand: usize,
    /// Its place in the order in which the plan writes the cells, from 0. Tables use this order.
    pub written: usize,
    /// Why it cannot be measured; absent if latido tries it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// The metadata of a run: what latido knows of it without opening a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
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
    /// The user's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// RFC 3339.
    pub started: String,
    /// RFC 3339; absent while it runs or if it was cut off.
    pub finished: Option<String>,
    /// Number of cells.
    pub cells: usize,
    /// The verdict, once it is finished.
    pub verdict: Option<Verdict>,
    /// The verdict in one sentence.
    pub headline: Option<String>,
    /// Whether it has neither a limit nor an expectation. A pass then only means that it was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unjudged: bool,
    /// Whether nothing that was requested has figures. The verdict then has no meaning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmeasured: bool,
}

/// One cell of a run.
#[derive(Debug)]
pub struct StoredCell {
    /// Number in the run, from 1; the name of its directory.
    pub number: usize,
    /// The directory of its files: its own directory, or the checkpoint in it.
    pub dir: PathBuf,
    /// What was to be measured.
    pub cell: Cell,
    /// What its probe measures.
    pub measurand: Measurand,
    /// As in [`Planned::written`].
    pub written: usize,
    /// Its result.
    pub state: CellState,
    /// What the host knows of it.
    pub host: Option<HostFacts>,
    /// Its parts, if it was cut and the rest was measured later. Its record and data are then those of all parts together, see [`parts`].
    /// Empty for a cell that was measured at once.
    pub parts: Vec<parts::Part>,
}

/// The result of a cell.
#[derive(Debug)]
pub enum CellState {
    /// Not started.
    Pending,
    /// Started but not finished: no record, no error.
    Open,
    /// Measured; the record shows whether completely.
    Measured(Box<Record>),
    /// The infrastructure failed, not the machine under test.
    Infra(String),
    /// Not available here, for this reason; latido did not try it.
    Skipped(String),
}

impl StoredCell {
    /// Returns the record, if there is one.
    pub fn record(&self) -> Option<&Record> {
        match &self.state {
            CellState::Measured(record) => Some(record),
            _ => None,
        }
    }

    /// Returns why it was skipped, if it was.
    pub fn skipped(&self) -> Option<&str> {
        match &self.state {
            CellState::Skipped(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Run {
    /// Returns every reason for which cells were skipped, with the number of these cells.
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

/// `infra.json`: why a cell has no record.
#[derive(Debug, Serialize, Deserialize)]
pub struct InfraNote {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The reason.
    pub reason: String,
}

/// The directory of a cell in a run's directory.
pub fn cell_dir(run: &Path, number: usize) -> PathBuf {
    run.join("cells").join(format!("{number:03}"))
}

/// The data next to a record for one series.
#[derive(Clone, Debug)]
pub struct SeriesData {
    /// The samples, ns.
    pub histogram: Histogram<u64>,
    /// The delays of missed slots, ns.
    pub missed: Option<Histogram<u64>>,
    /// About one entry per second.
    pub blocks: Vec<Block>,
    /// The largest samples, in descending order.
    pub largest: Vec<Sample>,
    /// The samples in the order of time, if they were kept.
    pub samples: Vec<Point>,
    /// The bins in which another tool counted, ascending; the histogram then has their upper ends.
    pub bins: Vec<Bin>,
}

/// Reads the data next to a record when it is needed: from the disk, or from memory if the disk is full.
pub trait SeriesSource {
    /// Returns the data of one series of a cell.
    ///
    /// # Errors
    /// The data is missing or broken.
    fn series(&self, cell: &StoredCell, series: &Series) -> Result<SeriesData>;

    /// Returns what the trace of a cell shows about the samples above its limit. Empty if there is no trace, or this source has none.
    fn shown(&self, _cell: &StoredCell) -> Shown {
        Shown::default()
    }
}

/// What a trace shows about the samples above the limit of its cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether the machine, or the cell's own load, alone made one of them late.
    pub own_failure: bool,
    /// Whether the trace shows all of them, and each would have kept the limit without the programs that are not a load of the cell.
    pub foreign: bool,
    /// If the machine fails by itself: how many of the explained samples other programs made late.
    pub beside: Option<ShownBeside>,
    /// The program, `name-number`, that most often had the CPU for most of a sample, and in how many samples.
    pub program: Option<(String, u64)>,
}

/// Samples that a trace explains, in addition to a failure that the machine itself caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownBeside {
    /// How many would have kept the limit without other programs.
    pub foreign: u64,
    /// The number of explained samples.
    pub of: u64,
    /// The largest sample that would not have kept the limit, in ns.
    pub own_ns: u64,
}

impl<F: Fn(&StoredCell, &Series) -> Result<SeriesData>> SeriesSource for F {
    fn series(&self, cell: &StoredCell, series: &Series) -> Result<SeriesData> {
        self(cell, series)
    }
}
