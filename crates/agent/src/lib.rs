//! The part of latido that runs on the machine under test: probes, loads and tunings, the processes that run them, and the code that
//! restores the machine.
//!
//! It does not decide what to measure, and it stores, judges and draws no run: the host does that.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "its stdout is the stream to the process that started it, never a terminal"
)]

pub mod capture;
pub mod catalogue;
pub mod check;
pub mod far;
pub mod fault;
#[cfg(test)]
mod fixture {
    //! Machines that are only files, for tests.

    pub mod machine;
    mod recorded;
    pub mod trees;
    pub mod trial;
}
pub mod guest;
pub mod journal;
pub mod load;
pub mod loading;
pub mod machine;
pub mod measure;
pub mod measuring;
pub mod person;
pub mod probe;
pub mod program;
mod rights;
pub mod role;
pub mod scratch;
pub mod setting;
pub mod station;
pub mod step;
pub mod supervise;
pub mod tuning;
