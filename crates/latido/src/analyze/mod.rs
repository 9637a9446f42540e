//! Pure functions from stored records to judgements: distributions, trust, verdicts, configurations.

mod checks;
pub mod configuration;
pub mod consistency;
pub mod deciding;
pub mod expect;
pub mod headline;
pub mod judge;
pub mod label;
pub mod ranks;
#[cfg(test)]
pub mod sample;
pub mod summary;
pub mod trust;
pub mod verdict;

use crate::{
    record::Series,
    store::{SeriesData, StoredCell},
};
use anyhow::Result;

/// Fetches the data beside a record: from the disk (`store::series_data`), or from memory where the disk is full.
pub type Load<'a> = &'a dyn Fn(&StoredCell, &Series) -> Result<SeriesData>;
