//! Sides that spread differently. The Mann-Whitney test assumes that sides are equal except for a shift. It calls sides of different spread
//! different too often if one side has few values with a wide spread and the other many with a narrow one.

use super::{
    by_draws,
    hodges_lehmann::{Difference, hodges_lehmann, median},
    permutation::{every, permutation, relabellings},
};
use crate::{
    Refusal,
    special::{t_beyond, t_quantile_beyond},
};
use serde::Serialize;

/// Spreads count as different if chance makes them differ this much with less than this probability.
const BY_CHANCE: f64 = 0.1;

/// The same where one side has at least twice as many values as the other: with few values a difference in spread may not show, and ranks
/// then differ too often.
const OF_UNLIKE_NUMBERS: f64 = 0.5;

/// The test tries all relabellings up to this number; above, it draws this number at random.
const DRAWS: u32 = 9_999;

/// The relative difference of two values of `t` that are equal except for rounding.
const SAME: f64 = 1e-9;

/// The test that decides between sides that spread differently.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Uneven {
    /// The difference of means (of logarithms, for ratios) divided by its standard error from the separate variances of the sides (Welch,
    /// Biometrika 34, 1947).
    pub t: f64,
    /// The degrees of freedom of that error (Satterthwaite).
    pub freedom: f64,
    /// The p that decides, the larger one of two: the share of relabellings, of all or of 9,999, whose `t` is at least as large (Janssen,
    /// Statistics & Probability Letters 36, 1997: with many values also correct where variances differ), and Student's.
    pub p: f64,
}

/// Returns the p of a test of spreads below which they count as different, for the numbers of values on the smallest and on the largest
/// side.
pub fn by_chance(fewest: usize, most: usize) -> f64 {
    if most >= 2 * fewest { OF_UNLIKE_NUMBERS } else { BY_CHANCE }
}

/// Tests sides that spread differently, `b` against `shifted`, which is a shifted by the null. Returns `None` where the spreads do not
/// differ.
pub fn uneven(shifted: &[f64], b: &[f64]) -> Result<Option<Uneven>, Refusal> {
    let (of_a, of_b) = (distances(shifted), distances(b));
    let (fewer, more) = (shifted.len().min(b.len()), shifted.len().max(b.len()));
    if of_a.is_empty() || of_b.is_empty() || permutation(&of_a, &of_b)?.p > by_chance(fewer, more) {
        return Ok(None);
    }
    let welch = Welch::of(shifted, b);
    if welch.error <= 0.0 {
        return Ok(None);
    }
    let t = welch.difference / welch.error;
    let p = relabelled(shifted, b, t).max(t_beyond(t, welch.freedom));
    Ok(Some(Uneven { t, freedom: welch.freedom, p }))
}

/// The number of relabellings for a search, which tests many splits.
const FEW_DRAWS: u32 = 999;

/// Returns the p of Welch's t by Student's distribution alone, for a search that tests many splits. Returns `None` where the spreads do not
/// differ.
pub fn student(a: &[f64], b: &[f64]) -> Option<f64> {
    let (of_a, of_b) = (distances(a), distances(b));
    let all = centred(&of_a, &of_b);
    let sum = |values: &[f64]| values.iter().sum::<f64>().abs();
    let far = sum(all.get(..of_a.len())?) * (1.0 - SAME);
    if of_a.is_empty()
        || of_b.is_empty()
        || by_draws(&all, of_a.len(), 6, FEW_DRAWS, |arm| sum(arm) >= far).p > BY_CHANCE
    {
        return None;
    }
    let welch = Welch::of(a, b);
    (welch.error > 0.0).then(|| t_beyond(welch.difference / welch.error, welch.freedom))
}

/// Returns the share of relabellings whose t is at least as large; the observed one counts among them.
fn relabelled(a: &[f64], b: &[f64], t: f64) -> f64 {
    let all = centred(a, b);
    let whole = Welch::sums(&all);
    let far = t.abs() * (1.0 - SAME);
    let as_extreme = |arm: Sums| {
        let other = Welch::between(arm, whole);
        other.difference.abs() >= far * other.error
    };
    if relabellings(a.len(), b.len()) > f64::from(DRAWS) {
        return by_draws(&all, a.len(), 5, DRAWS, |arm| as_extreme(Welch::sums(arm))).p;
    }
    let (mut tried, mut extreme) = (0.0, 0.0);
    every(&all, a.len(), (0.0, 0.0), &mut |(sum, squares)| {
        tried += 1.0;
        extreme += f64::from(u8::from(as_extreme((a.len() as f64, sum, squares))));
    });
    extreme / tried
}

/// Returns the values of both sides minus their mean: with large numbers, a variance by sums of squares would lose its digits.
fn centred(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mean = a.iter().chain(b).sum::<f64>() / (a.len() + b.len()) as f64;
    a.iter().chain(b).map(|value| value - mean).collect()
}

