//! The tests of the crate from outside, in one binary: each module is a subject.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../common/mod.rs"]
mod common;

mod broken;
mod handed;
mod memory;
mod missing;
mod pairs;
mod shapes;
mod stamps;
mod text;
mod text_properties;
mod times;
