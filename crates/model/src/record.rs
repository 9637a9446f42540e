//! What a probe measured in one cell: typed, versioned, written by the target and never changed afterwards.

mod conditions;
mod core;
mod evidence;
mod load;
pub mod quantized;
mod reported;
mod source;
mod stamps;
mod trace;
mod tracing;
mod watched;

pub use self::core::{CoreCounts, CoreRecord};
pub use conditions::{Change, LoadRecord, ProgramRecord, Rate, STRANGERS, Skip, TuningRecord};
pub use evidence::*;
pub use load::{LoadLife, LoadStep};
pub use quantized::{Between, Bin, Bounds, Edge, Quantized};
pub use reported::{Pipe, Reported};
pub use source::{Source, Told};
pub use stamps::{HandlerStamp, IrqThread, StampsRecord};
pub use trace::{Caused, Kept, MissingEvent, TRACE, TraceRecord, TracedCpu};
pub use tracing::{Freeze, Tracer, Tracing};
pub use watched::{HeldBack, Standing, ThreadEvidence, WAKE_NS, Wait, WatchedThread};

use crate::{
    cell::{Axis, Cell, Conditions},
    machine::Machine,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of `record.json`; raised when a key changes its meaning, not when one is added.
pub const SCHEMA: u32 = 2;

/// The quantiles every summary states, as keys and as numbers.
pub const QUANTILES: &[(&str, f64)] =
    &[("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99), ("0.999", 0.999), ("0.9999", 0.9999), ("0.99999", 0.99999)];

/// The band edges of the studies in ns; a cell's limit is added to them.
pub const BAND_EDGES: &[i64] = &[1_000, 5_000, 8_000, 10_000, 50_000, 100_000, 150_000, 200_000];

/// The result of one cell. It contains only what the target measured; host times are in [`HostFacts`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of this structure, [`SCHEMA`].
    pub schema: u32,
    /// The version of latido that measured.
    pub latido: String,
    /// The probe's name.
    pub probe: String,
    /// The cell with its CPUs known and every option after defaults. Options that an item leaves to the machine, such as `one worker a
    /// CPU`, stay absent; the argv of a load has them.
    pub cell: Cell,
    /// How the cell ended.
    pub outcome: Outcome,
    /// How long samples were counted, in ns; 0 if unknown, which is stored as null.
    #[serde(with = "crate::null")]
    pub elapsed_ns: u64,
    /// How long the loop ran before that, in ns.
    pub warmup_ns: u64,
    /// The first slot on every clock; null if latido did not measure.
    #[serde(with = "crate::null")]
    pub anchors: Anchors,
    /// The machine as it was at the start of the cell.
    pub machine: Machine,
    /// The measured facts that the trust checks judge; null if latido did not measure.
    #[serde(with = "crate::null")]
    pub quality: Evidence,
    /// The loads that ran.
    pub load: Vec<LoadRecord>,
    /// The tunings that were in force.
    pub tunings: Vec<TuningRecord>,
    /// The measured quantities, one entry per quantity, labels and thread.
    pub series: Vec<Series>,
    /// What was not available here, with the reason.
    pub skipped: Vec<Skip>,
    /// Names of further files in the cell's directory, such as a trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// The file of another tool that latido read it from; absent if latido measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl Record {
    /// Returns the names of all files next to it.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        let of_series = self.series.iter().flat_map(|series| {
            let files = &series.files;
            [&files.histogram, &files.missed, &files.blocks, &files.largest, &files.samples, &files.buckets]
                .into_iter()
                .flatten()
        });
        of_series.chain(&self.attachments)
    }

    /// Whether no thread measured: the probe only watched passively and took its samples from a trace.
    pub fn only_looked_on(&self) -> bool {
        self.quality.threads.is_empty() && self.quality.trace.is_some()
    }

    /// Returns in what it contradicts the requested cell. Options after defaults and the chosen CPUs do not contradict it.
    pub fn strays_from(&self, asked: &Cell) -> Option<String> {
        let own = &self.cell;
        let axis = Axis::ALL.into_iter().find(|axis| own.level(*axis) != asked.level(*axis));
        if let Some(axis) = axis {
            let (asked, own) = (asked.level(axis), own.level(axis));
            return Some(format!(
                "the record is of another cell: latido requested {} `{asked}`, not `{own}`",
                axis.name()
            ));
        }
        let chosen = Conditions { cpus: asked.conditions.cpus.clone(), ..own.conditions.clone() };
        let cpus = asked.conditions.cpus.as_ref().is_some_and(|cpus| own.conditions.cpus.as_ref() != Some(cpus));
        let same = (&asked.conditions, asked.repeat, asked.seed) == (&chosen, own.repeat, own.seed);
        (cpus || !same).then(|| "the record is of another cell: its conditions, repeat or seed differ".into())
    }
}

