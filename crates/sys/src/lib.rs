//! Thin, safe wrappers of the kernel facilities that a measurement needs, one file each.
//!
//! This is the only crate of latido with unsafe code; every block states why it is sound.

pub mod clock;
mod errno;
pub mod handoff;
pub mod memory;
pub mod mutex;
pub mod priority;
pub mod process;
pub mod procfs;
pub mod sched;
pub mod semaphore;
pub mod shared;
pub mod signal;
pub mod tsc;
pub mod usage;

pub use errno::Errno;
