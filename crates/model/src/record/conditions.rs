//! What was arranged for a cell: loads, tunings, and what could not be had.

use super::{LoadLife, LoadStep};
use crate::cell::Item;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name in [`LoadRecord::achieved`] of packets that others sent than whom a load expects them of, and which it did not count.
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
    /// What a person should know, for example that a built-in stands in for a missing program.
    pub note: Option<String>,
    /// The commands that it carried out in turn, where they are others than `argv`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The programs that were started for it, latido itself apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramRecord>,
    /// Whether it was alive at every look from the first sample to the last.
    pub alive: bool,
    /// How and when it ended, if it did before the measurement.
    pub died: Option<String>,
    /// Processor time its processes used while measured, in ns; absent where it cannot be read.
    pub cpu_ns: Option<u64>,
    /// What it says it did while measured, by name (`busy_ns`, `frames`; `elapsed_ns` is the time between its two
    /// reports): whole numbers. Empty for a load that keeps no account.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub achieved: BTreeMap<String, i64>,
    /// How fast it did it, by the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Rate>,
    /// Why there are no rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaccounted: Option<String>,
    /// When it began and ended; absent for a load that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<LoadLife>,
    /// What it did while measured, step by step, some hundreds at most; empty where it does not tell meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<LoadStep>,
}

/// How much of something a load did in a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Per second, over all of `over_ns`.
    pub mean: f64,
    /// In its slowest second; absent where it does not tell every second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<f64>,
    /// In its fastest second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest: Option<f64>,
    /// The time that the mean is of, in ns.
    pub over_ns: u64,
    /// Whether that is the load's whole life, since it tells at its end alone, and not the measured part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_life: bool,
}

/// A tuning as it was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningRecord {
    /// Name and options after defaults.
    pub item: Item,
    /// What was found before and set, knob by knob.
    pub changes: Vec<Change>,
    /// Whether it was read back as set.
    pub in_force: bool,
    /// What a person should know.
    pub note: Option<String>,
    /// The programs that set it, where the kernel's files do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramRecord>,
}

/// A program that was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRecord {
    /// As it was asked for.
    pub name: String,
    /// The file that was started, without links.
    pub path: String,
    /// The SHA-256 of that file, in hexadecimal.
    pub sha256: String,
}

/// One knob: its original and its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path or name of the knob.
    pub knob: String,
    /// Before.
    pub original: String,
    /// While measured.
    pub new: String,
}

/// Something that was not had, and why. Never a pass, never a zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}
