//! From stored runs to what people read: judgements, tables, figures, pages. Pure functions of runs: nothing here asks a
//! machine anything, and what must be known of a probe lies in the run.
//!
//! It opens and writes no file, measures nothing and changes no run: it returns text and bytes, and crate `latido` writes them.
#![forbid(unsafe_code)]

pub mod check;
pub mod compare;
pub mod effects;
pub mod export;
pub mod figures;
pub mod formats;
pub mod history;
pub mod html;
pub mod input;
pub mod judged;
pub mod live;
pub mod numbers;
#[cfg(test)]
pub mod sample;
pub mod study;
pub mod tables;
pub mod terminal;
pub mod traced;
pub mod tree;
pub mod words {
    //! How reports say things: numbers, units, names and rates as crate `judge` has them, names that are too long, and verdicts.

    mod apart;
    mod marks;

    pub use apart::apart;
    pub use latido_judge::words::*;
    pub use marks::{Said, Tone, finding, outcome, verdict};
}

pub use formats::{FORMATS, render};
pub use input::{ReportInput, RunPart};
pub use terminal::show;
