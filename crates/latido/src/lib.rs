//! latido: a laboratory for real-time Linux. The command line, the host that runs plans on targets, and the store.
//!
//! This crate measures nothing and changes no setting itself: an agent does, here or on another machine. It computes no figure and draws no
//! page: crate `report` does.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
mod durable;
pub mod host;
pub mod import;
pub mod lab;
pub mod machines;
pub mod output;
mod person;
pub mod stop;
pub mod store;
