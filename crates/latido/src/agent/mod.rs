//! The target's side of a cell: the supervisor, and the measuring process that it starts.
//!
//! The supervisor holds everything that must be put back (tunings, loads, lock, journal) in a process that survives the
//! measuring one; the measuring process holds everything real-time and forks nothing.

pub mod assignment;
pub mod journal;
pub mod lock;
pub mod measure;
pub mod permission;
pub mod reporter;
pub mod series;
pub mod stage;
pub mod supervise;
mod threads;
mod watch;
