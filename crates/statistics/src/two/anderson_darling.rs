//! Tests whether sides differ in shape: the k-sample test of Anderson & Darling on values minus the median of their side.

use super::{P, hodges_lehmann::median};
use crate::{Refusal, random, refusal::check};
use serde::Serialize;

/// The number of random relabellings.
const DRAWS: u32 = 1_999;

/// The outcome of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AndersonDarling {
    /// The statistic A^2_akN of Scholz & Stephens, with midranks.
    pub statistic: f64,
    /// The p by random relabellings of the aligned values.
    #[serde(flatten)]
    pub p: P,
}

/// Compares the shapes of two or more sides (Scholz & Stephens, JASA 82, 1987, equation 7). Aligned values are not quite exchangeable: with
/// few repeats the p is only a hint. Returns `Err` for fewer than two sides, fewer than two values on a side, or if all values are equal.
pub fn anderson_darling(arms: &[&[f64]]) -> Result<AndersonDarling, Refusal> {
    if arms.len() < 2 {
        return Err(Refusal::TooSmall { of: "arms", needed: 2, given: arms.len() as u64 });
    }
    let mut values: Vec<(f64, usize)> = Vec::new();
    for (arm, label) in arms.iter().zip(0..) {
        check(arm, "repeats", 2)?;
        let mut sorted = arm.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = median(&sorted);
        values.extend(arm.iter().map(|value| (value - middle, label)));
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    if values.first().map(|v| v.0) == values.last().map(|v| v.0) {
        return Err(Refusal::Constant);
    }
    let sizes: Vec<f64> = arms.iter().map(|arm| arm.len() as f64).collect();
    let observed = statistic(&values, &sizes);
    let mut rng = random::generator(5);
    let mut labels: Vec<usize> = values.iter().map(|(_, label)| *label).collect();
    let mut count = 0;
    for _ in 0..DRAWS {
        random::shuffle(&mut labels, &mut rng);
        values.iter_mut().zip(&labels).for_each(|(value, label)| value.1 = *label);
        count += u32::from(statistic(&values, &sizes) >= observed * (1.0 - super::ROUNDING));
    }
    Ok(AndersonDarling { statistic: observed, p: P::drawn(count, DRAWS) })
}

fn statistic(sorted: &[(f64, usize)], sizes: &[f64]) -> f64 {
    let total = sorted.len() as f64;
    let (mut before, mut seen, mut sums) = (0.0, vec![0.0; sizes.len()], vec![0.0; sizes.len()]);
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let tied = group.len() as f64;
        let b = before + tied / 2.0;
        let weight = b * (total - b) - total * tied / 4.0;
        for (label, ((seen, sum), size)) in seen.iter_mut().zip(&mut sums).zip(sizes).enumerate() {
            let here = group.iter().filter(|(_, other)| *other == label).count() as f64;
            if weight > 0.0 {
                *sum += tied * (total * (*seen + here / 2.0) - b * size).powi(2) / weight;
            }
            *seen += here;
        }
        before += tied;
    }
    (total - 1.0) / (total * total) * sums.iter().zip(sizes).map(|(sum, size)| sum / size).sum::<f64>()
}
