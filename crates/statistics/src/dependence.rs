//! How much less a series says about a quantile than the same number of independent samples, because samples above the quantile come in
//! crowds.

use crate::special::{normal_quantile, t_quantile_beyond};

/// Into how many equal blocks of time a series is divided: many short ones are precise, few long ones contain whole crowds.
const BLOCKS: [u64; 2] = [48, 16];

/// The two-sided error probability of the interval that Student's t widens.
const BEYOND: f64 = 0.05;

/// Returns the design effect of the share of samples above a threshold: the variance of their number divided by that of independent
/// samples, at least 1. `events` are the samples above: each has a moment below `length` (its place among all samples, or ns) and the
/// number of samples that it represents. `count` is the number of all samples.
///
/// For independent samples, the number of samples above in each of equal blocks of time has the variance of a binomial. Half the mean
/// square of the differences between neighbouring blocks estimates the real variance, including the effect of crowds within blocks, but
/// without that of a slow drift (von Neumann 1941). To allow for the uncertainty of this estimate, the function widens the interval with
/// Student's t. It tries two block lengths and returns the larger result.
pub fn design_effect(events: &[(u64, f64)], length: u64, count: u64) -> f64 {
    let above: f64 = events.iter().map(|(_, weight)| weight).sum();
    if !(above > 0.0 && above < count as f64) {
        return 1.0;
    }
    let of = |blocks: u64| {
        let mut counts = vec![0.0; blocks as usize];
        for (moment, weight) in events {
            let block = u128::from(*moment) * u128::from(blocks) / u128::from(length.max(1));
            let last = counts.len().saturating_sub(1);
            if let Some(count) = counts.get_mut((block as usize).min(last)) {
                *count += weight;
            }
        }
        let independent = above / blocks as f64 * (1.0 - above / count as f64);
        variance(&counts) / independent * widening(blocks)
    };
    BLOCKS.into_iter().map(of).fold(1.0, f64::max)
}

/// Returns the design effect of a mean, from the count, the sum and the sum of squares of equal blocks of time, in time order. Returns 1
/// for fewer than eight whole blocks.
pub fn design_effect_of_sums(blocks: &[(f64, f64, f64)]) -> f64 {
    // The last block is often shorter than the others.
    let whole = blocks.get(..blocks.len().saturating_sub(1)).unwrap_or_default();
    if whole.len() < 8 {
        return 1.0;
    }
    let (count, sum, squares) =
        whole.iter().fold((0.0, 0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1, all.2 + one.2));
    let mean = sum / count;
    let independent = (squares - sum * mean) / whole.len() as f64;
    let sums: Vec<f64> = whole.iter().map(|(count, sum, _)| sum - count * mean).collect();
    let found = variance(&sums) / independent * widening(whole.len() as u64);
    if found.is_finite() { found.max(1.0) } else { 1.0 }
}

