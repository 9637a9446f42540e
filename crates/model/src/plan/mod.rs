//! Plans: a list of groups, each the product of its own axes, and what is expected of the result.

pub mod around;
pub mod axes;
mod declared;
pub mod expand;
pub mod expect;
pub mod extent;
pub mod figure;
pub mod items;
pub mod kernels;
pub mod node;
pub mod parse;
pub mod pick;
pub mod print;
pub mod ramp;
pub mod scale;
pub mod scheduling;
pub mod shipped;
mod size;
pub mod source;
pub mod study;
pub mod table;
#[cfg(test)]
mod tests;

pub use expand::expand;
pub use figure::{Figure, Kind};
pub use pick::{Pick, Sought};
pub use table::{Layout, Over, Table};

use crate::{
    cell::{Conditions, Item, Level, Scheduling},
    quantity::Measurand,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the plan's TOML; raised when a key changes its meaning.
pub const SCHEMA: i64 = 1;

/// The most groups and the most expectations of a plan.
pub const TABLES_MAX: usize = 1000;

/// The most cells that a plan may have.
pub const CELLS_MAX: usize = 10_000;

/// A plan after reading and checking: every name exists, and every probe, load or tuning accepted its options. A stored run keeps the plan
/// in this form, with its groups expanded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Short name; becomes part of the run's id.
    pub name: String,
    /// Its purpose, for the report.
    pub about: Option<String>,
    /// The publication that it repeats, for the report's citation. Each expectation defines whose sentence it checks.
    pub source: Option<Citation>,
    /// The chosen size, if it is not the one in which its groups are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sized: Option<String>,
    /// The factor that shortened everything against the sizes as written, above 0 and at most 1; absent if nothing was shortened.
    pub scaled: Option<f64>,
    /// Seed of the order and of everything random in the cells.
    pub seed: u64,
    /// In which order the cells run.
    pub order: Order,
    /// How often latido boots each kernel. It measures everything in each boot.
    #[serde(default = "once")]
    pub boots: u32,
    /// The groups, each the product of its axes; empty in a stored run, which has the cells.
    #[serde(skip)]
    pub groups: Vec<Group>,
    /// How latido recognises which of the plan's kernels is running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<kernels::Named>,
    /// The plan's kernel that the running one counts as by the user's choice, whatever it reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_as: Option<String>,
    /// What is expected of the result.
    pub expect: Vec<Expect>,
    /// Sentences of the publication that no figure of this plan decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<Unjudged>,
    /// Which printed numbers the report can show next to the measured ones.
    pub published: Option<Published>,
    /// The tables of its report, as the study lays them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// The figures of its report, as the study draws them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            name: String::new(),
            about: None,
            source: None,
            sized: None,
            scaled: None,
            seed: 0,
            order: Order::default(),
            boots: once(),
            groups: Vec::new(),
            kernels: Vec::new(),
            kernel_as: None,
            expect: Vec::new(),
            unjudged: Vec::new(),
            published: None,
            tables: Vec::new(),
            figures: Vec::new(),
        }
    }
}

impl Plan {
    /// Returns how many cells its declared tables and figures have: at most [`CELLS_MAX`] in a plan that was read.
    pub fn declared_cells(&self) -> usize {
        let figures = self.figures.iter().map(Figure::size);
        self.tables.iter().map(Table::size).chain(figures).fold(0, usize::saturating_add)
    }
}

fn once() -> u32 {
    1
}

/// A publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// Its title.
    pub title: String,
    /// Its author.
    pub author: String,
    /// When it appeared.
    pub year: u16,
    /// Where it appeared: the university, the conference.
    pub place: Option<String>,
}

impl std::fmt::Display for Citation {
    /// `Author: Title. Place, year`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = self.place.as_ref().map(|place| format!("{place}, ")).unwrap_or_default();
        write!(f, "{}: {}. {place}{}", self.author, self.title, self.year)
    }
}

/// Axes and labels, each with the wanted level: `load` to `ramp`, `kind` to `inherit`.
pub type Filter = Vec<(String, String)>;

/// Which cells of a plan a study's printed numbers belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// The study, as [`crate::printed::study`] knows it.
    pub study: String,
    /// The study's name of each system, and the axes that select it here; empty if the plan has no cells for it.
    pub systems: Vec<(String, Filter)>,
    /// The study's name of each quantity, the plan's metric (`mutex.lock`), and the axes and labels that narrow it.
    pub quantities: Vec<(String, String, Filter)>,
    /// The study's name of each quantity that no probe measures yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// How the study took the numbers of a quantity, by the study's name of it; [`Taken::default`] for quantities without an entry.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken: BTreeMap<String, Taken>,
}

