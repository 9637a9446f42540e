//! Pure functions from stored records to judgements: distributions, trust, verdicts, configurations.

mod checks;
pub mod configuration;
pub mod deciding;
pub mod expect;
pub mod headline;
pub mod judge;
pub mod judgement;
pub mod label;
pub mod trust;
