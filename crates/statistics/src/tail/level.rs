//! Return levels: what is passed once in a given time on average, under the causes observed.

use super::{
    gpd::{Fit, Interval},
    observed::Observed,
    threshold::Exceedances,
};
use serde::Serialize;

/// How far beyond the observed length levels are given.
pub const FURTHEST: f64 = 100.0;

/// The level of one period.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Passed once in the period, under the causes observed.
    Estimated {
        /// Seconds.
        period_s: f64,
        /// The samples in a period.
        samples: f64,
        /// The level with its interval, ns.
        level: Interval,
    },
    /// The period is more than 100 times what was observed.
    TooFar {
        /// Seconds.
        period_s: f64,
        /// The longest period for which a level is given, seconds.
        furthest_s: f64,
    },
    /// The period is so short that its level lies below the threshold, where samples are to be counted.
    BelowThreshold {
        /// Seconds.
        period_s: f64,
    },
}

/// The level that is passed once in `period_s` seconds: `u + sigma/xi ((m k/n)^xi - 1)` of the `m` samples in it, where k
/// counts clusters (Coles, An Introduction to Statistical Modeling of Extreme Values, 2001, section 4.3.3); k/n is taken
/// as known.
pub fn level(fit: &Fit, exceedances: &Exceedances, observed: &Observed<'_>, period_s: f64) -> Level {
    let furthest_s = FURTHEST * observed.length_s;
    let samples = observed.count as f64 * (period_s / observed.length_s);
    let expected = samples * exceedances.peaks.len() as f64 / observed.count as f64;
    // Comparisons that are false of NaN: an absurd length or period is refused here too.
    if !(period_s <= furthest_s && furthest_s.is_finite()) {
        return Level::TooFar { period_s, furthest_s: if furthest_s.is_finite() { furthest_s } else { 0.0 } };
    }
    if !(expected > 1.0 && expected.is_finite()) {
        return Level::BelowThreshold { period_s };
    }
    let excess = fit.excess(expected.ln());
    let origin = exceedances.origin();
    let shift = |value: f64| value + origin;
    let level = Interval { value: shift(excess.value), lower: excess.lower.map(shift), upper: excess.upper.map(shift) };
    Level::Estimated { period_s, samples, level }
}