/// How a study took the numbers of a quantity, and therefore which measured numbers belong next to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The distribution.
    #[serde(default)]
    pub of: Distribution,
    /// The options of the probe, as text. A cell with other options is another measurement.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl Published {
    /// Returns how the study took the numbers of a quantity.
    pub fn taken(&self, quantity: &str) -> Taken {
        self.taken.get(quantity).cloned().unwrap_or_default()
    }
}

/// One of the two distributions of a periodic probe; of other probes they are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Each missed slot counts with its delay. Limits and expectations use this distribution.
    #[default]
    Corrected,
    /// The wake-ups alone, as cyclictest counts.
    Plain,
}

/// In which order the cells of a plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All cells of repeat 1 in random order, then all of repeat 2: a drift of the machine affects every level equally.
    #[default]
    Interleaved,
    /// The order of the file.
    AsWritten,
}

/// A product of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Levels of the target axis.
    pub target: Vec<String>,
    /// Levels of the kernel axis.
    pub kernel: Vec<String>,
    /// Levels of the tuning axis.
    pub tuning: Vec<Level>,
    /// Levels of the load axis.
    pub load: Vec<Level>,
    /// Levels of the scheduling axis.
    pub scheduling: Vec<Scheduling>,
    /// Levels of the probe axis.
    pub probe: Vec<Probed>,
    /// The conditions of every cell.
    pub conditions: Conditions,
    /// How often the product is repeated.
    pub repeat: u32,
}

/// A level of the probe axis: the probe, and what it measures with these options.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Name and options.
    pub item: Item,
    /// What it measures.
    pub measurand: Measurand,
}

impl Group {
    /// Returns the number of cells, or `None` if it is too large to count.
    pub fn cells(&self) -> Option<usize> {
        let axes = [&self.target, &self.kernel].map(Vec::len).into_iter();
        let axes = axes.chain([self.tuning.len(), self.load.len(), self.scheduling.len(), self.probe.len()]);
        axes.into_iter().try_fold(self.repeat as usize, usize::checked_mul)
    }

    /// Whether all its probes only watch passively, so that it has no policy.
    pub fn looks_on(&self) -> bool {
        self.probe.iter().all(|probe| probe.measurand.looks_on)
    }
}

/// One expectation. It must hold for every matching series, or pair of configurations; without a match the result is inconclusive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expect {
    /// The sentence that it checks.
    pub claim: Option<String>,
    /// Whose sentence that is, in a plan that repeats a publication; the publication's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Sentence>,
    /// Axes and labels with their level: `load = "ramp"`, `scheduling = "fifo 80"`, `kind = "inherit"`.
    pub filter: Filter,
    /// Probe name.
    pub probe: String,
    /// Quantity name.
    pub quantity: String,
    /// Which statistic of the headline distribution.
    pub statistic: Statistic,
    /// The unit of its amounts: `ns`, empty for counts and shares, or the quantity's own unit if it is not a time.
    pub unit: String,
    /// The comparison that must hold.
    pub op: Op,
    /// What the figure is compared with.
    pub against: Against,
    /// The expectation as a sentence, for the report.
    pub text: String,
    /// The line of the plan file, from 1.
    pub line: usize,
}

/// A sentence of the publication that no figure of the plan decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unjudged {
    /// The number of the conclusion that it belongs to.
    pub conclusion: String,
    /// The sentence.
    pub claim: String,
    /// Why no figure decides it.
    pub why: String,
}

/// Whose sentence an expectation is, in a plan that repeats a publication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sentence {
    /// The publication's: its conclusion of this number.
    Study(String),
    /// The plan's own: the publication does not contain it.
    Ours,
}

/// What the figure of an expectation is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// A value in the expectation's unit.
    Value(f64),
    /// The same figure from other cells.
    Than(Than),
}

/// The other side of a comparison: the cells that have these levels and agree in everything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Than {
    /// The axes and labels that differ, with their level on the other side.
    pub levels: Filter,
    /// The least distance that the smaller figure must keep, in the expectation's unit.
    pub by: f64,
    /// The factor by which the smaller figure is multiplied.
    pub times: f64,
    /// How far from equal (after `times`) still counts as equal, .05 for 5 %; if absent, nothing counts as equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Number of samples.
    Count,
    /// Smallest.
    Min,
    /// Mean.
    Mean,
    /// Standard deviation, with n - 1.
    Sd,
    /// Variance of all samples, the second moment about the mean (1/n), in the square of the unit. Only for tables.
    Variance,
    /// Largest.
    Max,
    /// Quantile, 0 to 1: written p50, p99.9.
    Quantile(f64),
    /// Slots that were missed.
    Missed,
    /// Slots that were late.
    Late,
    /// Number of samples above a band edge, in ns: written above100us.
    Above(i64),
    /// Share of the samples at or below a band edge, in ns, 0 to 1: written share1us.
    Share(i64),
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
