//! Running loads: latido starts them, checks that they live, collects their counts, and ends them with all that they left.

pub mod account;
pub mod listening;
pub mod metrics;
pub mod orphans;
pub mod rates;
pub mod running;
pub mod source;
mod steps;
pub mod work;

use crate::program::Program;
use anyhow::Result;
use latido_model::{cell::Item, cpus::CpuSet, record::Skip, units::Ns};

/// A load. It is always a separate program, which this trait names.
pub trait Load {
    /// Returns every option after defaults, for the record.
    fn options(&self) -> toml::Table;

    /// Returns the program to start, or `None` for a load that does nothing.
    ///
    /// # Errors
    /// The program is missing. The error gives the command that installs it.
    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>>;

    /// For a preset, returns the loads that it consists of here, all at once. `None` for any other load.
    fn parts(&self, _around: &Surroundings) -> Option<Parts> {
        None
    }

    /// Returns the time from the start to the full load.
    fn settle(&self) -> Ns {
        Ns::from_millis(500)
    }

    /// Runs a load that is part of latido (`latido load NAME`) until another process ends it. `None` for other loads.
    fn bear(&self) -> Option<Result<()>> {
        None
    }
}

/// The parts of a preset on this machine.
#[derive(Debug, Default)]
pub struct Parts {
    /// The loads, none of them a preset.
    pub items: Vec<Item>,
    /// What is left out or replaced, and why.
    pub skipped: Vec<Skip>,
}

/// What a load may need for its start.
pub struct Surroundings {
    /// The CPUs it may use.
    pub allowed: CpuSet,
    /// The CPUs from which it derives its number of workers: all that latido may use before any is isolated. So a cell with an isolated CPU
    /// and a cell without one have the same load.
    pub counted: CpuSet,
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
    /// A note for the user.
    pub note: Option<String>,
    /// The commands that it runs itself, where they differ from `argv`.
    pub commands: Vec<String>,
    /// The programs that it starts itself.
    pub programs: Vec<Program>,
    /// How it reports its work.
    pub manner: account::Manner,
}

impl Launch {
    /// Returns the launch of a command about which nothing else is known.
    pub fn of(argv: Vec<String>) -> Self {
        let (commands, programs) = (Vec::new(), Vec::new());
        Self { argv, version: None, note: None, commands, programs, manner: account::Manner::default() }
    }
}
