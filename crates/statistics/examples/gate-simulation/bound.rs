//! A bound for all tests: how often a test can distinguish two causes from one, if it must accept 90 % of sound runs.
//!
//! Every generalised Pareto tail with a shape below .5 is sound. A test that accepts 90 % of the runs of each such tail also accepts 90 %
//! of those of any distribution of shapes and scales (a prior). Against a prior the best test of a given level is the likelihood ratio in
//! which everything but the answer is known (Neyman & Pearson, Phil. Trans. R. Soc. A 231, 1933; Lehmann & Romano, Testing Statistical
//! Hypotheses, 2005, section 3.8). Every prior gives a bound. This module takes the lowest bound of a few priors around the tail that is
//! fitted to the two causes.

use super::{
    draw::{passed, shares},
    kinds::{Kind, uniform},
};
use latido_statistics::tail::gpd::{Excesses, Gpd, fit};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// The number of runs that are drawn of each.
const RUNS: usize = 2_000;
/// The share of sound runs that may be refused.
const REFUSED: f64 = 0.1;
/// The widths of the priors, in standard errors of a fit: 0 is a single tail.
const WIDTHS: [f64; 3] = [0.0, 1.0, 1.6];
/// The number of steps of a standard error that a prior goes to each side.
const STEPS: i32 = 3;

/// The share of runs that the best test of `k` excesses refuses; `None` if the shape itself is refused.
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
    let of_two = |y: f64| {
        let value = threshold + y;
        let two: f64 = causes.iter().map(|(share, factor, _)| share / factor * kind.tail.density(value / factor)).sum();
        (two / all).ln()
    };
    let one = |rng: &mut ChaCha8Rng| {
        let mut left = uniform(rng) * all;
        let cause = causes.iter().find(|(_, _, above)| {
            left -= above;
            left <= 0.0
        });
        let (share, factor, above) = *cause.or(causes.last()).unwrap_or(&(1.0, 1.0, 1.0));
        (factor * kind.tail.above(above / share * uniform(rng)) - threshold).max(0.0)
    };
    let mut rng = ChaCha8Rng::seed_from_u64(k);
    let mut least = 1.0_f64;
    for width in WIDTHS {
        let prior = prior(sound, k, width);
        let ratio = |run: Vec<f64>| {
            let two: f64 = run.iter().map(|y| of_two(*y)).sum();
            let run = Excesses::Exact(run);
            let logs: Vec<f64> = prior.iter().map(|(gpd, weight)| weight.ln() + run.log_likelihood(*gpd)).collect();
            let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            two - most - logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
        };
        let mut of_sound: Vec<f64> = (0..RUNS)
            .map(|_| {
                let mut left = uniform(&mut rng);
                let drawn = prior.iter().find(|(_, weight)| {
                    left -= weight;
                    left <= 0.0
                });
                let gpd = drawn.map_or(sound, |(gpd, _)| *gpd);
                ratio((0..k).map(|_| gpd.quantile_above(uniform(&mut rng))).collect())
            })
            .collect();
        of_sound.sort_by(f64::total_cmp);
        let limit = of_sound[((1.0 - REFUSED) * RUNS as f64) as usize];
        let seen = (0..RUNS).filter(|_| ratio((0..k).map(|_| one(&mut rng)).collect()) > limit).count();
        least = least.min(seen as f64 / RUNS as f64);
        // If even a known tail leaves no doubt, or too much doubt, a wider prior adds nothing.
        if width == 0.0 && least < 0.99 {
            break;
        }
    }
    Some(least)
}

/// Sound tails around one, with weights that are normal in the standard errors of a fit of `k` excesses (Smith, Biometrika 72, 1985).
fn prior(about: Gpd, k: u64, width: f64) -> Vec<(Gpd, f64)> {
    if width == 0.0 {
        return vec![(about, 1.0)];
    }
    let one = |(a, b): (i32, i32)| {
        let (a, b) = (f64::from(a), f64::from(b));
        let root = (k as f64).sqrt();
        let log = -a / root + b * (1.0 + 2.0 * about.xi).sqrt() / root;
        let gpd = Gpd { xi: about.xi + a * (1.0 + about.xi) / root, sigma: about.sigma * log.exp() };
        (gpd, (-(a * a + b * b) / (2.0 * width * width)).exp())
    };
    let places = (-STEPS..=STEPS).flat_map(|a| (-STEPS..=STEPS).map(move |b| (a, b)));
    let mut prior: Vec<(Gpd, f64)> = places.map(one).filter(|(gpd, _)| gpd.xi < 0.5).collect();
    let all: f64 = prior.iter().map(|(_, weight)| weight).sum();
    prior.iter_mut().for_each(|(_, weight)| *weight /= all);
    prior
}
