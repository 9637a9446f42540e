//! The measuring loops and the memory they write to: no allocation, no lock and no panic inside a loop.
//!
//! This crate does not choose CPUs, set policies, lock memory or write files: crate `agent` prepares a thread and takes what the loop
//! recorded.
//!
//! Each measuring thread goes through five steps:
//!
//! 1. allocate: [`recorder::new`] returns the [`Recorder`] (the writing end, for the measuring thread) and the [`Reader`] (for a
//!    housekeeping thread);
//! 2. prepare: the measuring thread locks memory and sets its policy and affinity (`latido_sys`);
//! 3. dry run: [`wakeup::rehearse`], [`gap::rehearse`] and their counterparts run every cold path once, so that code and data are resident,
//!    and then clear the recorder;
//! 4. run: [`wakeup::run`], [`gap::run`] and so on; meanwhile the reader drains finished blocks and takes snapshots;
//! 5. finish: the reader takes the writing end back and returns the whole result.
#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::arithmetic_side_effects
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod block;
pub mod buckets;
pub mod compute;
pub mod end;
pub mod gap;
pub mod inversion;
pub mod mutex;
pub mod pendulum;
pub mod priority;
pub mod recorder;
pub mod rounds;
pub mod sleep;
pub mod stamped;
pub mod switch;
pub mod wakeup;
mod word;

pub use block::{Block, BlockSeries, Class, Sample};
pub use recorder::{
    Config, ConfigError, Distribution, Glance, Reader, Recorder, RecorderPhase, SlotCounts, Snapshot, SpinCounts,
};
