//! What no test can do better: how often two causes can be told from one, if 90 % of sound runs are to be accepted.
//!
//! Sound is at least every generalised Pareto tail with a shape below .5. Against any single one of them the best test of a
//! given level is the likelihood ratio with everything known (Neyman & Pearson, Phil. Trans. R. Soc. A 231, 1933), and a
//! test that must accept all of them does no better. Taken is the one that is fitted to the two causes.

use super::{
    draw::{passed, shares},
    kinds::{Kind, uniform},
};
use latido_statistics::tail::gpd::{Excesses, Gpd, fit};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// How many runs of each are drawn.
const RUNS: usize = 1_000;
/// How many refusals of sound runs are allowed.
const REFUSED: f64 = 0.1;

/// The share of runs that the best test of `k` excesses refuses; none where the shape itself is refused.
pub fn best(kind: &Kind, k: u64) -> Option<f64> {
    let rate = k as f64 / kind.n as f64;
    let halve = |probability: f64| {
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if passed(kind, middle) > probability { low = middle } else { high = middle }
        }
        high
    };
    let threshold = halve(rate);
    let grid: Vec<f64> = (0..10_000).map(|i| halve(rate * (f64::from(i) + 0.5) / 10_000.0) - threshold).collect();
    let sound = fit(&Excesses::Exact(grid)).ok()?.gpd;
    if sound.xi >= 0.5 {
        return None;
    }
    let causes: Vec<(f64, f64, f64)> = shares(kind.effect, kind.n)
        .into_iter()
        .map(|(share, factor)| (share, factor, share * kind.tail.probability(threshold / factor)))
        .collect();
    let all: f64 = causes.iter().map(|(_, _, above)| above).sum();
    let ratio = |y: f64| {
        let value = threshold + y;
        let two: f64 = causes.iter().map(|(share, factor, _)| share / factor * kind.tail.density(value / factor)).sum();
        (two / all).ln() - Excesses::Exact(vec![y]).log_likelihood(sound)
    };
    let mut rng = ChaCha8Rng::seed_from_u64(k);
    let of_sound: Vec<f64> =
        (0..RUNS).map(|_| (0..k).map(|_| ratio(Gpd::quantile_above(&sound, uniform(&mut rng)))).sum()).collect();
    let one = |rng: &mut ChaCha8Rng| {
        let mut left = uniform(rng) * all;
        let cause = causes.iter().find(|(_, _, above)| {
            left -= above;
            left <= 0.0
        });
        let (_, factor, above) = cause.or(causes.last()).map_or((0.0, 1.0, 1.0), |cause| *cause);
        let share = above / causes.iter().find(|(_, other, _)| *other == factor).map_or(1.0, |(share, _, _)| *share);
        ratio((factor * kind.tail.above(share * uniform(rng)) - threshold).max(0.0))
    };
    let of_two: Vec<f64> = (0..RUNS).map(|_| (0..k).map(|_| one(&mut rng)).sum()).collect();
    let mut sorted = of_sound;
    sorted.sort_by(f64::total_cmp);
    let limit = sorted[((1.0 - REFUSED) * RUNS as f64) as usize];
    Some(of_two.iter().filter(|ratio| **ratio > limit).count() as f64 / RUNS as f64)
}
