//! From stored runs to what people read: judgements, tables, figures, pages. Pure functions of runs: nothing here asks a
//! machine anything, and what must be known of a probe lies in the run.
#![forbid(unsafe_code)]

pub mod chapter;
pub mod characterisation;
pub mod check;
pub mod csv;
pub mod figures;
pub mod html;
pub mod input;
pub mod json;
pub mod judge;
pub mod latex;
pub mod live;
pub mod markdown;
pub mod notes;
pub mod rate;
#[cfg(test)]
pub mod sample;
#[cfg(test)]
pub mod sample_calls;
pub mod scale;
pub mod section;
pub mod sentence;
pub mod sheet;
pub mod span;
pub mod statistics;
pub mod study;
pub mod summary;
pub mod table;
pub mod terminal;
pub mod terminal_show;
pub mod unit;
pub mod words;

pub use input::{ReportInput, RunPart};

pub use terminal_show::show;
