//! What was arranged for a cell: loads, tunings, and what was not available.

use super::{LoadLife, LoadStep};
use crate::cell::Item;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name in [`LoadRecord::achieved`] of packets from unexpected senders, which the load did not count as its own.
pub const STRANGERS: &str = "stranger_packets";

/// A load as it ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// Name and options, as in the cell.
    pub item: Item,
    /// The exact command; empty for the load `none`.
    pub argv: Vec<String>,
    /// The program's version as it prints it.
    pub version: Option<String>,
    /// What the user should know, for example that a built-in load replaces a missing program.
    pub note: Option<String>,
    /// The commands that it ran one after another, if they differ from `argv`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The programs that were started for it, without latido itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramRecord>,
    /// Whether it was alive at every check from the first sample to the last.
    pub alive: bool,
    /// How and when it ended, if it ended before the measurement did.
    pub died: Option<String>,
    /// Processor time its processes used while measured, in ns; absent where it cannot be read.
    pub cpu_ns: Option<u64>,
    /// What it reports to have done while measured, by name (`busy_ns`, `frames`; `elapsed_ns` is the time between its two reports), in
    /// whole numbers. Empty for a load that does not count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub achieved: BTreeMap<String, i64>,
    /// Its speed, by the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Rate>,
    /// Why it has no rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaccounted: Option<String>,
    /// When it started and ended; absent for the empty load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<LoadLife>,
    /// What it did while measured, step by step, some hundreds of steps at most; empty if it does not report during the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<LoadStep>,
}

/// How much a load did per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Per second, over all of `over_ns`.
    pub mean: f64,
    /// In its slowest second; absent if it does not report every second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<f64>,
    /// In its fastest second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest: Option<f64>,
    /// The time that the mean covers, in ns.
    pub over_ns: u64,
    /// Whether this is the load's whole life and not the measured part of it, because it only reports at its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_life: bool,
}

/// A tuning as it was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningRecord {
    /// Name and options after defaults.
    pub item: Item,
    /// The previous and the new value of each knob.
    pub changes: Vec<Change>,
    /// Whether latido read the values back as set.
    pub in_force: bool,
    /// What the user should know.
    pub note: Option<String>,
    /// The programs that set it, if the kernel's files did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramRecord>,
}

/// A program that was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// The name that was requested.
    pub name: String,
    /// The file that was started, with links resolved.
    pub path: String,
    /// The SHA-256 of that file, in hexadecimal.
    pub sha256: String,
}

/// One knob: its original and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path or name of the knob.
    pub knob: String,
    /// The value before.
    pub original: String,
    /// The value while measured.
    pub new: String,
}

/// Something that was not available, and why. It never counts as a pass or as zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The thing.
    pub what: String,
    /// The reason.
    pub why: String,
}
