//! The wording of reports: numbers, units, names and rates as crate `judge` writes them, names that are too long, and verdicts.

mod apart;
mod marks;

pub use apart::apart;
pub use latido_judge::words::*;
pub use marks::{Said, Tone, finding, outcome, verdict};
