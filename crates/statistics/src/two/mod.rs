//! Comparisons of two or more systems. The unit is the repeat: one number per run.
//!
//! The exact Mann-Whitney test decides, or the test of [`uneven`] where the sides may spread differently; the other results only accompany
//! it. Results describe side b relative to side a: a ratio is b/a, a difference is b - a.

pub mod anderson_darling;
pub mod hodges_lehmann;
pub mod mann_whitney;
pub mod permutation;
pub mod power;
pub mod rates;
pub mod shift;
pub mod uneven;
pub mod verdict;

pub use mann_whitney::midranks;
pub use verdict::holm;
pub use verdict::{Comparison, Question, Scale, Verdict, compare};

use serde::Serialize;

/// The method that produced a p value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All relabellings counted.
    Exact,
    /// Random relabellings, from a fixed seed.
    MonteCarlo {
        /// The number of relabellings.
        draws: u32,
        /// The standard error of p that remains.
        error: f64,
    },
}

/// A p value and its method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct P {
    /// The value, two-sided.
    pub p: f64,
    /// The method.
    pub method: Method,
}

impl P {
    fn exact(p: f64) -> Self {
        Self { p: p.clamp(0.0, 1.0), method: Method::Exact }
    }

    /// Calculates p from draws; the observed labelling counts as one of them (Phipson & Smyth, SAGMB 9, 2010).
    fn drawn(as_extreme: u32, draws: u32) -> Self {
        let p = f64::from(as_extreme + 1) / f64::from(draws + 1);
        Self { p, method: Method::MonteCarlo { draws, error: (p * (1.0 - p) / f64::from(draws)).sqrt() } }
    }
}

/// The number of random relabellings where there are too many for all.
const DRAWS: u32 = 99_999;

/// Returns the p of a statistic by random relabellings. The statistic depends on the values that a relabelling gives to side a.
fn by_draws(values: &[f64], n: usize, seed: u64, draws: u32, as_extreme: impl Fn(&[f64]) -> bool) -> P {
    let mut values = values.to_vec();
    let mut rng = crate::random::generator(seed);
    let mut count = 0;
    for _ in 0..draws {
        crate::random::shuffle(&mut values, &mut rng);
        count += u32::from(as_extreme(values.get(..n).unwrap_or_default()));
    }
    P::drawn(count, draws)
}

/// The relative rounding error of a sum when the same numbers come in another order.
const ROUNDING: f64 = 1e-12;
