//! Thin, safe wrappers of the kernel facilities that a measurement needs, one file each.
//!
//! This is the only crate of latido with unsafe code; every block states why it is sound.
//!
//! It decides nothing and logs nothing: each function makes its calls, and the caller gets the kernel's result.
//!
//! Each kernel facility has exactly one wrapper. Two kinds of facilities have a file here, and all code uses it: those that measuring
//! threads use (clocks, scheduling, affinity, timer slack, locked memory, timers, mutexes, handoffs, signals to a thread, resource usage),
//! and those that only unsafe code can reach (what a child sets up before it runs its program, memory shared between processes, the
//! identity for file access). All other facilities are used through the standard library or, where it has no function, through rustix:
//! processes, groups and their signals, files and their locks, limits, rights, terminals.

pub mod clock;
pub mod cobalt;
mod cokernel;
pub mod descriptor;
pub mod dual;
mod errno;
pub mod evl;
pub mod gpio;
pub mod handoff;
pub mod hpet;
pub mod identity;
mod ioctl;
mod layout;
pub mod mapped;
pub mod memory;
pub mod mutex;
pub mod net;
pub mod parport;
pub mod priority;
pub mod process;
pub mod procfs;
pub mod sched;
pub mod semaphore;
pub mod shared;
pub mod signal;
pub mod timer;
pub mod tsc;
pub mod uart;
pub mod uio;
pub mod usage;
pub mod writeback;

pub use errno::Errno;
