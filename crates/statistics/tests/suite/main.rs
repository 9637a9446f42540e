//! The statistics from the view of a caller: compared with reference values, as properties, and the tail's gate with simulations.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod gate;
mod properties;
mod reference;
