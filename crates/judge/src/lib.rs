//! Turns stored records into judgements: configurations, trust checks, verdicts, comparisons, tails and causes. Its functions are pure
//! functions of runs.
//!
//! This crate opens no file and queries no machine. It puts findings into words, but knows no pages, tables, colours or formats: crate
//! `report` draws its results.
#![forbid(unsafe_code)]

mod budget;
pub mod by_trace;
pub mod cause;
pub mod chains;
pub mod coarse;
pub mod compare;
pub(crate) mod comparison_wording;
pub mod configuration;
pub mod copies;
pub mod crowds;
pub mod deadline_wording;
mod deadlines;
pub mod decide;
pub mod deciding;
pub mod differing;
pub mod effects;
pub mod expect;
pub mod extremes;
pub mod factors;
pub mod finding;
pub mod foreign;
pub mod headline;
mod headline_wording;
pub mod history;
pub mod judgement;
pub mod judging;
pub mod label;
pub mod late;
mod limit;
pub mod maxima;
pub mod measured;
pub mod names;
pub mod numbers;
pub mod observed;
pub mod outcome;
pub mod parts;
pub mod planning {
    //! What a plan can decide, computed before anything is measured: whether its repeats suffice, what a budget costs, what a pilot shows.

    pub mod budget;
    pub mod power;
    pub mod repeats;
}
pub mod reason;
pub mod repeat;
pub mod span;
pub mod statistics;
pub mod title;
pub mod trust;
mod trusted;
pub mod unseen;
pub mod verdict_wording;
pub mod words;
