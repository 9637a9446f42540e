//! Stored runs as they are read and written: `runs/<id>/{plan.toml, run.json, cells/<n>/{record.json, host.json, ...}}`.
//! What must be known to read one, the cells and what their probes measure, lies in its `run.json`.

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

/// Where a cell's checkpoint may be, best first: in place, or left by an interrupted replacement.
pub const CHECKPOINTS: [&str; 3] = ["checkpoint", "checkpoint.new", "checkpoint.old"];

/// What is about to become a part, while its files move there: a whole record in it counts where there is no other.
pub const PART_NEW: &str = "part.new";

/// A run as it lies on the disk. Whatever could not be read is in `problems`; the rest is whole.
#[derive(Debug)]
pub struct Run {
    /// The directory.
    pub dir: PathBuf,
    /// What it is.
    pub meta: Meta,
    /// What it was to find out; its groups are expanded in `cells`.
    pub plan: Plan,
    /// The cells in the order in which they run.
    pub cells: Vec<StoredCell>,
    /// What is truncated, foreign or missing, one sentence each, with the path.
    pub problems: Vec<String>,
    /// Whether the plan could not be read, so that its cells and expectations are not known.
    pub damaged: bool,
    /// Whether a process writes it now.
    pub at_work: bool,
}

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this structure, [`SCHEMA`].
    pub schema: u32,
    /// What the run is.
    pub meta: Meta,
    /// The plan without its groups.
    pub plan: Plan,
    /// What the cells' probes measure, each once.
    pub measurands: Vec<Measurand>,
    /// The cells in the order in which they run.
    pub cells: Vec<Planned>,
}

/// The part of `run.json` that a listing needs.
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
    /// Index of what its probe measures in [`Manifest::measurands`].
    pub measurand: usize,
    /// Its place in the order in which the plan writes them, from 0: tables follow it.
    pub written: usize,
    /// Why it cannot be had; absent for what is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// What a run is: what `list runs` shows without opening a cell.
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
    /// What a person calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
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
    /// Whether neither a limit nor an expectation judges it: that it passes then says no more than that it was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unjudged: bool,
    /// Whether what was asked has no figures: then its verdict says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmeasured: bool,
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
    /// What its probe measures.
    pub measurand: Measurand,
    /// As in [`Planned::written`].
    pub written: usize,
    /// What came of it.
    pub state: CellState,
    /// What the host knows of it.
    pub host: Option<HostFacts>,
    /// Its parts, where it was cut and the rest was measured later: its record and data are what they come to together,
    /// see [`parts`]. Empty for a cell that was measured at once.
    pub parts: Vec<parts::Part>,
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

/// The data stored beside a record for one series.
#[derive(Clone, Debug)]
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
    /// The bins in which another tool has counted, ascending: then the histogram has their upper ends.
    pub bins: Vec<Bin>,
}

/// Fetches the data beside a record when it is wanted: from the disk, or from memory where the disk is full.
pub trait SeriesSource {
    /// The data of one series of a cell.
    ///
    /// # Errors
    /// It is missing or broken.
    fn series(&self, cell: &StoredCell, series: &Series) -> Result<SeriesData>;

    /// What the trace that was recorded while a cell was measured shows of the samples above its limit. Nothing where there is no
    /// trace, or this source has none.
    fn shown(&self, _cell: &StoredCell) -> Shown {
        Shown::default()
    }
}

/// What a trace shows of the samples above the limit of its cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether the machine, or the cell's own load, made one of them late by itself.
    pub own_failure: bool,
    /// Whether it shows all of them, and each had kept the limit without the programs that are no load of the cell.
    pub foreign: bool,
    /// Where the machine fails by itself: how many of the samples that it explains other programs made late.
    pub beside: Option<ShownBeside>,
    /// The program, `name-number`, that had the CPU for most of a sample more often than any other program, and in how many samples.
    pub program: Option<(String, u64)>,
}

/// Samples that a trace explains, beside a failure that is the machine's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownBeside {
    /// How many had kept the limit without other programs.
    pub foreign: u64,
    /// Of how many.
    pub of: u64,
    /// The largest of those that had not, ns.
    pub own_ns: u64,
}

impl<F: Fn(&StoredCell, &Series) -> Result<SeriesData>> SeriesSource for F {
    fn series(&self, cell: &StoredCell, series: &Series) -> Result<SeriesData> {
        self(cell, series)
    }
}
