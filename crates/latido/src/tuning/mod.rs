//! Reversible changes of the machine's settings: one file each and one line in [`TUNINGS`].

pub mod apply;
pub mod by_hand;
mod ethtool;
mod fake;
mod form;
mod group;
pub mod isolate;
mod knob;
#[cfg(test)]
mod recorded;
mod refusal;
pub mod step;
mod thread;
#[cfg(test)]
mod trees;
#[cfg(test)]
mod trial;

mod boot;
mod cache;
mod cstates;
mod frequency;
mod irq_priority;
mod irqs;
mod ksm;
mod nic;
mod numa_balancing;
mod preempt;
mod printk;
mod rcu;
mod resume_latency;
mod smt;
mod thp;
mod throttle;
mod timers;
mod vm_stat;
mod watchdog;
mod workqueues;

use crate::{
    cpus::CpuSet,
    machine::Root,
    record::{Change, TuningRecord},
    registry::Def,
};
use anyhow::Result;
use step::Step;

/// Every tuning.
pub const TUNINGS: &[Def<dyn Tuning>] = &[
    cstates::DEF,
    isolate::DEF,
    irqs::DEF,
    frequency::DEF,
    smt::DEF,
    throttle::DEF,
    preempt::DEF,
    irq_priority::DEF,
    rcu::DEF,
    timers::DEF,
    workqueues::DEF,
    watchdog::DEF,
    numa_balancing::DEF,
    thp::DEF,
    ksm::DEF,
    vm_stat::DEF,
    cache::DEF,
    nic::DEF,
    printk::DEF,
    resume_latency::DEF,
    boot::DEF,
];

/// A reversible change of the machine's settings. It only says what it wants; [`apply::apply`] does it.
pub trait Tuning {
    /// Every option after defaults, for the record.
    fn options(&self) -> toml::Table;

    /// What is to change on this machine, in order, found by reading alone.
    ///
    /// # Errors
    /// It cannot be had here: what is missing or refused, and the remedy.
    fn wanted(&self, root: &Root) -> Result<Wanted>;

    /// The CPUs that it keeps for what is measured.
    fn isolated(&self) -> Option<&CpuSet> {
        None
    }

    /// Looks at what came of it, where reading a knob back does not tell all: sets `in_force` and `note`.
    fn confirm(&self, _root: &Root, _record: &mut TuningRecord) {}
}

/// Something to be held while the tuning is in force; the kernel itself lets go of it after any crash.
pub type Hold = Box<dyn FnOnce(&Root) -> Result<(Change, Guard)>>;

/// Dropping it lets go.
pub type Guard = Box<dyn std::any::Any + Send>;

/// Changes of things that come and go, or that the kernel may refuse one by one.
pub trait Pursuit {
    /// What is left to change now: asked again after each round, until there is nothing.
    ///
    /// # Errors
    /// It cannot be told.
    fn left(&mut self, root: &Root) -> Result<Vec<Step>>;

    /// The kernel refuses one of them: note it, and do not ask for it again.
    ///
    /// # Errors
    /// The tuning is nothing without it.
    fn refused(&mut self, root: &Root, step: &Step, error: anyhow::Error) -> Result<()>;

    /// What a person should know of it, at the end.
    fn told(&self, root: &Root) -> Option<String>;
}

/// What a tuning wants to change.
#[derive(Default)]
pub struct Wanted {
    /// Changes that are journalled and undone, in order.
    pub steps: Vec<Step>,
    /// What is changed after these, as long as there is any of it.
    pub pursuit: Option<Box<dyn Pursuit>>,
    /// What is held besides.
    pub holds: Vec<Hold>,
    /// What a person should know.
    pub note: Option<String>,
}

/// A tuning in force.
pub struct Applied {
    /// What was changed.
    pub record: TuningRecord,
    /// What is held; settings are put back by the journal.
    pub guard: Guard,
}
