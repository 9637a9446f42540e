//! Two or more systems; the unit is the repeat: one number a run.
//!
//! The exact Mann-Whitney test decides; the rest is shown beside it and decides nothing. Arm b is said of arm a: a ratio is
//! b/a, a difference b - a.

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

/// How a p value came about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All relabellings.
    Exact,
    /// Relabellings drawn at random, from a fixed seed.
    MonteCarlo {
        /// How many.
        draws: u32,
        /// The standard error that this leaves.
        error: f64,
    },
}

/// A p value and how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct P {
    /// The value, two-sided.
    pub p: f64,
    /// How it came about.
    pub method: Method,
}

impl P {
    fn exact(p: f64) -> Self {
        Self { p: p.clamp(0.0, 1.0), method: Method::Exact }
    }

    /// With the observed labelling among the draws (Phipson & Smyth, SAGMB 9, 2010).
    fn drawn(as_extreme: u32, draws: u32) -> Self {
        let p = f64::from(as_extreme + 1) / f64::from(draws + 1);
        Self { p, method: Method::MonteCarlo { draws, error: (p * (1.0 - p) / f64::from(draws)).sqrt() } }
    }
}

/// How many relabellings are drawn where all are too many.
const DRAWS: u32 = 99_999;

/// The p of a statistic of the values that a relabelling gives to arm a, by random relabellings.
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

/// The relative rounding that a sum of the same numbers in another order may have.
const ROUNDING: f64 = 1e-12;
