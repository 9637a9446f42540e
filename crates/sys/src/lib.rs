//! Thin, safe wrappers of the kernel facilities that a measurement needs, one file each.
//!
//! This is the only crate of latido with unsafe code; every block states why it is sound.
//!
//! It decides nothing and logs nothing: each function makes its calls, and the caller gets the answer of the kernel.
//!
//! Which door to the kernel: a facility that measuring threads use (clocks, scheduling, affinity, timer slack, locked
//! memory, timers, mutexes, handoffs, signals to a thread, resource usage), or that only unsafe code can reach (what a child
//! sets up before it becomes its program, memory shared between processes, as whom a thread reaches files), has its file
//! here, and everybody goes through it. Every other one goes through the standard library, and where that has nothing
//! through rustix: processes, groups and their signals, files and their locks, limits, rights, terminals. No facility has
//! two doors.

pub mod clock;
pub mod descriptor;
mod errno;
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
