//! Simulates how often a series without a change is reported to have one, and how often a planted change is found: for independent values,
//! and for values that keep a part of the one before them.
//!
//! Usage: cargo run --release -p latido-statistics --example changes -- [SERIES, default 200]

use latido_statistics::change::changes;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// What each value keeps of the one before it, the step of the level after the first half, in standard deviations, and the factor by which
/// the values then spread more widely.
const KINDS: [(f64, f64, f64); 14] = [
    (0.0, 0.0, 1.0),
    (0.3, 0.0, 1.0),
    (0.6, 0.0, 1.0),
    (0.8, 0.0, 1.0),
    (0.0, 1.5, 1.0),
    (0.0, 3.0, 1.0),
    (0.0, 10.0, 1.0),
    (0.6, 3.0, 1.0),
    (0.0, 0.0, 2.0),
    (0.0, 0.0, 3.0),
    (0.0, 0.0, 10.0),
    (0.0, 0.0, 0.2),
    (0.0, 3.0, 3.0),
    (0.0, 6.0, 3.0),
];

fn main() {
    let rounds: u32 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(200);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for count in [30, 60] {
        for (kept, step, wider) in KINDS {
            let [mut any, mut right] = [0_u32; 2];
            for _ in 0..rounds {
                let Ok(found) = changes(&series(&mut rng, count, kept, step, wider)) else { return };
                any += u32::from(!found.changes.is_empty());
                right += u32::from(found.changes.iter().any(|change| change.index.abs_diff(count / 2) <= 2));
            }
            let percent = |part: u32| 100.0 * f64::from(part) / f64::from(rounds);
            println!(
                "{count} values that keep {kept}, step {step}, spread by {wider}: {:.0} % have a change, {:.0} % have it within two values of the step",
                percent(any),
                percent(right)
            );
        }
    }
}

/// Draws normal values of deviation 1, each of which keeps a part of the one before it. From the middle on they spread more widely by a
/// factor, and are higher by the step.
fn series(rng: &mut ChaCha8Rng, count: usize, kept: f64, step: f64, wider: f64) -> Vec<f64> {
    let mut last = 0.0;
    let one = |at: usize| {
        // Box and Muller.
        let (radius, turn): (f64, f64) = (rng.random(), rng.random());
        let normal = (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        last = kept * last + normal * (1.0 - kept * kept).sqrt();
        if at < count / 2 { last } else { wider * last + step }
    };
    (0..count).map(one).collect()
}
