//! The tables of a report beside those behind its figures.

pub mod characterisation;
pub mod samples;
pub mod slots;
pub mod summary;
