//! Random numbers that are the same in every run of the program.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Creates a generator whose numbers depend on the purpose alone.
pub fn generator(purpose: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(0x6c61_7469_646f ^ purpose)
}

/// Returns a random number, evenly distributed over the open interval (0, 1).
pub fn uniform(generator: &mut ChaCha8Rng) -> f64 {
    // The centre of one of 2^53 parts: never 0, never 1.
    (generator.random::<u64>() >> 11) as f64 * f64::EPSILON / 2.0 + f64::EPSILON / 4.0
}

/// Shuffles the values; all orders are equally likely (Fisher & Yates).
pub fn shuffle<T>(values: &mut [T], generator: &mut ChaCha8Rng) {
    for last in (1..values.len()).rev() {
        values.swap(last, generator.random_range(0..=last));
    }
}

/// Returns the p value of a statistic, compared with draws of it under the null hypothesis. It draws until 20 draws are as large or there
/// are `most` of them (Besag & Clifford, Biometrika 78, 1991): few draws where the answer is clear. An impossible draw counts as larger.
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
