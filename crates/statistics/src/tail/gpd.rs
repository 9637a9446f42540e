//! The fit of the generalised Pareto distribution to excesses over a threshold, with profile intervals.

use super::excesses::grown;
use super::excesses::sum_of_logs;
pub use super::excesses::{Excesses, Gpd};
use crate::{
    Refusal,
    optimum::{minimum, zero},
};
use serde::Serialize;

/// The smallest allowed shape: below it the likelihood has no regular maximum (Smith, Biometrika 72, 1985).
pub const SMALLEST_SHAPE: f64 = -0.5;
/// The largest shape that the fit tries.
const LARGEST_SHAPE: f64 = 5.0;
/// Half the 95 % quantile of chi-square with one degree of freedom: how far the profile may fall within the interval.
const DROP: f64 = 1.920_729_410_347_062;

/// The shape and scale of maximum likelihood, and the data for the intervals.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// The estimate, in the unit of the excesses.
    #[serde(flatten)]
    pub gpd: Gpd,
    /// Its log-likelihood: for exact excesses of densities in that unit, for bins of probabilities.
    pub log_likelihood: f64,
    /// The number of excesses.
    pub k: u64,
    /// Whether the shape is the smallest or largest allowed: then it is not a maximum of the likelihood.
    pub at_bound: bool,
    #[serde(skip)]
    scaled: Excesses,
    #[serde(skip)]
    scale: f64,
}

/// Fits the distribution by maximum likelihood with xi >= -0.5. The function first divides the excesses by their median: with raw
/// nanoseconds common optimisers stop early. Returns `Err` for fewer than ten excesses, if their median is 0, or if one is negative or not
/// finite.
pub fn fit(excesses: &Excesses) -> Result<Fit, Refusal> {
    let (k, scale) = (excesses.count(), excesses.typical());
    if k < 10.0 {
        return Err(Refusal::TooSmall { of: "exceedances", needed: 10, given: k as u64 });
    }
    let sound = match excesses {
        Excesses::Exact(values) => values.iter().all(|y| y.is_finite() && *y >= 0.0),
        Excesses::Binned(bins) => {
            bins.iter().all(|(low, high, count)| high.is_finite() && *low >= 0.0 && low < high && *count >= 0.0)
        }
    };
    if !sound || !scale.is_finite() {
        return Err(Refusal::NotFinite);
    }
    if scale <= 0.0 {
        return Err(Refusal::Constant);
    }
    let scaled = excesses.scaled(scale);
    let gpd = match &scaled {
        Excesses::Exact(values) => exact(values),
        Excesses::Binned(_) => {
            let (xi, _) = minimum(SMALLEST_SHAPE, LARGEST_SHAPE, 1e-8, |xi| -scaled.best_scale(xi).0);
            Gpd { xi, sigma: scaled.best_scale(xi).1 }
        }
    };
    let bound = Gpd { xi: SMALLEST_SHAPE, sigma: scaled.best_scale(SMALLEST_SHAPE).1 };
    let better = scaled.log_likelihood(bound) >= scaled.log_likelihood(gpd);
    let gpd = if better { bound } else { gpd };
    let at_bound = gpd.xi <= SMALLEST_SHAPE + 1e-4 || gpd.xi >= LARGEST_SHAPE - 1e-4;
    // A density has a unit, the probability of a bin does not.
    let unit = if matches!(excesses, Excesses::Exact(_)) { k * scale.ln() } else { 0.0 };
    Ok(Fit {
        gpd: Gpd { xi: gpd.xi, sigma: gpd.sigma * scale },
        log_likelihood: scaled.log_likelihood(gpd) - unit,
        k: k as u64,
        at_bound,
        scaled,
        scale,
    })
}

