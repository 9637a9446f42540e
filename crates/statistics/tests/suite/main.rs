//! The statistics as a caller meets them: against reference values, as properties, and the tail's gate against simulations.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod gate;
mod properties;
mod reference;
