//! The services for a probe in the measuring process: it prepares threads and starts them together, counts samples, and reads the evidence
//! back.

pub mod assignment;
mod clocks;
mod freeze;
mod gathered;
mod looped;
pub mod out_of_band;
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
use anyhow::{Result, bail};
use latido_model::{cell::Cell, cpus::CpuSet, registry::Options};

/// A measuring procedure. Built from its options on the host (to refuse nonsense before anything starts) and again in
/// the measuring process on the target (to measure).
pub trait Probe: Options {
    /// Returns what it measures with its options.
    fn measurand(&self) -> Measurand;

    /// Refuses a cell that this probe cannot measure, with the reason and the remedy.
    ///
    /// # Errors
    /// The reason.
    fn check(&self, _cell: &Cell) -> Result<()> {
        Ok(())
    }

    /// Refuses to measure with threads that a real-time core beside the kernel schedules, with the reason.
    ///
    /// # Errors
    /// Which of its calls only the kernel has.
    fn out_of_band(&self) -> Result<()> {
        bail!("this probe makes calls that only the kernel has; the probe `wakeup` measures out of band")
    }

    /// Refuses a cell that this probe cannot measure: [`Self::check`], and [`Self::out_of_band`] where a core schedules the threads.
    ///
    /// # Errors
    /// The reason.
    fn admit(&self, cell: &Cell) -> Result<()> {
        if cell.scheduling.core().is_some() {
            self.out_of_band()?;
        }
        self.check(cell)
    }

    /// Returns the CPUs that it measures if the cell names none.
    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        allowed.clone()
    }

    /// Returns what the kernel must record meanwhile, if the samples are taken from that ([`Stage::watch`]) or joined with it; `None` for a
    /// probe that measures only in its own loops.
    fn wants(&self) -> Option<Wanted> {
        None
    }

    /// Refuses a machine that lacks what the probe needs. It only reads. latido skips the cells there.
    ///
    /// # Errors
    /// What is missing, and what to load or enable.
    fn lacks(&self, _root: &Root) -> Result<()> {
        Ok(())
    }

    /// Whether it only watches passively: it has neither a loop nor a policy.
    fn looks_on(&self) -> bool {
        self.wants().is_some_and(|wanted| !wanted.beside)
    }

    /// Whether it changes a setting of the machine: then no other process may measure meanwhile.
    fn changes(&self) -> bool {
        false
    }

    /// Returns the program that it starts: a guest of the laboratory must have it.
    fn starts(&self) -> Option<&str> {
        None
    }

    /// Measures, in a separate process, on threads that the stage prepares.
    ///
    /// # Errors
    /// Why it could not measure at all. What merely weakens the result goes into the stage's evidence.
    fn measure(&self, stage: &mut Stage<'_>) -> Result<()>;
}
