//! Settings on their way: what a tuning wants is applied step by step, journalled first, read back.

pub mod apply;
pub mod knob;

use crate::{machine::Root, step::Step};
use anyhow::Result;
use latido_model::{
    cpus::CpuSet,
    record::{Change, TuningRecord},
};

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
