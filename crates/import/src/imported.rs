//! The content of another tool's file, in ns: figures as intervals, bins as printed.

use std::collections::BTreeMap;

/// One file, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The tool that wrote it, by its own name: `cyclictest`.
    pub tool: String,
    /// Its version, if the file states it.
    pub version: Option<String>,
    /// The title in place of a probe's name: the tool's quantity under a heading, `cyclictest`.
    pub title: String,
    /// How it ended.
    pub ending: Ending,
    /// One entry for each quantity, labels and thread.
    pub series: Vec<Series>,
    /// The tool's command line, if the file has it.
    pub command: Option<String>,
    /// Begin and end of the measurement, as the file writes them.
    pub times: [Option<String>; 2],
    /// The length of the measurement, in ns, if the file states it.
    pub elapsed_ns: Option<u64>,
    /// Facts of the machine, as the file names them: `kernel`, `cpu`, `realtime`, ...
    pub machine: BTreeMap<String, String>,
    /// The policy of its threads as latido writes it, if the file states it: `fifo 95`.
    pub policy: Option<String>,
    /// The statements in the file on which its trustworthiness depends.
    pub findings: Vec<Finding>,
    /// Notes for the reader: provenance lines, corrections to the file, what was ignored.
    pub notes: Vec<String>,
}

/// How a measurement ended, by its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The file is whole.
    #[default]
    Complete,
    /// Its footer is missing, or the tool states that it was ended early; with the reason.
    Interrupted(String),
    /// A sample above a limit ended it.
    Stopped {
        /// The sample.
        value: Interval,
        /// Its thread, if the file states it.
        thread: Option<u32>,
    },
}

/// A statement of the file that affects its trustworthiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How severe it is.
    pub severity: Severity,
    /// A short name: `missed events`, `mode switches`.
    pub name: String,
    /// One sentence, with the number.
    pub text: String,
}

/// The effect of a finding on trustworthiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The reader should know it.
    Note,
    /// The numbers may not be those of the system under test.
    Contaminated,
}

/// From low to high, both inclusive; `high` is `None` if nothing bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// The smallest possible.
    pub low: i64,
    /// The largest possible.
    pub high: Option<i64>,
}

impl Interval {
    /// Returns the interval of exactly one value.
    pub fn exactly(value: i64) -> Self {
        Self { low: value, high: Some(value) }
    }

    /// Returns the interval between two values, both inclusive.
    pub fn between(low: i64, high: i64) -> Self {
        Self { low, high: Some(high) }
    }
}

/// One thread's quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// `latency`, `gap`, `signal`, `switch`, ...
    pub quantity: String,
    /// A heading for it.
    pub heading: String,
    /// What distinguishes it from others of its quantity: `kind`, `by`, ...
    pub labels: BTreeMap<String, String>,
    /// The thread, from 0.
    pub thread: u32,
    /// Its CPU, only if the file or the user states it.
    pub cpu: Option<u32>,
    /// `ns`, unless its numbers are not times.
    pub unit: &'static str,
    /// How many samples, if known.
    pub count: Option<u64>,
    /// The smallest sample.
    pub min: Option<Interval>,
    /// The largest.
    pub max: Option<Interval>,
    /// The mean.
    pub mean: Option<[f64; 2]>,
    /// The bins, ascending and separate; they need not touch. Empty if the file has no distribution.
    pub bins: Vec<Bin>,
    /// The width of a bin in the series' unit, if it is wider than one unit: the step to which the tool quantised.
    pub width: Option<u64>,
    /// Which value of a bin the tool prints.
    pub edge: Edge,
    /// Whether the file ends before its bins do. Then the distribution is incomplete.
    pub cut: bool,
    /// Samples below this were never recorded.
    pub above: Option<i64>,
    /// Samples in the order of time, up to a million, if the file has them.
    pub samples: Vec<Timed>,
    /// Whole-numbered facts: `overruns`, `period_ns`, `priority`, ...
    pub facts: BTreeMap<String, i64>,
    /// The figures that other figures of the file contradict. The fields above leave them out.
    pub doubts: Vec<Doubt>,
}

/// A figure that a file prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// The mean.
    Mean,
    /// The smallest value.
    Smallest,
    /// The largest value.
    Largest,
    /// The rows of the histogram, and how many samples there were.
    Rows,
    /// The column of sums.
    Sums,
}

impl Figure {
    /// Returns its name in a finding.
    pub fn words(self) -> &'static str {
        match self {
            Self::Mean => "the mean",
            Self::Smallest => "the smallest value",
            Self::Largest => "the largest value",
            Self::Rows => "the histogram and its count",
            Self::Sums => "the sums",
        }
    }
}

/// A figure that latido does not believe, and what contradicts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The figure.
    pub figure: Figure,
    /// The figure in the file, and the other figures that contradict it: `it is 0, but its rows allow 1.5 to 2.5`.
    pub why: String,
}

impl Doubt {
    /// Makes the doubt of a figure.
    pub fn of(figure: Figure, why: impl Into<String>) -> Self {
        Self { figure, why: why.into() }
    }
}

/// Which value represents a bin in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// Its smallest value.
    #[default]
    Lower,
    /// Its largest value, or the first value after it.
    Upper,
    /// The value in the middle.
    Middle,
}

/// A number of samples between two values, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest value of the bin.
    pub low: i64,
    /// The largest; `None` for the samples beyond the last row.
    pub high: Option<i64>,
    /// How many samples.
    pub count: u64,
}

/// One sample with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The value.
    pub value: i64,
    /// The time, in ns since the first sample; `None` if the file does not state it.
    pub at_ns: Option<u64>,
}
