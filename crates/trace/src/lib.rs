//! Kernel traces: what a file or a ring buffer holds, decoded at the speed of memory.
//!
//! Pure: bytes in, events out. Nothing is opened, nothing is copied that need not be, and whatever the bytes say, nothing
//! panics, hangs, or allocates more than they could hold.
//!
//! It records nothing and judges nothing: crate `agent` has the kernel trace, crate `report` says what a trace means for a run.

pub mod accounts;
pub mod bytes;
pub mod calls;
pub mod distribution;
pub mod events;
pub mod explain;
pub mod file;
pub mod format;
pub mod merge;
pub mod page;
pub mod pairing;
pub mod recorded;
pub mod stamps;
pub mod summary;
pub mod tasks;
pub mod text;
pub mod write;
