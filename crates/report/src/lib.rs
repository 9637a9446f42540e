//! From stored runs to what people read: judgements, tables, figures, pages. All are pure functions of runs: nothing here queries a
//! machine, and a run contains everything about its probes.
//!
//! This crate opens and writes no file, measures nothing and changes no run: it returns text and bytes, and crate `latido` writes them.
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
pub mod paper;
#[cfg(test)]
pub mod sample;
pub mod study;
pub mod tables;
pub mod terminal;
pub mod traced;
pub mod tree;
pub mod unique;
pub mod words;

pub use formats::{FORMATS, render};
pub use input::{ReportInput, RunPart};
pub use terminal::{brief, show};
