//! Tests by ranks whether block maxima and counts of exceedances change over the run, or depend on each other.

use super::{BLOCKS, GateTest, Observed, many};
use crate::special::{chi_square_above, normal};

pub(super) fn tests(observed: &Observed<'_>, threshold: i64) -> Vec<GateTest> {
    let maxima = observed.block_maxima;
    let names = ["mann-kendall", "halves", "ljung-box", "crowding"];
    let given = maxima.len() as u64;
    if given < BLOCKS {
        return names
            .map(|name| GateTest::impossible(name, format!("{}; the minimum is {BLOCKS}", many(given, "block"))))
            .to_vec();
    }
    let (s, kendall) = mann_kendall(maxima);
    let (before, after) = maxima.split_at(maxima.len() / 2);
    let (d, halves) = two_samples(before, after);
    let (q, box_) = ljung_box(maxima, 10);
    // If a system stays in another state for some blocks, exceedances crowd there, whatever the definition of a burst is.
    let (crowded, crowding) = ljung_box(&counts(observed, threshold), 3);
    vec![
        GateTest::by_p("mann-kendall", s, kendall, "block maxima rise or fall over the run"),
        GateTest::by_p("halves", d, halves, "block maxima of the two halves differ"),
        GateTest::by_p("ljung-box", q, box_, "block maxima depend on those before"),
        GateTest::by_p("crowding", crowded, crowding, "blocks with many exceedances cluster"),
    ]
}

/// Returns the number of exceedances in each block.
fn counts(observed: &Observed<'_>, threshold: i64) -> Vec<i64> {
    let mut counts = vec![0; observed.block_maxima.len()];
    let blocks = counts.len() as u128;
    for peak in observed.peaks.iter().filter(|peak| peak.value > threshold) {
        let block = u128::from(peak.index) * blocks / u128::from(observed.count.max(1));
        if let Some(count) = counts.get_mut(block as usize) {
            *count += 1;
        }
    }
    counts
}

/// Returns S and its two-sided p (Mann, Econometrica 13, 1945; Kendall, Rank Correlation Methods, 1975) by the normal approximation with
/// ties and continuity correction.
pub(super) fn mann_kendall(values: &[i64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mut sorted = values.to_vec();
    let discordant = sort_counting(&mut sorted);
    let pairs = n * (n - 1.0) / 2.0;
    let triple = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let (mut tied, mut lost) = (0.0, 0.0);
    for group in sorted.chunk_by(|a, b| a == b) {
        let t = group.len() as f64;
        tied += t * (t - 1.0) / 2.0;
        lost += triple(t);
    }
    let s = pairs - tied - 2.0 * discordant;
    let variance = (triple(n) - lost) / 18.0;
    if variance <= 0.0 || s == 0.0 {
        return (s, 1.0);
    }
    let z = (s.abs() - 1.0) / variance.sqrt();
    (s, (2.0 * normal(-z)).min(1.0))
}

/// Sorts by merging, and counts the pairs that were in descending order.
fn sort_counting(values: &mut [i64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = sort_counting(left) + sort_counting(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut rest = left.iter();
    for value in right.iter() {
        while let Some(first) = rest.as_slice().first().filter(|first| *first <= value) {
            merged.push(*first);
            rest.next();
        }
        count += rest.len() as f64;
        merged.push(*value);
    }
    merged.extend(rest);
    values.copy_from_slice(&merged);
    count
}

/// Returns the largest distance between two empirical distributions (Smirnov) and its p by the limit distribution.
pub(super) fn two_samples(a: &[i64], b: &[i64]) -> (f64, f64) {
    let (n, m) = (a.len() as f64, b.len() as f64);
    let mut all: Vec<(i64, f64)> = a.iter().map(|v| (*v, 1.0 / n)).chain(b.iter().map(|v| (*v, -1.0 / m))).collect();
    all.sort_by_key(|(value, _)| *value);
    let (mut apart, mut furthest) = (0.0_f64, 0.0_f64);
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        apart += group.iter().map(|(_, step)| step).sum::<f64>();
        furthest = furthest.max(apart.abs());
    }
    (furthest, kolmogorov_above(furthest, n * m / (n + m)))
}

/// Returns the probability that a Kolmogorov distance of `n` values is above `d` (the series with the correction of Stephens, JRSS B 32,
/// 1970).
pub(super) fn kolmogorov_above(d: f64, n: f64) -> f64 {
    let z = d * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    if z < 0.3 {
        return 1.0;
    }
    let sum: f64 =
        (1..=100).map(f64::from).map(|j| if j % 2.0 == 1.0 { 2.0 } else { -2.0 } * (-2.0 * j * j * z * z).exp()).sum();
    sum.clamp(0.0, 1.0)
}

/// Returns Q of the midranks at `lags` lags, at most a fifth of the blocks, and its p (Ljung & Box, Biometrika 65, 1978).
fn ljung_box(values: &[i64], lags: usize) -> (f64, f64) {
    let n = values.len() as f64;
    let lags = lags.min(values.len() / 5);
    let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
    let ranks: Vec<f64> = crate::two::midranks(&values).iter().map(|rank| rank - (n + 1.0) / 2.0).collect();
    let variance: f64 = ranks.iter().map(|rank| rank * rank).sum();
    if variance <= 0.0 {
        return (0.0, 1.0);
    }
    let correlation = |lag: usize| ranks.iter().zip(ranks.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>() / variance;
    let q = n * (n + 2.0) * (1..=lags).map(|lag| correlation(lag).powi(2) / (n - lag as f64)).sum::<f64>();
    (q, chi_square_above(q, lags as f64))
}
