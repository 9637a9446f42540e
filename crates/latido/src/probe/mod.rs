//! Measuring procedures: one file each and one line in [`PROBES`].

mod compute;
mod gap;
mod mutex;
mod null;
mod pendulum;
mod priority;
mod rounds;
mod sleep;
mod switch;
mod wakeup;

pub use switch::partner::run as partner;

use crate::{agent::stage::Stage, cell::Cell, cpus::CpuSet, registry::Def, units::Ns};
use anyhow::Result;

/// Every probe.
pub const PROBES: &[Def<dyn Probe>] = &[
    wakeup::DEF,
    gap::DEF,
    mutex::DEF,
    priority::DEF,
    sleep::DEF,
    switch::DEF,
    compute::DEF,
    pendulum::DEF,
    null::DEF,
];

/// A measuring procedure. Built from its options on the host (to refuse nonsense before anything starts) and again in
/// the measuring process on the target (to measure).
pub trait Probe {
    /// Every option after defaults, for the record.
    fn options(&self) -> toml::Table;

    /// The quantities it yields, as expectations name them.
    fn quantities(&self) -> &'static [&'static str];

    /// The unit of a quantity: `ns`, `ps` (also a time), or one that is no time, such as `urad`.
    fn unit(&self, _quantity: &str) -> &'static str {
        "ns"
    }

    /// The quantities that limits and headlines look at: how long a sleep was asked to be, or what the clock costs, is
    /// nobody's failure.
    fn judged(&self) -> &'static [&'static str] {
        self.quantities()
    }

    /// What tells its series of one quantity apart, with the values possible: `kind` of a mutex, `size` of a matrix.
    fn labels(&self) -> Vec<(&'static str, Vec<String>)> {
        Vec::new()
    }

    /// Its options that count samples (`cycles`, `iterations`): what `--scale` shortens besides the duration. 0 means
    /// without end there and stays.
    fn counts(&self) -> &'static [&'static str] {
        &[]
    }

    /// Refuses a cell that this probe cannot measure, with the reason and the remedy.
    ///
    /// # Errors
    /// The reason.
    fn check(&self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// The CPUs it measures when none are named.
    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        allowed.clone()
    }

    /// How long it takes to have its own number of samples, as far as its options say: for the time that a plan needs.
    fn expected(&self) -> Option<Ns> {
        None
    }

    /// Whether the cell ends after a number of samples of the probe's own instead of after the cell's duration.
    fn counts_samples(&self) -> bool {
        false
    }

    /// Measures: runs in a process of its own, on threads that the stage prepares.
    ///
    /// # Errors
    /// What kept it from measuring at all; what merely weakens the result is evidence in the stage.
    fn measure(&self, stage: &mut Stage<'_>) -> Result<()>;
}
