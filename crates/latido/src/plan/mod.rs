//! Plans: a list of groups, each the product of its own axes, and what is expected of the result.

pub mod axes;
pub mod expand;
pub mod expect;
pub mod items;
pub mod kind;
pub mod node;
pub mod parse;
pub mod print;
pub mod scheduling;
pub mod shipped;
pub mod source;
#[cfg(test)]
pub(crate) mod tests;

pub use expand::expand;
pub use parse::{load, parse};

use crate::{
    cell::{Item, Level, Scheduling},
    cpus::CpuSet,
    probe::PROBES,
    registry,
    units::Ns,
};

/// The most cells that a plan may have.
pub const CELLS_MAX: usize = 100_000;

/// A plan after reading and checking: every name exists, every option was accepted by its probe, load or tuning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Short name; becomes part of the run's id.
    pub name: String,
    /// What it is for, for the report.
    pub about: Option<String>,
    /// The publication that it repeats, for the report's citation; its expectations are then conclusions.
    pub source: Option<Citation>,
    /// How far everything was shortened against the sizes as written, above 0 and at most 1; absent where nothing was.
    pub scaled: Option<f64>,
    /// Seed of the order and of everything random in the cells.
    pub seed: u64,
    /// In which order the cells run.
    pub order: Order,
    /// The groups, each the product of its axes.
    pub groups: Vec<Group>,
    /// What is expected of the result.
    pub expect: Vec<Expect>,
    /// Which printed numbers can be set beside.
    pub published: Option<Published>,
}

/// A publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Its title.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// When it appeared.
    pub year: u16,
    /// Where it appeared: the university, the conference.
    pub place: Option<String>,
}

/// Axes and labels with the level wanted of each: `load` to `ramp`, `kind` to `inherit`.
pub type Filter = Vec<(String, String)>;

/// Which cells of a plan a study's printed numbers belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// The study, as [`crate::published::study`] knows it.
    pub study: String,
    /// The study's name of each system and the axes that are it here; empty where the plan has no cells for it.
    pub systems: Vec<(String, Filter)>,
    /// The study's name of each quantity, the plan's metric (`mutex.lock`), and the axes and labels that narrow it.
    pub quantities: Vec<(String, String, Filter)>,
}

/// In which order the cells of a plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All cells of repeat 1 in random order, then all of repeat 2: a drift of the machine hits every level alike.
    #[default]
    Interleaved,
    /// As the file says.
    AsWritten,
}

/// A product of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Levels of the kernel axis.
    pub kernel: Vec<String>,
    /// Levels of the tuning axis.
    pub tuning: Vec<Level>,
    /// Levels of the load axis.
    pub load: Vec<Level>,
    /// Levels of the scheduling axis.
    pub scheduling: Vec<Scheduling>,
    /// Levels of the probe axis.
    pub probe: Vec<Item>,
    /// CPUs to measure; absent, each probe's default.
    pub cpus: Option<CpuSet>,
    /// Of every cell.
    pub duration: Ns,
    /// Of every cell.
    pub warmup: Ns,
    /// Of every cell.
    pub limit: Option<Ns>,
    /// Of every cell.
    pub stop_on: Option<Ns>,
    /// How often the product is repeated.
    pub repeat: u32,
}

impl Group {
    /// How many cells, or `None` if their number has no end.
    pub fn cells(&self) -> Option<usize> {
        let axes = [self.kernel.len(), self.tuning.len(), self.load.len(), self.scheduling.len(), self.probe.len()];
        axes.into_iter().try_fold(self.repeat as usize, usize::checked_mul)
    }

    /// How many cells end after their probe's own number of samples: no duration says how long they take.
    pub fn cells_that_count(&self) -> usize {
        let counts = |item: &&Item| registry::build("probe", PROBES, item).is_ok_and(|probe| probe.counts_samples());
        let counting = self.probe.iter().filter(counts).count();
        // All probes have equally many cells.
        self.cells().unwrap_or(usize::MAX) / self.probe.len().max(1) * counting
    }

    /// Warm-up and measuring of all cells together that end after their duration: the least time that the group takes.
    pub fn time(&self) -> Ns {
        let one = self.duration.0.saturating_add(self.warmup.0);
        let timed = self.cells().unwrap_or(usize::MAX).saturating_sub(self.cells_that_count());
        Ns(one.saturating_mul(timed as u64))
    }
}

/// One expectation: it must hold for every matching series; no match is inconclusive.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Axis name to level: `load = "ramp"`, `probe = "wakeup"`, `scheduling = "fifo 80"`.
    pub filter: Vec<(String, String)>,
    /// Probe name.
    pub probe: String,
    /// Quantity name.
    pub quantity: String,
    /// Which figure of the headline distribution.
    pub statistic: Statistic,
    /// The comparison that must hold.
    pub op: Op,
    /// The value in ns (or in plain numbers for counts and shares).
    pub value: f64,
    /// The expectation as its author wrote it, for the report.
    pub text: String,
    /// The line of the plan file, from 1.
    pub line: usize,
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// Number of samples.
    Count,
    /// Smallest.
    Min,
    /// Mean.
    Mean,
    /// Standard deviation.
    Sd,
    /// Largest.
    Max,
    /// Quantile, 0 to 1: written p50, p99.9.
    Quantile(f64),
    /// Slots that were missed.
    Missed,
    /// Slots that were late.
    Late,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}
