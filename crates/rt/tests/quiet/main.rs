//! The measuring part of each loop allocates nothing and causes no page fault.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod counting;
mod loops;
mod tasks;
