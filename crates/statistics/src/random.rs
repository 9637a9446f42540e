//! Random numbers that are the same in every run of the program.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A generator whose numbers depend on the purpose alone.
pub fn generator(purpose: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(0x6c61_7469_646f ^ purpose)
}

/// Evenly distributed over the open interval (0, 1).
pub fn uniform(generator: &mut ChaCha8Rng) -> f64 {
    // The centre of one of 2^53 parts: never 0, never 1.
    (generator.random::<u64>() >> 11) as f64 * f64::EPSILON / 2.0 + f64::EPSILON / 4.0
}

/// Any order of the values is equally likely (Fisher & Yates).
pub fn shuffle<T>(values: &mut [T], generator: &mut ChaCha8Rng) {
    for last in (1..values.len()).rev() {
        values.swap(last, generator.random_range(0..=last));
    }
}

/// The p value of a statistic against draws of it under the null hypothesis, drawn until 20 are as large or `most` are
/// drawn (Besag & Clifford, Biometrika 78, 1991): few draws where the answer is clear. An impossible draw counts as larger.
pub fn sequential_p(statistic: f64, most: u32, mut draw: impl FnMut() -> Option<f64>) -> f64 {
    let (mut larger, mut drawn) = (0, 0);
    while drawn < most {
        drawn += 1;
        if draw().is_none_or(|other| other >= statistic) {
            larger += 1;
        }
        if larger == 20 {
            return f64::from(larger) / f64::from(drawn);
        }
    }
    f64::from(larger + 1) / f64::from(drawn + 1)
}
