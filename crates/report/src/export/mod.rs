//! What other tools read, written from judged runs: one file a format and one line in [`EXPORTS`].

mod bencher;
mod benchmark_action;
pub mod case;
pub mod cells;
pub mod compared;
mod cyclictest;
pub mod exposition;
pub mod format;
// The worked example of CONTRIBUTING.md: the tests compile it.
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

/// Every format that runs are exported to.
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

/// The format of this name.
///
/// # Errors
/// There is none of this name; the error says which there are and which may be meant.
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
