//! Pure functions from stored records to judgements: configurations, trust, verdicts, and their sentences.

mod budget;
mod by_hand;
pub mod cause;
mod checks;
mod comparison_wording;
pub mod configuration;
pub mod decide;
pub mod deciding;
pub mod expect;
pub mod finding;
pub mod foreign;
pub mod headline;
pub mod judgement;
pub mod judging;
pub mod label;
mod limit;
pub mod load_course;
pub mod measured;
pub mod outcome;
pub mod parts;
pub mod reason;
pub mod repeat;
mod run_delay;
mod tracing;
pub mod trust;
mod trusted;
pub mod verdict_wording;
