//! What a probe finds in the measuring process: threads prepared and let go together, samples counted, evidence read
//! back.

pub mod assignment;
mod clocks;
mod freeze;
mod gathered;
mod looped;
pub mod permission;
pub mod reporter;
pub mod rounds;
pub mod series;
pub mod stage;
pub mod threads;
mod wanted;

pub use gathered::{Gathered, Place};
pub use latido_model::{
    quantity::{Measurand, Quantity},
    registry::{Def, with_defaults},
};
pub use looped::Interval;
pub use series::Fact;
pub use stage::Stage;
pub use wanted::{Enough, HandlerAt, On, Stamped, Stamping, Tracer, Wanted};

use crate::machine::Root;
use anyhow::Result;
use latido_model::{cell::Cell, cpus::CpuSet, registry::Options};

/// A measuring procedure. Built from its options on the host (to refuse nonsense before anything starts) and again in
/// the measuring process on the target (to measure).
pub trait Probe: Options {
    /// What it measures with its options.
    fn measurand(&self) -> Measurand;

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

    /// What is to be recorded meanwhile, where the samples are taken from that ([`Stage::watch`]) or joined with it; `None` for
    /// a probe that measures in loops of its own alone.
    fn wants(&self) -> Option<Wanted> {
        None
    }

    /// Refuses a machine that lacks what it measures, found by reading alone: its cells are skipped there.
    ///
    /// # Errors
    /// What is missing, and what to load or enable.
    fn lacks(&self, _root: &Root) -> Result<()> {
        Ok(())
    }

    /// Whether it only looks on: it has no loop of its own, and no policy.
    fn looks_on(&self) -> bool {
        self.wants().is_some_and(|wanted| !wanted.beside)
    }

    /// Whether it changes a setting of the machine: then nobody else measures meanwhile.
    fn changes(&self) -> bool {
        false
    }

    /// The program that it starts: a guest of the laboratory must have it.
    fn starts(&self) -> Option<&str> {
        None
    }

    /// Measures: runs in a process of its own, on threads that the stage prepares.
    ///
    /// # Errors
    /// What kept it from measuring at all; what merely weakens the result is evidence in the stage.
    fn measure(&self, stage: &mut Stage<'_>) -> Result<()>;
}
