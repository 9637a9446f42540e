//! Pure functions from stored records to judgements: distributions, trust, verdicts, configurations.

pub mod configuration;
pub mod trust;
pub mod verdict;
