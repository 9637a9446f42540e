//! How far the tail of one run extends beyond its largest samples, where the data allow an answer.
//!
//! Peaks over a threshold (Pickands, Annals of Statistics 3, 1975; Davison & Smith, JRSS B 52, 1990): the `k` largest samples above `u =
//! x_(n-k)` follow a generalised Pareto distribution if the samples come from one unchanging cause. The gate tests whether they do. Where
//! it refuses, there are no levels.

mod excesses;
pub mod gate;
pub mod gpd;
mod level;
mod observed;
mod threshold;

pub use level::{Level, level};
pub use observed::{Observed, Peak};
pub use threshold::Exceedances;

use crate::Refusal;
use gate::{Gate, Verdict};
use gpd::{Fit, Interval};
use serde::Serialize;

/// The tail of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Tail {
    /// The threshold x_(n-k), in ns.
    pub threshold: i64,
    /// The number of samples above it.
    pub exceedances: u64,
    /// The number of clusters after declustering; equals `exceedances` if that was not necessary.
    pub clusters: u64,
    /// The extremal index (Ferro & Segers); 1 for independent samples.
    pub extremal_index: f64,
    /// The step of the values, in ns, if they count as quantised.
    pub step_ns: Option<f64>,
    /// The fit.
    pub fit: Fit,
    /// The shape with its interval.
    pub shape: Interval,
    /// All tests of the gate, passed or not.
    pub gate: Gate,
    /// The requested levels, in their order; `None` where the gate refuses.
    pub levels: Option<Vec<Level>>,
}

/// Returns the default `k`: a fiftieth of the samples, at least 100, and at most the number of stored samples minus the threshold itself.
/// With fewer, the tests cannot distinguish a mixture of causes from one heavy cause.
pub fn default_k(count: u64, stored: u64) -> u64 {
    (count / 50).max(100).min(stored.saturating_sub(1))
}

/// The higher threshold has this many times fewer exceedances.
const HIGHER: u64 = 3;

/// Fits the tail above a higher threshold, if there are enough values.
fn higher(observed: &Observed<'_>, k: u64) -> Option<(Exceedances, gpd::Fit)> {
    let exceedances = Exceedances::of(observed, k / HIGHER).ok()?;
    let fit = gpd::fit(&exceedances.excesses).ok()?;
    Some((exceedances, fit))
}

/// Fits the tail above x_(n-k), applies the gate, and returns the level that samples exceed once in each of `periods_s` (seconds) on
/// average. Returns `Err` where there are too few values for a fit.
pub fn tail(observed: &Observed<'_>, k: u64, periods_s: &[f64]) -> Result<Tail, Refusal> {
    let exceedances = Exceedances::of(observed, k)?;
    let fit = gpd::fit(&exceedances.excesses)?;
    let gate = gate::gate(observed, &exceedances, &fit);
    let higher = higher(observed, k);
    let level_of = |period: &f64| {
        let own = level(&fit, &exceedances, observed, *period);
        match &higher {
            Some((exceedances, fit)) => own.reaching_towards(&level(fit, exceedances, observed, *period)),
            None => own,
        }
    };
    let levels = (gate.verdict != Verdict::Refused).then(|| periods_s.iter().map(level_of).collect());
    Ok(Tail {
        threshold: exceedances.threshold,
        exceedances: exceedances.raw,
        clusters: exceedances.peaks.len() as u64,
        extremal_index: exceedances.extremal_index,
        step_ns: exceedances.step_ns,
        shape: fit.shape(),
        fit,
        gate,
        levels,
    })
}
