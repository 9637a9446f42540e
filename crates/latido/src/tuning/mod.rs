//! Reversible changes of the machine's settings: one file each and one line in [`TUNINGS`].

mod cstates;

use crate::{record::TuningRecord, registry::Def};
use anyhow::Result;

/// Every tuning.
pub const TUNINGS: &[Def<dyn Tuning>] = &[cstates::DEF];

/// A reversible change of the machine's settings.
pub trait Tuning {
    /// Every option after defaults, for the record.
    fn options(&self) -> toml::Table;

    /// Applies it. The guard puts everything back when dropped.
    ///
    /// # Errors
    /// What was refused, where, and the remedy; nothing is left half-applied.
    fn apply(&self) -> Result<Applied>;
}

/// A tuning in force.
pub struct Applied {
    /// What was changed.
    pub record: TuningRecord,
    /// Holds the setting; dropping it puts the original back.
    pub guard: Box<dyn std::any::Any + Send>,
}