/// How a cell ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole duration was measured.
    Complete,
    /// A person, a signal or heat ended it early; the part measured until then is complete.
    Interrupted,
    /// A checkpoint of a cell that never finished (power cut, crash).
    Checkpoint,
    /// The first sample above `stop_on` ended it.
    Stopped {
        /// The sample.
        value_ns: i64,
        /// The CPU of the sample.
        cpu: Option<u32>,
        /// When, since the first slot, in ns; absent if unknown.
        at_ns: Option<u64>,
    },
}

/// The same instant, the first slot, on all clocks, in ns; absent if the machine lacks the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchors {
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME.
    pub realtime_ns: u64,
    /// CLOCK_BOOTTIME.
    pub boottime_ns: u64,
    /// CLOCK_TAI.
    pub tai_ns: u64,
    /// The time-stamp counter, in ticks.
    pub tsc: Option<u64>,
}

/// One quantity of one thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What was measured: `latency`, `gap`.
    pub quantity: String,
    /// What distinguishes this series from others of the same quantity.
    pub labels: BTreeMap<String, String>,
    /// The CPU that the thread was pinned to; absent if it was free to move.
    pub cpu: Option<u32>,
    /// The thread's index within the cell, from 0.
    pub thread: u32,
    /// `ns` or another named unit.
    pub unit: String,
    /// Number of samples.
    pub count: u64,
    /// Smallest sample; absent without samples.
    pub min: Option<i64>,
    /// Largest sample.
    pub max: Option<i64>,
    /// Arithmetic mean, from the exact sum.
    pub mean: Option<f64>,
    /// Standard deviation (n - 1).
    pub sd: Option<f64>,
    /// Order statistics ceil(n p); null if fewer than 1/(1-p) samples support them.
    pub quantiles: BTreeMap<String, Option<i64>>,
    /// Exact counts between the band edges; null if samples were counted in other bins.
    #[serde(with = "crate::null")]
    pub bands: Vec<Band>,
    /// Samples beyond the histogram's range (60 s); every other figure includes them.
    pub overflow: u64,
    /// Samples below zero: on a kernel clock a sign of a broken clock.
    pub negative: u64,
    /// Slots of a periodic probe.
    pub slots: Option<Slots>,
    /// The distribution with the delay of each missed slot added; headline figures and limits use it.
    pub corrected: Option<Summary>,
    /// Whole-numbered facts that the probe defines and documents (`own_ns`, `preempted`, ...).
    pub facts: BTreeMap<String, i64>,
    /// How another tool counted; absent for exact values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantized: Option<Quantized>,
    /// The values between which the figures are, if another tool counted. `min`, `max`, `mean` and `quantiles` then have the upper ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// The data stored next to the record.
    pub files: SeriesFiles,
}

/// The figures of one distribution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample.
    pub min: Option<i64>,
    /// Largest sample.
    pub max: Option<i64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation (n - 1).
    pub sd: Option<f64>,
    /// As in [`Series::quantiles`].
    pub quantiles: BTreeMap<String, Option<i64>>,
    /// As in [`Series::bands`].
    pub bands: Vec<Band>,
    /// As in [`Series::bounds`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
}

