//! How reports say things: numbers, units, names and rates as crate `judge` has them, names that are too long, and verdicts.

mod apart;
mod marks;

pub use apart::apart;
pub use latido_judge::words::*;
pub use marks::{Said, Tone, finding, outcome, verdict};
