//! What disturbs the machine while a probe runs: one file each and one line in [`LOADS`].

pub mod alone;
pub mod running;

mod command;
mod none;
mod spin;
mod stress_cpu;
mod stress_ng;

use crate::{cpus::CpuSet, registry::Def, units::Ns};
use anyhow::Result;

/// Every load.
pub const LOADS: &[Def<dyn Load>] = &[none::DEF, stress_cpu::DEF, spin::DEF, stress_ng::DEF, command::DEF];

/// A load. It is always a program of its own; this says which.
pub trait Load {
    /// Every option after defaults, for the record.
    fn options(&self) -> toml::Table;

    /// The program to start, or `None` for a load that is nothing.
    ///
    /// # Errors
    /// The program is missing, with the command that installs it.
    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>>;

    /// How long it takes from the start to the full load.
    fn settle(&self) -> Ns {
        Ns::from_millis(500)
    }

    /// For a load that latido itself bears (`latido load NAME`): does it until ended from outside. `None` for the
    /// others.
    fn bear(&self) -> Option<Result<()>> {
        None
    }
}

/// What a load may need to know.
pub struct Surroundings {
    /// The CPUs it may use.
    pub allowed: CpuSet,
    /// The cell's seed.
    pub seed: u64,
}

/// A program to start.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its version as it prints it.
    pub version: Option<String>,
    /// What a person should know.
    pub note: Option<String>,
}
