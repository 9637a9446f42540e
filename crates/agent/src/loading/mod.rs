//! Loads at work: started, proved alive, asked what they did, ended with all that they left.

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

/// A load. It is always a program of its own; this says which.
pub trait Load {
    /// Every option after defaults, for the record.
    fn options(&self) -> toml::Table;

    /// The program to start, or `None` for a load that is nothing.
    ///
    /// # Errors
    /// The program is missing, with the command that installs it.
    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>>;

    /// For a preset: the loads that it stands for here, all at once. `None` for a load of its own.
    fn parts(&self, _around: &Surroundings) -> Option<Parts> {
        None
    }

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

/// What a preset stands for on this machine.
#[derive(Debug, Default)]
pub struct Parts {
    /// The loads, none of them a preset.
    pub items: Vec<Item>,
    /// What is left out or replaced, and why.
    pub skipped: Vec<Skip>,
}

/// What a load may need to know.
pub struct Surroundings {
    /// The CPUs it may use.
    pub allowed: CpuSet,
    /// The CPUs by which it counts its workers: all that latido may use before any is isolated, so that a cell with an
    /// isolated CPU and one without bear the same load.
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
    /// What a person should know.
    pub note: Option<String>,
    /// The commands that it carries out itself, where they are others.
    pub commands: Vec<String>,
    /// The programs that it starts itself.
    pub programs: Vec<Program>,
    /// How it tells what it did.
    pub manner: account::Manner,
}

impl Launch {
    /// A command of which no more is known.
    pub fn of(argv: Vec<String>) -> Self {
        let (commands, programs) = (Vec::new(), Vec::new());
        Self { argv, version: None, note: None, commands, programs, manner: account::Manner::default() }
    }
}
