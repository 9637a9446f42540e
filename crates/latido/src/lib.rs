//! latido: a laboratory for real-time Linux. The binary's parts, as a library so that tests and fuzzers reach them.
#![forbid(unsafe_code)]

pub mod agent;
pub mod analyze;
pub mod cell;
pub mod check;
pub mod cli;
pub mod cpus;
pub mod fault;
pub mod host;
pub mod load;
pub mod machine;
pub mod plan;
pub mod probe;
pub mod protocol;
pub mod published;
pub mod record;
pub mod registry;
pub mod report;
pub mod store;
pub mod suggest;
pub mod target;
pub mod tuning;
pub mod units;
