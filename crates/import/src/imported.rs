//! What a file of another tool says, in ns: figures as intervals, bins as they were printed.

use std::collections::BTreeMap;

/// One file, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// The tool that wrote it, as it calls itself: `cyclictest`.
    pub tool: String,
    /// Its version, as far as the file tells.
    pub version: Option<String>,
    /// What stands in for a probe's name: the tool's quantity under a heading, `cyclictest`.
    pub title: String,
    /// How it ended.
    pub ending: Ending,
    /// One entry for each quantity, labels and thread.
    pub series: Vec<Series>,
    /// The command line that the tool was given, where the file has it.
    pub command: Option<String>,
    /// Begin and end of the measurement, as the file writes them.
    pub times: [Option<String>; 2],
    /// How long was measured, in ns, where the file says so.
    pub elapsed_ns: Option<u64>,
    /// Facts of the machine, as the file names them: `kernel`, `cpu`, `realtime`, ...
    pub machine: BTreeMap<String, String>,
    /// The policy of its threads as latido writes it, where the file says so: `fifo 95`.
    pub policy: Option<String>,
    /// What the file says that trust depends on.
    pub findings: Vec<Finding>,
    /// What a reader is to know: provenance lines, mends of the file, what was passed over.
    pub notes: Vec<String>,
}

/// How a measurement ended, by its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The file is whole.
    #[default]
    Complete,
    /// Its footer is missing, or the tool says that it was ended early; why.
    Interrupted(String),
    /// A sample above a limit ended it.
    Stopped {
        /// The sample.
        value: Interval,
        /// Whose it was, where the file says so.
        thread: Option<u32>,
    },
}

/// Something that the file says of its own worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it weighs.
    pub severity: Severity,
    /// A short name: `missed events`, `mode switches`.
    pub name: String,
    /// One sentence with the number.
    pub text: String,
}

/// What a finding does to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// A reader is to know it.
    Note,
    /// The numbers may not be those of the system under test.
    Contaminated,
}

/// From low to high, both inclusive; `high` is absent where nothing bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// The smallest possible.
    pub low: i64,
    /// The largest possible.
    pub high: Option<i64>,
}

impl Interval {
    /// One value and no other.
    pub fn exactly(value: i64) -> Self {
        Self { low: value, high: Some(value) }
    }

    /// Between the two, both inclusive.
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
    /// What tells it from others of its quantity: `kind`, `by`, ...
    pub labels: BTreeMap<String, String>,
    /// The thread, from 0.
    pub thread: u32,
    /// Its CPU, only where the file or the person says so.
    pub cpu: Option<u32>,
    /// `ns`, unless its numbers are no times.
    pub unit: &'static str,
    /// How many samples, where that is known.
    pub count: Option<u64>,
    /// The smallest sample.
    pub min: Option<Interval>,
    /// The largest.
    pub max: Option<Interval>,
    /// The mean.
    pub mean: Option<[f64; 2]>,
    /// The bins, ascending and apart; they need not touch. Empty where the file has no distribution.
    pub bins: Vec<Bin>,
    /// The width of a bin in the series' unit, where they are wider than one unit: what it was quantised to.
    pub width: Option<u64>,
    /// Which value of a bin the tool prints for it.
    pub edge: Edge,
    /// Whether the file ends before its bins do: then what is there is no whole distribution.
    pub cut: bool,
    /// Samples below this were never recorded.
    pub above: Option<i64>,
    /// Samples in the order of time, where the file has them: up to a million.
    pub samples: Vec<Timed>,
    /// Whole-numbered facts: `overruns`, `period_ns`, `priority`, ...
    pub facts: BTreeMap<String, i64>,
    /// What the file prints of it and other figures of the file contradict: left out of all above.
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
    /// What a column of sums prints.
    Sums,
}

impl Figure {
    /// As a finding names it.
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

/// One figure that is not believed, and what contradicts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The figure.
    pub figure: Figure,
    /// What it says, and what other figures of the file say: `it is 0, but its rows allow 1.5 to 2.5`.
    pub why: String,
}

impl Doubt {
    /// Of a figure.
    pub fn of(figure: Figure, why: impl Into<String>) -> Self {
        Self { figure, why: why.into() }
    }
}

/// Which value stands for a bin in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// Its smallest.
    #[default]
    Lower,
    /// Its largest, or the first beyond it.
    Upper,
    /// The one between them.
    Middle,
}

/// So many samples between two values, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest value of the bin.
    pub low: i64,
    /// The largest; absent for what lies beyond the last.
    pub high: Option<i64>,
    /// How many samples.
    pub count: u64,
}

/// One sample with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The value.
    pub value: i64,
    /// When, in ns since the first; absent where the file does not tell.
    pub at_ns: Option<u64>,
}
