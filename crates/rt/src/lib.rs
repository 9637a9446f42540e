//! The measuring loops and the memory they write to: no allocation, no lock and no panic inside a loop.
//!
//! It does not choose CPUs, set policies, lock memory or write files: crate `agent` prepares a thread and takes what the
//! loop recorded.
//!
//! A measurement goes through five steps, each thread on its own:
//!
//! 1. allocate: [`recorder::new`] gives the [`Recorder`] (the writing end, for the measuring thread) and the
//!    [`Reader`] (for a housekeeping thread);
//! 2. lock memory, set policy and affinity on the measuring thread (`latido_sys`);
//! 3. rehearse: [`wakeup::rehearse`], [`gap::rehearse`] and their like run every cold path once, so that code and data
//!    are resident, and forget what that recorded;
//! 4. run: [`wakeup::run`], [`gap::run`]; meanwhile the reader drains finished blocks and takes snapshots;
//! 5. finish: the reader takes the writing end back and gives the whole result.
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