/// Maximises the likelihood of exact excesses in one unknown, theta = xi/sigma: the best xi for it is the mean of ln(1 + theta y)
/// (Grimshaw, Technometrics 35, 1993).
fn exact(values: &[f64]) -> Gpd {
    let k = values.len() as f64;
    let shape = |theta: f64| sum_of_logs(values, theta) / k;
    let mean = values.iter().sum::<f64>() / k;
    let largest = values.iter().copied().fold(0.0, f64::max);
    let scale = |theta: f64, xi: f64| if theta.abs() < 1e-9 { mean } else { xi / theta };
    let cost = |theta: f64| {
        let xi = shape(theta);
        let sigma = scale(theta, xi);
        if xi.is_finite() && sigma > 0.0 { sigma.ln() + xi } else { 1e300 }
    };
    // The grid below zero starts where the shape is the smallest allowed one. Above zero it doubles at each step, because the likelihood
    // may have two maxima.
    let least = -(1.0 - 1e-12) / largest;
    let least = if shape(least) < SMALLEST_SHAPE {
        zero(least, -1e-9 / largest, 1e-12, |theta| shape(theta) - SMALLEST_SHAPE)
    } else {
        least
    };
    let below = (0..8).map(|i| least * (1.0 - f64::from(i) / 8.0));
    let above = (0..28).map(|i| 1e-3 * 2.0_f64.powi(i));
    let grid: Vec<f64> = below.chain(above).collect();
    let best = grid.iter().enumerate().min_by(|a, b| cost(*a.1).total_cmp(&cost(*b.1))).map_or(0, |(at, _)| at);
    let low = grid.get(best.saturating_sub(1)).copied().unwrap_or(least);
    let high = grid.get(best + 1).copied().unwrap_or(1e6);
    let (theta, _) = minimum(low, high, 1e-10, cost);
    let xi = shape(theta);
    Gpd { xi, sigma: scale(theta, xi) }
}

/// An estimate with its 95 % interval by the profile likelihood. A limit is `None` where the profile does not fall far enough within the
/// range of the search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower limit.
    pub lower: Option<f64>,
    /// The upper limit.
    pub upper: Option<f64>,
}

impl Fit {
    /// Returns the interval of the shape.
    pub fn shape(&self) -> Interval {
        let xi = self.gpd.xi;
        let top = self.scaled.log_likelihood(self.in_scale());
        let short = |xi: f64| top - DROP - self.scaled.best_scale(xi).0;
        let find = |end: f64| (short(end) > 0.0).then(|| zero(xi, end, 1e-9, short));
        Interval {
            value: xi,
            lower: find(SMALLEST_SHAPE),
            upper: find((xi + 0.5).min(LARGEST_SHAPE)).or_else(|| find(LARGEST_SHAPE)),
        }
    }

    /// Returns the interval of `sigma/xi (exp(xi t) - 1)`, the excess whose exceedances are rarer by exp(-t), in the unit of the excesses.
    /// The scale follows from the excess and the shape; the function maximises the likelihood over the shape.
    pub fn excess(&self, t: f64) -> Interval {
        let best = self.in_scale();
        let value = best.sigma * grown(best.xi, t);
        let top = self.scaled.log_likelihood(best);
        let cost = |x: f64, xi: f64| {
            let value = self.scaled.log_likelihood(Gpd { xi, sigma: x / grown(xi, t) });
            if value.is_finite() { -value } else { 1e300 }
        };
        let short = |log: f64| {
            let x = log.exp();
            // Start with the smallest shape that the data allow: beyond it all costs are equal.
            let largest = self.scaled.largest();
            let possible = |xi: f64| 1.0 + xi * largest * grown(xi, t) / x > 0.0;
            let low = if possible(SMALLEST_SHAPE) { SMALLEST_SHAPE } else { zero_of(SMALLEST_SHAPE, 0.0, possible) };
            top - DROP + minimum(low, (best.xi + 1.5).min(LARGEST_SHAPE), 1e-7, |xi| cost(x, xi)).1
        };
        let at = value.ln();
        let find = |ends: [f64; 3]| {
            ends.into_iter().find(|end| short(*end) > 0.0).map(|end| zero(at, end, 1e-10, short).exp() * self.scale)
        };
        Interval {
            value: value * self.scale,
            lower: find([at - 0.3, at - 2.0, at - 8.0]),
            upper: find([at + 0.3, at + 2.0, at + 8.0]),
        }
    }

    fn in_scale(&self) -> Gpd {
        Gpd { xi: self.gpd.xi, sigma: self.gpd.sigma / self.scale }
    }
}

/// Returns the first place from which on a condition is true.
fn zero_of(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    crate::special::bisect(low, high, |x| !holds(x))
}
