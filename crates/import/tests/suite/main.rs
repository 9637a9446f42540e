//! The readers take real outputs of other tools as they print them. One binary, with a module for each family of tools.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod common;
mod contradictions;
mod cyclictest;
mod dual_kernels;
mod others;
mod rt_tests;
mod rtai;
mod rtla;
mod samples;
mod torn;