impl Series {
    /// Whether it is the same series measured again: quantity, labels, unit, thread and CPU are equal.
    pub fn is_of(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.thread, one.cpu);
        key(self) == key(other)
            && (&self.quantity, &self.labels, &self.unit) == (&other.quantity, &other.labels, &other.unit)
    }

    /// Returns the distribution without the delays of missed slots.
    pub fn plain(&self) -> Summary {
        Summary {
            count: self.count,
            min: self.min,
            max: self.max,
            mean: self.mean,
            sd: self.sd,
            quantiles: self.quantiles.clone(),
            bands: self.bands.clone(),
            bounds: self.bounds.clone(),
        }
    }

    /// Returns the distribution that limits, expectations and verdicts use: corrected for coordinated omission if slots are counted, else
    /// the plain one.
    pub fn decisive(&self) -> Summary {
        self.corrected.clone().unwrap_or_else(|| self.plain())
    }
}

/// How many samples are above one edge and at or below the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// Samples are at most this; absent for the last band.
    pub upto: Option<i64>,
    /// The number of samples.
    pub count: u64,
}

/// What became of the slots of a periodic probe. The three add up to the slots elapsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slots {
    /// The thread ran for the slot within the period (or the given deadline).
    pub met: u64,
    /// It ran for the slot, later than that.
    pub late: u64,
    /// The slot passed without being armed.
    pub missed: u64,
}

impl Slots {
    /// Returns the number of slots elapsed.
    pub fn elapsed(self) -> u64 {
        self.met.saturating_add(self.late).saturating_add(self.missed)
    }
}

/// Names of the files next to the record, in the cell's directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesFiles {
    /// Samples as an HdrHistogram V2 (compressed) file.
    pub histogram: Option<String>,
    /// Delays of the missed slots, in the same format; corrected = histogram + missed.
    pub missed: Option<String>,
    /// CSV of [`Block`]s.
    pub blocks: Option<String>,
    /// CSV of [`Sample`]s: the largest, in descending order.
    pub largest: Option<String>,
    /// Gzipped CSV of [`Point`]s: the first million samples in the order of time, if a figure needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
    /// CSV of [`Bin`]s: the distribution as another tool counted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<String>,
}

/// The samples of about one second (or of a merged power of two of them).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Start since the first slot, in ns.
    pub start_ns: u64,
    /// Length in ns.
    pub length_ns: u64,
    /// Number of samples.
    pub count: u64,
    /// Sum of the samples.
    pub sum: i128,
    /// Sum of their squares.
    pub sum_squares: u128,
    /// The largest samples, at most four, in descending order; the first is the maximum.
    pub largest: Vec<Sample>,
}

/// One sample that was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The value.
    pub value: i64,
    /// When, since the first slot, in ns.
    pub at_ns: u64,
    /// What the probe knows about its cause.
    pub class: Class,
}

/// What a probe knows about the cause of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Nothing, or nothing that this version recognises.
    #[default]
    Unknown,
    /// The thread waited for its CPU during the sample.
    Preempted,
    /// The thread did not wait: an interrupt, a management interrupt or the hypervisor delayed it.
    InPlace,
    /// A limit on the thread's CPU use made it wait.
    Throttled,
}

impl Class {
    /// Returns the stored and printed name; empty if unknown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Preempted => "preempted",
            Self::InPlace => "in-place",
            Self::Throttled => "throttled",
        }
    }

    /// Returns the class with this stored name; unknown if another version wrote it.
    pub fn of(name: &str) -> Self {
        let classes = [Self::Preempted, Self::InPlace, Self::Throttled];
        classes.into_iter().find(|class| class.name() == name).unwrap_or_default()
    }
}

/// One of the samples that are kept in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The value.
    pub value: i64,
    /// When, since the first slot, in ns.
    pub at_ns: u64,
}

/// The most samples of one series that latido keeps in order.
pub const ORDERED_MAX: usize = 1_000_000;

/// What the host knows of a cell, kept separately so that equal measurements give equal records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// When the cell started, RFC 3339.
    pub started: String,
    /// When its record was stored.
    pub stored: String,
    /// The run's id.
    pub run: String,
    /// The kernel's ID of the boot in which it was measured (random(4), boot_id); empty if unknown.
    #[serde(default)]
    pub boot_id: String,
    /// From the start of the host process to the first armed timer, in ns; only for this machine.
    pub start_to_armed_ns: Option<u64>,
}
