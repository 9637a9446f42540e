//! Kernel traces: decodes the content of a file or a ring buffer, at the speed of memory.
//!
//! The crate is pure: bytes in, events out. It opens nothing and copies only what it must. Whatever the bytes contain, it does not panic,
//! does not hang, and allocates no more than the bytes could contain.
//!
//! It records nothing and judges nothing: crate `agent` makes the kernel trace, crate `report` explains what a trace means for a run.

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
