//! Reads what other tools wrote: it takes bytes and returns an [`Imported`] with the content of the file and no more. This crate opens no
//! file, stores nothing and judges nothing: it knows neither runs nor records.

pub mod args;
pub mod cost;
pub mod cyclictest;
pub mod doubt;
pub mod floors;
pub mod format;
pub mod formats;
pub mod imported;
pub mod keyed;
pub mod mean;
pub mod oslat;
pub mod pairs;
pub mod progress;
pub mod rt_json;
pub mod rtai;
pub mod rtla;
pub mod samples;
pub mod source;
pub mod status;
pub mod table;
pub mod text;

pub use format::{Asked, Format, HEAD, Unit};
pub use formats::{IMPORTS, recognised};
pub use imported::{Bin, Edge, Ending, Finding, Imported, Interval, Series, Severity, Timed};
