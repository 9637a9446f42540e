//! How settings are applied: latido takes the steps that a tuning wants, writes each into the journal first, makes it, and reads it back.

pub mod apply;
pub mod knob;

use crate::{machine::Root, step::Step};
use anyhow::Result;
use latido_model::{
    cpus::CpuSet,
    record::{Change, TuningRecord},
};

/// A reversible change of the machine's settings. It only describes what it wants; [`apply::apply`] does it.
pub trait Tuning {
    /// Returns every option, given or default, for the record.
    fn options(&self) -> toml::Table;

    /// Returns what is to change on this machine, in order. It only reads.
    ///
    /// # Errors
    /// The tuning is not possible here: what is missing or refused, and the remedy.
    fn wanted(&self, root: &Root) -> Result<Wanted>;

    /// Returns the CPUs that it reserves for the measured tasks.
    fn isolated(&self) -> Option<&CpuSet> {
        None
    }

    /// Checks the result if reading a knob back does not show everything: sets `in_force` and `note`.
    fn confirm(&self, _root: &Root, _record: &mut TuningRecord) {}
}

/// A resource that latido holds while the tuning is in force. The kernel releases it after any crash.
pub type Hold = Box<dyn FnOnce(&Root) -> Result<(Change, Guard)>>;

/// The held resource. Dropping it releases it.
pub type Guard = Box<dyn std::any::Any + Send>;

/// Changes of things that come and go, or that the kernel may refuse one by one.
pub trait Pursuit {
    /// Returns the steps that are left now. latido asks again after each round, until there are none.
    ///
    /// # Errors
    /// The steps cannot be determined.
    fn left(&mut self, root: &Root) -> Result<Vec<Step>>;

    /// Handles a step that the kernel refused: notes it, and does not return it again.
    ///
    /// # Errors
    /// The tuning is useless without it.
    fn refused(&mut self, root: &Root, step: &Step, error: anyhow::Error) -> Result<()>;

    /// Returns a note for the user, at the end.
    fn told(&self, root: &Root) -> Option<String>;
}

/// What a tuning wants to change.
#[derive(Default)]
pub struct Wanted {
    /// Changes that are journalled and undone, in order.
    pub steps: Vec<Step>,
    /// Further changes after these steps, while there are any.
    pub pursuit: Option<Box<dyn Pursuit>>,
    /// The resources to hold in addition.
    pub holds: Vec<Hold>,
    /// A note for the user.
    pub note: Option<String>,
}

/// A tuning in force.
pub struct Applied {
    /// What was changed.
    pub record: TuningRecord,
    /// The held resources. The journal restores the settings.
    pub guard: Guard,
}
