//! Pure functions from stored records to judgements: configurations, trust, verdicts, and their sentences.

mod checks;
pub mod configuration;
pub mod decide;
pub mod deciding;
pub mod expect;
pub mod finding;
pub mod headline;
pub mod judgement;
pub mod judging;
pub mod label;
mod limit;
pub mod measured;
pub mod reason;
pub mod repeat;
pub mod trust;
pub mod verdict_wording;