/// Returns half the mean square of the differences between neighbours.
fn variance(values: &[f64]) -> f64 {
    let differences = values.iter().zip(values.iter().skip(1)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    differences / (2.0 * (values.len().saturating_sub(1).max(1)) as f64)
}

/// Returns the square of the factor by which an interval widens when its variance is known only from this number of blocks.
fn widening(blocks: u64) -> f64 {
    // Neighbouring differences share a block: they are only as precise as this number of independent ones.
    let freedom = 2.0 * (blocks - 1) as f64 / 3.0;
    (t_quantile_beyond(BEYOND, freedom) / normal_quantile(1.0 - BEYOND / 2.0)).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{generator, uniform};

    #[test]
    fn crowds_count_and_drift_does_not() {
        let n = 20_000;
        let mut random = generator(1);
        let design_effect = |moments: &[u64], length, count| {
            design_effect(&moments.iter().map(|moment| (*moment, 1.0)).collect::<Vec<_>>(), length, count)
        };
        let single: Vec<u64> = (0..n).filter(|_| uniform(&mut random) < 0.05).collect();
        assert!(design_effect(&single, n, n) < 2.0);
        // Each crowd of twenty counts as one: the variance of the sum is twenty times that of single samples.
        let mut crowds: Vec<u64> = (0..50).map(|_| (uniform(&mut random) * 19_980.0) as u64).collect();
        crowds.sort_unstable();
        let mut crowded: Vec<u64> = crowds.iter().flat_map(|begin| *begin..begin + 20).collect();
        crowded.dedup();
        let found = design_effect(&crowded, n, n);
        assert!((10.0..40.0).contains(&found), "{found}");
        let drifting: Vec<u64> = (0..n).filter(|i| uniform(&mut random) < 0.1 * *i as f64 / n as f64).collect();
        assert!(design_effect(&drifting, n, n) < 2.0);
        assert_eq!((design_effect(&[], n, n), design_effect(&[0, 1], 2, 2)), (1.0, 1.0));
    }

    /// For sixty series of each kind (`examples/coverage.rs` has more and longer ones), the limits of p95 and p99 contain the true quantile
    /// in nine of ten. Limits for independent samples contain it in half of the bursty ones.
    #[test]
    fn limits_of_quantiles_hold_where_samples_come_in_crowds() {
        use crate::quantile::{quantile, quantile_of_series};
        let (n, runs) = (6_000usize, 60);
        type Draw = fn(usize, f64, f64) -> f64;
        let kinds: [(&str, Draw); 3] = [
            ("independent", |_, _, own| own),
            ("bursty", |_, crowd, own| if crowd > 0.0 { own + 10.0 } else { own }),
            ("drifting", |i, _, own| own * (1.0 + i as f64 / 12_000.0)),
        ];
        let mut random = generator(3);
        let mut series = |kind: Draw| -> Vec<i64> {
            let mut left = 0;
            let mut one = |i: usize| {
                left = if left > 0 { left - 1 } else { 20 * usize::from(uniform(&mut random) < 1.0 / 400.0) };
                (kind(i, left as f64, -uniform(&mut random).ln()) * 1e6) as i64
            };
            (0..n).map(&mut one).collect()
        };
        for (name, kind) in kinds {
            let mut pool: Vec<i64> = (0..100).flat_map(|_| series(kind)).collect();
            pool.sort_unstable();
            for p in [0.95, 0.99] {
                let truth = pool[(pool.len() as f64 * p) as usize];
                let (mut held, mut naive) = (0, 0);
                for _ in 0..runs {
                    let all = series(kind);
                    let mut sorted = all.clone();
                    sorted.sort_unstable();
                    // Only crowds leave so few independent samples that there is no upper limit.
                    let holds = |found: crate::quantile::Quantile| {
                        found.lower.is_some_and(|low| low <= truth)
                            && found.upper.map_or(name == "bursty", |high| truth <= high)
                    };
                    held += u32::from(holds(quantile_of_series(&all, &sorted, p, 0.95).unwrap()));
                    naive += u32::from(holds(quantile(&sorted, p, 0.95).unwrap()));
                }
                assert!(held * 10 >= runs * 9, "{name} p{p}: {held} of {runs}");
                assert!(name != "bursty" || naive * 10 < runs * 8, "{name} p{p}: {naive} of {runs} without");
            }
        }
    }

    /// Blocks of 1,000 samples: first with equal means, then with means that spread over half the range of single samples.
    #[test]
    fn means_of_blocks_show_states() {
        let mut random = generator(2);
        let mut blocks = |shift: f64| -> Vec<(f64, f64, f64)> {
            let block = |_| {
                let own = shift * (uniform(&mut random) - 0.5);
                let values: Vec<f64> = (0..1_000).map(|_| own + uniform(&mut random)).collect();
                (1_000.0, values.iter().sum(), values.iter().map(|value| value * value).sum())
            };
            (0..40).map(block).collect()
        };
        assert!(design_effect_of_sums(&blocks(0.0)) < 2.0);
        assert!(design_effect_of_sums(&blocks(0.5)) > 20.0);
        assert_eq!(design_effect_of_sums(&blocks(0.5)[..5]), 1.0, "too few to tell");
    }
}
