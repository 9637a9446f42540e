//! Configurations: one per distinct tuple of axes, labelled by what differs, repeats pooled but countable.

use crate::{
    cell::Cell,
    machine::Machine,
    record::{Block, Sample, Slots, Summary},
};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// The repeats (of one run or several) that share kernel, machine, tuning, load, scheduling and probe.
#[derive(Debug)]
pub struct Configuration {
    /// What tells it from the others, as short as possible: `busy`, `6.12-rt, idle`.
    pub label: String,
    /// A cell of it; all agree but for repeat and seed.
    pub cell: Cell,
    /// The machine of the first repeat.
    pub machine: Machine,
    /// Names of the runs it came from with the cell numbers.
    pub members: Vec<(String, usize)>,
    /// Its quantities.
    pub quantities: Vec<Pooled>,
}

/// One quantity of a configuration, all threads and repeats pooled.
#[derive(Debug)]
pub struct Pooled {
    /// `latency`, `gap`.
    pub quantity: String,
    /// What tells it from others of the same quantity.
    pub labels: BTreeMap<String, String>,
    /// `ns` or another named unit.
    pub unit: String,
    /// The headline distribution: slot-corrected where slots are counted.
    pub summary: Summary,
    /// The distribution as woken.
    pub plain: Summary,
    /// Slots of a periodic probe.
    pub slots: Option<Slots>,
    /// Samples above the cell's limit in the headline distribution; absent without a limit.
    pub above_limit: Option<u64>,
    /// Headline histogram, ns.
    pub histogram: Histogram<u64>,
    /// Time measured by all threads together, ns.
    pub elapsed_ns: u64,
    /// One entry per thread of each repeat.
    pub tracks: Vec<Track>,
}

/// One thread of one repeat, over time.
#[derive(Debug)]
pub struct Track {
    /// Name of the run and number of the cell.
    pub member: (String, usize),
    /// Repeat number.
    pub repeat: u32,
    /// The CPU, where pinned.
    pub cpu: Option<u32>,
    /// Largest sample of this thread.
    pub max: Option<i64>,
    /// Its blocks.
    pub blocks: Vec<Block>,
    /// Its largest samples, in descending order.
    pub largest: Vec<Sample>,
}
