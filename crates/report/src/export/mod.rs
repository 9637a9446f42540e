//! Formats for other tools, written from judged runs: one file per format and one line in [`EXPORTS`].

mod bencher;
mod benchmark_action;
pub mod case;
pub mod cells;
pub mod compared;
mod cyclictest;
pub mod exposition;
pub mod format;
// The worked example of CONTRIBUTING.md; the tests compile it.
#[cfg(test)]
mod graphite;
mod hgrm;
mod hlog;
mod junit;
mod kcidb;
mod ktap;
mod lava;
mod markdown;
pub mod naming;
mod octave;
pub mod one;
mod otava;
pub mod parquet;
mod perfetto;
mod phoronix;
mod prometheus;
mod rt_tests;
pub mod state;
#[cfg(test)]
mod tests;
pub mod text;
pub mod trend;
pub mod units;

pub use format::{Export, Exported, Options, Writer, Written};

use anyhow::{Result, bail};
use latido_model::suggest;

/// Every export format.
pub const EXPORTS: &[Export] = &[
    ktap::EXPORT,
    junit::EXPORT,
    lava::SIGNALS,
    lava::RESULTS,
    kcidb::EXPORT,
    prometheus::PROMETHEUS,
    prometheus::OPENMETRICS,
    cyclictest::EXPORT,
    rt_tests::EXPORT,
    hlog::EXPORT,
    hgrm::EXPORT,
    markdown::EXPORT,
    perfetto::EXPORT,
    bencher::EXPORT,
    benchmark_action::EXPORT,
    otava::EXPORT,
    octave::EXPORT,
    phoronix::EXPORT,
    parquet::EXPORT,
];

/// Returns the format of this name.
///
/// # Errors
/// No format has this name; the error lists the formats and suggests the nearest one.
pub fn named(name: &str) -> Result<&'static Export> {
    match EXPORTS.iter().find(|export| export.name == name) {
        Some(export) => Ok(export),
        None => {
            let names = || EXPORTS.iter().map(|export| export.name);
            let meant = suggest::nearest(name, names());
            bail!("no export format `{name}`{meant}: there are {}", names().collect::<Vec<_>>().join(", "))
        }
    }
}
