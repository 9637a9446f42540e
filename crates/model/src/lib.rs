//! latido's terms as types: units and CPU sets, plans and cells, records and their stored form, the protocol between host and agent. The
//! crate is pure: nothing here reads a machine.
//!
//! It measures, stores and judges nothing. It defines the terms, and the crates above it use them.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod cell;
pub mod check;
pub mod clean;
pub mod consistency;
pub mod cpus;
pub mod exit;
pub mod explain;
pub mod machine;
#[cfg(any(test, feature = "sample"))]
pub mod needs;
mod null;
pub mod places;
pub mod plan;
pub mod printed;
pub mod protocol;
pub mod published;
pub mod quantity;
pub mod ranks;
pub mod record;
pub mod registry;
pub mod run;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod suggest;
pub mod summary;
pub mod units;
pub mod verdict;
pub mod written;
