//! What disturbs the machine while a probe runs: one file each and one line in [`LOADS`].

pub mod account;
pub mod alone;
pub mod running;
pub mod scratch;

mod archive;
mod command;
mod compile;
mod compound_2008;
mod cpu_memory_video;
mod disk;
mod interrupts;
mod iperf3;
mod memory;
mod messaging;
pub mod metrics;
mod none;
pub mod rates;
mod rt_interference;
mod source;
mod spin;
mod stress_cpu;
mod stress_ng;
mod tree;
mod udp_flood;
mod udp_sink;
mod video;
mod work;

use crate::{
    cell::Item,
    cpus::CpuSet,
    record::Skip,
    registry::{self, Def},
    units::Ns,
};
use anyhow::Result;

/// Every load.
pub const LOADS: &[Def<dyn Load>] = &[
    none::DEF,
    stress_cpu::DEF,
    spin::DEF,
    stress_ng::DEF,
    rt_interference::DEF,
    video::DEF,
    udp_flood::DEF,
    udp_sink::DEF,
    iperf3::DEF,
    disk::DEF,
    tree::DEF,
    archive::DEF,
    compile::DEF,
    messaging::DEF,
    memory::DEF,
    interrupts::DEF,
    cpu_memory_video::DEF,
    compound_2008::DEF,
    command::DEF,
];

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

/// The loads to start for the items of a cell, presets taken apart.
///
/// # Errors
/// An item that is no load.
pub fn parts(items: &[Item], around: &Surroundings) -> Result<Parts> {
    let mut all = Parts::default();
    for item in items {
        match registry::build("load", LOADS, item)?.parts(around) {
            Some(parts) => {
                all.items.extend(parts.items);
                all.skipped.extend(parts.skipped);
            }
            None => all.items.push(item.clone()),
        }
    }
    Ok(all)
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
    /// The commands that it carries out itself, where they are others.
    pub commands: Vec<String>,
    /// How it tells what it did.
    pub manner: account::Manner,
}

impl Launch {
    /// A command of which no more is known.
    pub fn of(argv: Vec<String>) -> Self {
        Self { argv, version: None, note: None, commands: Vec::new(), manner: account::Manner::default() }
    }
}
