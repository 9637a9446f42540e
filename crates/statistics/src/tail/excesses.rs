//! The generalised Pareto distribution, and the likelihood of exact or binned excesses.

use crate::optimum::minimum;
use serde::Serialize;

/// The parameters of a generalised Pareto distribution; xi > 0 is a heavy tail (scipy's `c`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gpd {
    /// The shape.
    pub xi: f64,
    /// The scale, in the unit of the excesses.
    pub sigma: f64,
}

impl Gpd {
    /// Returns the probability that an excess is above `y`.
    pub fn above(&self, y: f64) -> f64 {
        (-self.exponent(y)).exp()
    }

    /// Returns the excess that others exceed with the given probability.
    pub fn quantile_above(&self, probability: f64) -> f64 {
        self.sigma * grown(self.xi, -probability.ln())
    }

    /// Returns `ln(1 + xi y/sigma)/xi`, which is infinite beyond the end of the distribution.
    fn exponent(&self, y: f64) -> f64 {
        let z = y / self.sigma;
        if self.xi.abs() < 1e-9 {
            return z * (1.0 - self.xi * z / 2.0);
        }
        if self.xi * z <= -1.0 { f64::INFINITY } else { (self.xi * z).ln_1p() / self.xi }
    }
}

/// Returns `(exp(xi t) - 1)/xi`, which is t at xi = 0.
pub(super) fn grown(xi: f64, t: f64) -> f64 {
    if xi.abs() < 1e-9 { t * (1.0 + xi * t / 2.0) } else { (xi * t).exp_m1() / xi }
}

/// Excesses over a threshold, exact or in bins.
#[derive(Debug, Clone)]
pub enum Excesses {
    /// Each excess, exact to the unit of measurement.
    Exact(Vec<f64>),
    /// Bins: both ends, and how many excesses the bin contains.
    Binned(Vec<(f64, f64, f64)>),
}

impl Excesses {
    /// Returns the number of excesses.
    pub fn count(&self) -> f64 {
        match self {
            Self::Exact(values) => values.len() as f64,
            Self::Binned(bins) => bins.iter().map(|(_, _, count)| count).sum(),
        }
    }

    /// Returns the log-likelihood of a shape and a scale, or minus infinity if an excess is beyond the end of the distribution.
    pub fn log_likelihood(&self, gpd: Gpd) -> f64 {
        match self {
            Self::Exact(values) => {
                let k = values.len() as f64;
                if gpd.xi.abs() < 1e-7 {
                    return -k * gpd.sigma.ln() - values.iter().map(|y| gpd.exponent(*y)).sum::<f64>();
                }
                let sum = sum_of_logs(values, gpd.xi / gpd.sigma);
                if sum.is_finite() { -k * gpd.sigma.ln() - (1.0 / gpd.xi + 1.0) * sum } else { f64::NEG_INFINITY }
            }
            Self::Binned(bins) => bins
                .iter()
                .map(|(low, high, count)| {
                    let (at_low, at_high) = (gpd.exponent(*low), gpd.exponent(*high));
                    if at_low.is_finite() {
                        count * (-at_low + (-(at_low - at_high).exp_m1()).ln())
                    } else {
                        f64::NEG_INFINITY
                    }
                })
                .sum(),
        }
    }

    pub(super) fn scaled(&self, by: f64) -> Self {
        match self {
            Self::Exact(values) => Self::Exact(values.iter().map(|y| y / by).collect()),
            Self::Binned(bins) => Self::Binned(bins.iter().map(|(l, h, count)| (l / by, h / by, *count)).collect()),
        }
    }

    pub(super) fn largest(&self) -> f64 {
        match self {
            Self::Exact(values) => values.iter().copied().fold(0.0, f64::max),
            Self::Binned(bins) => bins.iter().map(|(low, high, _)| f64::midpoint(*low, *high)).fold(0.0, f64::max),
        }
    }

    /// Returns a typical excess (the median), which does not depend on a single huge one.
    pub(super) fn typical(&self) -> f64 {
        let mut values: Vec<(f64, f64)> = match self {
            Self::Exact(values) => values.iter().map(|y| (*y, 1.0)).collect(),
            Self::Binned(bins) => bins.iter().map(|(low, high, count)| (f64::midpoint(*low, *high), *count)).collect(),
        };
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (half, mut seen) = (self.count() / 2.0, 0.0);
        for (value, count) in &values {
            seen += count;
            if seen >= half {
                return *value;
            }
        }
        1.0
    }

    /// Returns the largest log-likelihood for a shape, and the scale that has it.
    pub(super) fn best_scale(&self, xi: f64) -> (f64, f64) {
        // A bounded distribution must reach at least the largest excess.
        let least = if xi < 0.0 { (-xi * self.largest()).ln() } else { -12.0 };
        let (at, value) = minimum(least.max(-12.0), least.max(-12.0) + 40.0, 1e-9, |log| {
            let value = self.log_likelihood(Gpd { xi, sigma: log.exp() });
            if value.is_finite() { -value } else { 1e300 }
        });
        (-value, at.exp())
    }
}

/// Returns the sum of `ln(1 + theta y)`, with one logarithm per eight factors. It is never NaN: it is infinite if a factor is not above
/// zero.
pub(super) fn sum_of_logs(values: &[f64], theta: f64) -> f64 {
    values
        .chunks(8)
        .try_fold(0.0, |sum, chunk| {
            let mut product = 1.0;
            for y in chunk {
                let factor = 1.0 + theta * y;
                if factor <= 0.0 {
                    return None;
                }
                product *= factor;
            }
            Some(sum + if product < 1e300 { product.ln() } else { chunk.iter().map(|y| (theta * y).ln_1p()).sum() })
        })
        .unwrap_or(f64::INFINITY)
}
