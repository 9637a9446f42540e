//! Arms that spread differently: the test of Mann and Whitney takes them for alike but for a shift, and calls them different too
//! often where few repeats of the wider one stand against many of the narrower one.

use super::{
    by_draws,
    hodges_lehmann::{Difference, hodges_lehmann, median},
    permutation::permutation,
};
use crate::{
    Refusal,
    special::{t_beyond, t_quantile_beyond},
};
use serde::Serialize;

/// Spreads count as different where chance would set them so far apart with less than this probability.
const BY_CHANCE: f64 = 0.1;

/// So many relabellings are drawn.
const DRAWS: u32 = 9_999;

/// What decides between arms that spread differently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Uneven {
    /// The difference of means (of logarithms, for ratios) over its standard error by each arm's own variance (Welch, Biometrika 34,
    /// 1947).
    pub t: f64,
    /// The degrees of freedom of that error (Satterthwaite).
    pub freedom: f64,
    /// The p that decides, the larger of two: the relabellings whose `t` is at least as large, of 9,999 (Janssen, Statistics &
    /// Probability Letters 36, 1997: with many values right also where variances differ), and Student's.
    pub p: f64,
}

/// Arms that spread differently, `b` against `shifted` (what b is tested against); `None` where they do not.
pub fn uneven(shifted: &[f64], b: &[f64]) -> Result<Option<Uneven>, Refusal> {
    let (of_a, of_b) = (distances(shifted), distances(b));
    if of_a.is_empty() || of_b.is_empty() || permutation(&of_a, &of_b)?.p > BY_CHANCE {
        return Ok(None);
    }
    let welch = Welch::of(shifted, b);
    if welch.error <= 0.0 {
        return Ok(None);
    }
    let t = welch.difference / welch.error;
    let all: Vec<f64> = shifted.iter().chain(b).copied().collect();
    let whole = Welch::sums(&all);
    let far = t.abs() * (1.0 - super::ROUNDING);
    let p = by_draws(&all, shifted.len(), 5, DRAWS, |arm| {
        let other = Welch::between(Welch::sums(arm), whole);
        other.difference.abs() >= far * other.error
    });
    let p = p.p.max(t_beyond(t, welch.freedom));
    Ok(Some(Uneven { t, freedom: welch.freedom, p }))
}

impl Uneven {
    /// The estimate of [`hodges_lehmann`] with the limits of Welch, which hold it.
    pub fn estimate(&self, a: &[f64], b: &[f64], confidence: f64) -> Result<Difference, Refusal> {
        let found = hodges_lehmann(a, b, confidence)?;
        let welch = Welch::of(a, b);
        let reach = t_quantile_beyond(1.0 - confidence, welch.freedom) * welch.error;
        let limits = (welch.difference - reach, welch.difference + reach);
        let limits = (limits.0.min(found.value), limits.1.max(found.value));
        Ok(Difference { interval: Some(limits), reached: Some(confidence), ..found })
    }
}

/// A difference of means with its error.
struct Welch {
    difference: f64,
    error: f64,
    freedom: f64,
}

/// How many values, their sum, and that of their squares.
type Sums = (f64, f64, f64);

impl Welch {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let (one, other) = (Self::sums(a), Self::sums(b));
        Self::between(one, (one.0 + other.0, one.1 + other.1, one.2 + other.2))
    }

    fn sums(values: &[f64]) -> Sums {
        (values.len() as f64, values.iter().sum(), values.iter().map(|value| value * value).sum())
    }

    /// Of the first arm, and of both together.
    fn between((n, sum, squares): Sums, all: Sums) -> Self {
        let (m, other, other_squares) = (all.0 - n, all.1 - sum, all.2 - squares);
        // The variance of a mean.
        let error = |n: f64, sum: f64, squares: f64| ((squares - sum * sum / n) / (n - 1.0).max(1.0) / n).max(0.0);
        let (of_a, of_b) = (error(n, sum, squares), error(m, other, other_squares));
        let parts = of_a.powi(2) / (n - 1.0).max(1.0) + of_b.powi(2) / (m - 1.0).max(1.0);
        let freedom = if parts > 0.0 { (of_a + of_b).powi(2) / parts } else { 1.0 };
        Self { difference: other / m - sum / n, error: (of_a + of_b).sqrt(), freedom }
    }
}

/// Logarithms of how far values lie from their median; the median itself lies nowhere.
fn distances(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = median(&sorted);
    values.iter().map(|value| (value - middle).abs()).filter(|far| *far > 0.0).map(f64::ln).collect()
}

#[cfg(test)]
mod tests {
    use crate::{
        random,
        two::{Question, compare, verdict::LEVEL},
    };
    use rand::Rng as _;

    /// Wrong decisions among 300 comparisons of arms with one median: by the p that decides, and by the test of Mann and Whitney.
    fn wrong([n, m]: [usize; 2], [wide, narrow]: [f64; 2]) -> [u32; 2] {
        let mut source = random::generator(11);
        let mut of = |count: usize, spread: f64| -> Vec<f64> {
            // The sum of twelve even numbers is as good as normal.
            let mut normal = || (0..12).map(|_| source.random_range(-0.5..0.5)).sum::<f64>();
            (0..count).map(|_| (spread * normal()).exp()).collect()
        };
        let mut wrong = [0; 2];
        for _ in 0..300 {
            let found = compare(&of(n, wide), &of(m, narrow), Question::RATIO).unwrap();
            wrong[0] += u32::from(found.p() <= LEVEL);
            wrong[1] += u32::from(found.mann_whitney.p.p <= LEVEL);
        }
        wrong
    }

    #[test]
    fn a_wide_arm_is_not_lower_or_higher_by_its_spread() {
        let [allowed, plain] = wrong([5, 20], [0.8, 0.1]);
        assert!(allowed <= 27 && plain >= 45, "{allowed} and {plain} of 300");
        let [allowed, plain] = wrong([10, 10], [0.8, 0.1]);
        assert!(allowed <= 24 && plain > allowed, "{allowed} and {plain} of 300");
        let [allowed, plain] = wrong([10, 10], [0.3, 0.3]);
        assert!(allowed <= plain && plain <= 24, "{allowed} and {plain} of 300");
    }

    /// A factor of two between arms that spread alike is found as before.
    #[test]
    fn arms_that_spread_alike_are_compared_as_before() {
        let a = [10.0, 11.0, 12.0, 13.0, 14.5];
        let found = compare(&a, &a.map(|value| 2.0 * value), Question::RATIO).unwrap();
        assert!(found.uneven.is_none() && found.p() == found.mann_whitney.p.p && found.p() < 0.01);
    }
}
