//! Tests whether two causes of different size describe the excesses better than one: a likelihood ratio.

use crate::optimum::minimum_of_two;

/// The ratios of the two causes' scales that the test tries. A ratio in between shows at its neighbours.
const RATIOS: [f64; 3] = [2.5, 5.0, 10.0];
/// The shapes that both causes may have.
const SHAPES: (f64, f64) = (-0.5, 0.5);
/// The largest share of the second cause: beyond it there is practically one cause again.
const LARGEST_SHARE: f64 = 0.95;
/// The larger excesses count separately. Further down, groups of excesses count with their mean, because densities hardly differ within a
/// group: each has a sixteenth as many excesses as there are larger ones.
const FINE: usize = 16;

/// How far from 0 the shape of two causes usually is. Two light causes describe one heavy cause almost as well, and one heavy cause
/// describes two light ones: two heavy causes would explain anything.
const USUAL_SHAPE: f64 = 0.05;

/// Returns twice the logarithm of the likelihood ratio of two causes to the fitted distribution. The two causes are generalised Pareto
/// distributions with the same shape and different scales (McLachlan & Peel, Finite Mixture Models, 2000, section 6.4). The excesses are in
/// units of the fitted scale, in descending order. A normal penalty keeps the shape of the two near 0 (Green & Silverman, Nonparametric
/// Regression and Generalized Linear Models, 1994, chapter 1): it reduces the likelihood of true mixtures little, and that of sound heavy
/// tails much. The result is never below 0. For sound data it has no known distribution, so that simulations provide it.
pub(super) fn ratio(excesses: &[f64], xi: f64) -> f64 {
    let points = Points::of(excesses);
    let one = points.of_one(xi);
    let mut start = [(xi - 0.1).clamp(-0.3, 0.3), -0.1 - xi.max(0.0)];
    let mut best = one;
    for ratio in RATIOS {
        let cost = |[xi, log]: [f64; 2]| (xi / USUAL_SHAPE).powi(2) / 2.0 - points.of_two(xi, log.exp(), ratio);
        let (at, least) = minimum_of_two(start, [0.05, 0.15], 60, cost);
        best = best.max(-least);
        start = at;
    }
    let twice = 2.0 * (best - one);
    if twice.is_finite() { twice } else { 0.0 }
}

/// Excesses, and how many each represents.
struct Points(Vec<(f64, f64)>);

impl Points {
    fn of(excesses: &[f64]) -> Self {
        let (mut points, mut rest) = (Vec::new(), excesses);
        while !rest.is_empty() {
            let together = ((excesses.len() - rest.len()) / FINE).clamp(1, rest.len());
            let (group, left) = rest.split_at(together);
            points.push((group.iter().sum::<f64>() / together as f64, together as f64));
            rest = left;
        }
        Self(points)
    }

    fn of_one(&self, xi: f64) -> f64 {
        self.0.iter().map(|(excess, count)| count * density(*excess, xi, 1.0).ln()).sum()
    }

    /// Returns the log-likelihood of two causes at the best share of the second one; it is concave in the share.
    fn of_two(&self, xi: f64, scale: f64, ratio: f64) -> f64 {
        if xi < SHAPES.0 || xi > SHAPES.1 {
            return -1e300;
        }
        let densities: Vec<(f64, f64, f64)> = (self.0.iter())
            .map(|(excess, count)| (density(*excess, xi, scale), density(*excess, xi, scale * ratio), *count))
            .collect();
        let (mut low, mut high, mut share) = (0.0, LARGEST_SHARE, 0.1);
        for _ in 0..12 {
            let (slope, curve) = densities.iter().fold((0.0, 0.0), |(slope, curve), (one, two, count)| {
                let part = (two - one) / (one + share * (two - one)).max(f64::MIN_POSITIVE);
                (slope + count * part, curve + count * part * part)
            });
            if slope > 0.0 {
                low = share
            } else {
                high = share
            }
            let next = share + slope / curve;
            let next = if next > low && next < high { next } else { f64::midpoint(low, high) };
            let step = (next - share).abs();
            share = next;
            if step < 1e-3 * share {
                break;
            }
        }
        let sum: f64 = densities.iter().map(|(one, two, count)| count * (one + share * (two - one)).ln()).sum();
        if sum.is_finite() { sum } else { -1e300 }
    }
}

fn density(excess: f64, xi: f64, scale: f64) -> f64 {
    let z = excess / scale;
    if xi.abs() < 1e-6 {
        return (-z).exp() / scale;
    }
    if xi * z <= -1.0 { 0.0 } else { (-(1.0 + 1.0 / xi) * (xi * z).ln_1p()).exp() / scale }
}