impl Uneven {
    /// Returns the estimate of [`hodges_lehmann`] with the limits of Welch, extended where necessary to include the estimate.
    pub fn estimate(&self, a: &[f64], b: &[f64], confidence: f64) -> Result<Difference, Refusal> {
        let found = hodges_lehmann(a, b, confidence)?;
        let welch = Welch::of(a, b);
        let reach = t_quantile_beyond(1.0 - confidence, welch.freedom) * welch.error;
        let limits = (welch.difference - reach, welch.difference + reach);
        let limits = (limits.0.min(found.value), limits.1.max(found.value));
        Ok(Difference { interval: Some(limits), reached: Some(confidence), ..found })
    }
}

/// A difference of means with its standard error.
struct Welch {
    difference: f64,
    error: f64,
    freedom: f64,
}

/// The number of values, their sum, and the sum of their squares.
type Sums = (f64, f64, f64);

impl Welch {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let all = centred(a, b);
        Self::between(Self::sums(all.get(..a.len()).unwrap_or_default()), Self::sums(&all))
    }

    fn sums(values: &[f64]) -> Sums {
        (values.len() as f64, values.iter().sum(), values.iter().map(|value| value * value).sum())
    }

    /// Calculates it from the sums of the first side, and of both sides together.
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

/// Returns the logarithms of the distances of values from their median, without distances of zero.
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

    /// Counts wrong decisions among 100 comparisons of sides with the same median: by the p that decides, and by the Mann-Whitney test.
    fn wrong([n, m]: [usize; 2], [wide, narrow]: [f64; 2]) -> [u32; 2] {
        let mut source = random::generator(11);
        let mut of = |count: usize, spread: f64| -> Vec<f64> {
            // The sum of twelve uniform random numbers is practically normal.
            let mut normal = || (0..12).map(|_| source.random_range(-0.5..0.5)).sum::<f64>();
            (0..count).map(|_| (spread * normal()).exp()).collect()
        };
        let mut wrong = [0; 2];
        for _ in 0..100 {
            let found = compare(&of(n, wide), &of(m, narrow), Question::RATIO).unwrap();
            wrong[0] += u32::from(found.p() <= LEVEL);
            wrong[1] += u32::from(found.mann_whitney.p.p <= LEVEL);
        }
        wrong
    }

    #[test]
    fn a_wide_arm_is_not_lower_or_higher_by_its_spread() {
        let [allowed, plain] = wrong([5, 20], [0.8, 0.1]);
        // Among 100 comparisons at 5 %, more than 12 are wrong once in 700 times.
        assert!(allowed <= 12 && plain > 12, "{allowed} and {plain} of 100");
        // Few values do not show their spread: different numbers of values are enough to allow for it.
        for (numbers, spreads) in [([5, 21], [0.8, 0.15]), ([30, 6], [0.25, 0.5]), ([21, 5], [0.15, 0.8])] {
            let [allowed, plain] = wrong(numbers, spreads);
            assert!(allowed <= 12 && plain > allowed, "{allowed} and {plain} of 100, {numbers:?}");
        }
        let [allowed, plain] = wrong([10, 10], [0.8, 0.1]);
        assert!(allowed <= 12 && plain > allowed, "{allowed} and {plain} of 100");
        let [allowed, plain] = wrong([10, 10], [0.3, 0.3]);
        assert!(allowed <= plain && plain <= 12, "{allowed} and {plain} of 100");
    }

    /// Two values against four have 15 relabellings: no p is below 1/15, in any unit, whether the smaller side comes first or last.
    #[test]
    fn no_p_is_smaller_than_one_of_the_relabellings() {
        let (two, four) = ([112_112.0, 104_132.0], [235_519.0, 266_596.0, 324_048.0, 339_527.0]);
        for unit in [1.0, 2.0, 7.0, 1e-9, 1e3, 1e9] {
            let (two, four) = (two.map(|value| value * unit), four.map(|value| value * unit));
            for found in [compare(&two, &four, Question::RATIO), compare(&four, &two, Question::RATIO)] {
                let found = found.unwrap();
                let uneven = found.uneven.unwrap();
                assert!((uneven.p - 1.0 / 15.0).abs() < 1e-12, "{unit}: {uneven:?}");
            }
        }
    }

    /// A mean far from zero does not cost the spread any digits.
    #[test]
    fn differences_far_from_zero_are_tested_as_those_near_it() {
        let (a, b) = ([0.0, 1.0, 2.0, 3.0, 4.5], [2.0, 22.0, 57.0, 31.0, 80.0, 64.0]);
        let p = |far: f64| {
            compare(&a.map(|v| v + far), &b.map(|v| v + far), Question::DIFFERENCE).unwrap().uneven.unwrap().p
        };
        let near = p(0.0);
        assert!([1e6, 1e9, 3e9].iter().all(|far| (p(*far) - near).abs() < 1e-6), "{near} and {}", p(3e9));
    }

    /// With equal spreads, the test still finds a factor of two.
    #[test]
    fn arms_that_spread_alike_are_compared_as_before() {
        let a = [10.0, 11.0, 12.0, 13.0, 14.5];
        let found = compare(&a, &a.map(|value| 2.0 * value), Question::RATIO).unwrap();
        assert!(found.uneven.is_none() && found.p() == found.mann_whitney.p.p && found.p() < 0.01);
    }
}
