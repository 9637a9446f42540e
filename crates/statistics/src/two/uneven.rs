//! Arms that spread differently: the test of Mann and Whitney takes them for alike but for a shift, and calls them different too
//! often where few repeats of the wider one stand against many of the narrower one.

use super::{
    hodges_lehmann::{Difference, allowing as estimated, hodges_lehmann},
    mann_whitney::allowing as tested,
    permutation::permutation,
};
use crate::{
    Refusal,
    special::{normal_quantile, t_quantile_beyond},
};
use serde::Serialize;

/// Spreads count as different where chance would set them so far apart with less than this probability.
const BY_CHANCE: f64 = 0.1;

/// The tail of a verdict on one side.
const TAIL: f64 = super::verdict::LEVEL / 2.0;

/// What different spreads make of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Uneven {
    /// How many times as widely U scatters as relabelling says: the root of its variance by the placements of each arm's values
    /// in the other (Fligner & Policello, JASA 76, 1981), after the shift is taken out, over that of arms that are alike; times what
    /// few values cost (Brunner & Munzel, Biometrical Journal 42, 2000).
    pub inflation: f64,
    /// The p that decides.
    pub p: f64,
}

/// How arms spread differently, of `b` against `shifted` (what b is tested against); `None` where they do not.
pub fn uneven(shifted: &[f64], b: &[f64]) -> Result<Option<Uneven>, Refusal> {
    let shift = hodges_lehmann(shifted, b, 0.95)?.value;
    let a: Vec<f64> = shifted.iter().map(|value| value + shift).collect();
    let (of_a, of_b) = (distances(&a), distances(b));
    if of_a.is_empty() || of_b.is_empty() || permutation(&of_a, &of_b)?.p > BY_CHANCE {
        return Ok(None);
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (of_a, of_b) = (variance(&placements(&a, b)) / n, variance(&placements(b, &a)) / m);
    let alike = (n + m + 1.0) / (12.0 * n * m);
    // Few values tell their variance badly: Student's t stands for that, with the freedom of Welch and Satterthwaite.
    let freedom = (of_a + of_b).powi(2) / (of_a.powi(2) / (n - 1.0).max(1.0) + of_b.powi(2) / (m - 1.0).max(1.0));
    let known_badly = t_quantile_beyond(super::verdict::LEVEL, freedom) / -normal_quantile(TAIL);
    let inflation = known_badly * ((of_a + of_b) / alike).sqrt();
    if inflation <= 1.0 {
        return Ok(None);
    }
    Ok(Some(Uneven { inflation, p: tested(shifted, b, inflation)?.p.p }))
}

impl Uneven {
    /// The estimate of [`hodges_lehmann`] with limits that allow for it.
    pub fn estimate(&self, a: &[f64], b: &[f64], confidence: f64) -> Result<Difference, Refusal> {
        estimated(a, b, confidence, self.inflation)
    }
}

/// Logarithms of how far values lie from their median; the median itself lies nowhere.
fn distances(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = super::hodges_lehmann::median(&sorted);
    values.iter().map(|value| (value - middle).abs()).filter(|far| *far > 0.0).map(f64::ln).collect()
}

/// Which part of the others lies below each value, ties counted half.
fn placements(values: &[f64], others: &[f64]) -> Vec<f64> {
    let below = |value: &f64| {
        let halves =
            others.iter().map(|other| f64::from(u8::from(other < value)) + f64::from(u8::from(other <= value)));
        halves.sum::<f64>() / (2.0 * others.len() as f64)
    };
    values.iter().map(below).collect()
}

/// The variance, divided by n - 1; 0 of fewer than two.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)
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
