//! The permutation test of the difference of means, of logarithms for ratios (Pitman, Supplement to JRSS 4, 1937).

use super::{DRAWS, P, ROUNDING, by_draws};
use crate::{Refusal, refusal::check};

/// The largest number of relabellings for which the test tries all: sides of 10 values have 184,756.
const MOST: f64 = 2.5e5;

/// Returns the two-sided p of the difference of means: the share of relabellings whose difference is at least as large.
pub fn permutation(a: &[f64], b: &[f64]) -> Result<P, Refusal> {
    check(a, "repeats", 1)?;
    check(b, "repeats", 1)?;
    let n = a.len();
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    // Except for constants, a difference of means is the distance of one side's sum from its average.
    let centre = all.iter().sum::<f64>() / all.len() as f64;
    let values: Vec<f64> = all.iter().map(|value| value - centre).collect();
    let size = values.iter().map(|value| value.abs()).sum::<f64>();
    let far = values.iter().take(n).sum::<f64>().abs() - ROUNDING * size;
    if relabellings(n, b.len()) > MOST {
        return Ok(by_draws(&values, n, 4, DRAWS, |arm| arm.iter().sum::<f64>().abs() >= far));
    }
    let (mut tried, mut extreme) = (0.0, 0.0);
    every(&values, n, (0.0, 0.0), &mut |(sum, _)| {
        tried += 1.0;
        extreme += f64::from(u8::from(sum.abs() >= far));
    });
    Ok(P::exact(extreme / tried))
}

/// Returns how many relabellings give `n` of all values to one side and `m` to the other.
pub(super) fn relabellings(n: usize, m: usize) -> f64 {
    (1..=n).map(|i| (m + i) as f64 / i as f64).product()
}

/// Calls `tell` for every choice of `n` of the values, with its sum and its sum of squares. Both sums start with `sums`.
pub(super) fn every(values: &[f64], n: usize, sums: (f64, f64), tell: &mut impl FnMut((f64, f64))) {
    if n == 0 {
        return tell(sums);
    }
    for (at, value) in values.iter().enumerate().take((values.len() + 1).saturating_sub(n)) {
        let with = (sums.0 + value, sums.1 + value * value);
        every(values.get(at + 1..).unwrap_or_default(), n - 1, with, tell);
    }
}
