//! How many repeats are necessary to find a difference, estimated from a pilot.

use super::mann_whitney::{distribution, repeats_needed};
use crate::{
    Refusal, random,
    refusal::{check, logs},
    special::{chi_square_quantile, normal, normal_quantile},
};
use serde::Serialize;

/// The result of a pilot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Plan {
    /// The standard deviation of the logarithms within sides.
    pub spread: f64,
    /// Its upper 80 % limit. The plan uses this limit, because a pilot of three repeats estimates the spread badly.
    pub spread_upper: f64,
    /// The level that Holm leaves to the first of a family: 5 % divided by their number.
    pub level: f64,
    /// The repeats per side that can reach the level at all.
    pub least: u64,
    /// The repeats per side that find the difference; `None` above 1,000.
    pub repeats: Option<u64>,
}

/// Returns the repeats per side that find a ratio of `ratio` (or its inverse) with probability `power`, as one of `family` verdicts.
///
/// The upper limit of the spread is `s sqrt(f / chi2(0.2, f))`. The number is that of Noether (JASA 82, 1987) for the Mann-Whitney test of
/// normal logarithms. Where it is at most 60, the function reduces it to the first number with which the exact test finds the difference in
/// the share `power` of 2,000 draws. Returns `Err` unless some side has two values, all values are above zero, and ratio and power are
/// possible.
pub fn plan(pilot: &[&[f64]], ratio: f64, family: u64, power: f64) -> Result<Plan, Refusal> {
    if !(ratio > 0.0 && ratio.is_finite() && ratio != 1.0 && power > 0.0 && power < 1.0 && family > 0) {
        return Err(Refusal::OutOfRange {
            what: "a plan needs a ratio above zero other than 1, a power between 0 and 1 and a verdict",
        });
    }
    let (mut squares, mut freedom, mut given) = (0.0, 0.0, 0);
    for arm in pilot {
        check(arm, "repeats", 1)?;
        let arm = logs(arm)?;
        let mean = arm.iter().sum::<f64>() / arm.len() as f64;
        squares += arm.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        freedom += arm.len() as f64 - 1.0;
        given = given.max(arm.len() as u64);
    }
    if freedom < 1.0 {
        return Err(Refusal::TooSmall { of: "repeats of the pilot", needed: 2, given });
    }
    let spread = (squares / freedom).sqrt();
    let spread_upper = spread * (freedom / chi_square_quantile(0.2, freedom)).sqrt();
    let level = super::verdict::LEVEL / family as f64;
    let least = repeats_needed(level).unwrap_or(1000);
    let distance = if spread_upper > 0.0 { ratio.ln().abs() / spread_upper } else { f64::INFINITY };
    let apart = normal(distance / std::f64::consts::SQRT_2) - 0.5;
    let z = normal_quantile(1.0 - level / 2.0) + normal_quantile(power);
    let noether = (z * z / (6.0 * apart * apart)).ceil().max(least as f64);
    let most = if noether <= 60.0 { noether as u64 } else { 0 };
    let drawn = (least..most).find(|n| found(*n as usize, distance, level) >= power);
    let repeats = drawn.or((noether <= 1000.0).then_some(noether as u64));
    Ok(Plan { spread, spread_upper, level, least, repeats })
}

/// Returns the smallest ratio above 1 that this number of repeats per side finds with probability `power`, as one of `family` verdicts,
/// where the logarithms have the standard deviation `spread`. This is the inverse of [`plan`], with the same draws up to 60 repeats.
/// Returns `None` where so few repeats cannot reach the level, or the arguments are impossible.
pub fn smallest_ratio(repeats: u64, spread: f64, family: u64, power: f64) -> Option<f64> {
    let sound = spread > 0.0 && spread.is_finite() && power > 0.0 && power < 1.0 && family > 0;
    let level = super::verdict::LEVEL / family as f64;
    if !sound || repeats < repeats_needed(level)? {
        return None;
    }
    let distance = if repeats <= 60 {
        let n = repeats as usize;
        // Use the same draws at every distance, so that the share never decreases with the distance.
        let (mut low, mut high) = (0.0, 1.0);
        while found(n, high, level) < power {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..10 {
            let middle = f64::midpoint(low, high);
            if found(n, middle, level) < power { low = middle } else { high = middle }
        }
        high
    } else {
        let z = normal_quantile(1.0 - level / 2.0) + normal_quantile(power);
        let apart = 0.5 + z / (6.0 * repeats as f64).sqrt();
        (apart < 1.0).then(|| normal_quantile(apart) * std::f64::consts::SQRT_2)?
    };
    Some((distance * spread).exp())
}

/// Returns the share of draws in which sides of `n` normal values, `distance` standard deviations apart, differ at the level.
fn found(n: usize, distance: f64, level: f64) -> f64 {
    const DRAWS: u32 = 2_000;
    let mut below = 0.0;
    let small = distribution(n, n).into_iter().take_while(|p| {
        below += p;
        2.0 * below <= level * (1.0 + 1e-12)
    });
    let critical = small.count();
    let mut rng = random::generator(6);
    let normals = |rng: &mut _, shift: f64| -> Vec<f64> {
        (0..n).map(|_| normal_quantile(random::uniform(rng)) + shift).collect()
    };
    let hits = (0..DRAWS).filter(|_| {
        let (a, b) = (normals(&mut rng, 0.0), normals(&mut rng, distance.min(1e6)));
        let u = a.iter().map(|a| b.iter().filter(|b| a > b).count()).sum::<usize>();
        u < critical || n * n - u < critical
    });
    hits.count() as f64 / f64::from(DRAWS)
}
