//! Measures how long the largest computations take: a tail of 4,096 peaks, and two systems with ten repeats each.

use latido_statistics::{
    tail::{Observed, Peak, tail},
    two::{Question, compare, shift::shift},
};
use rand::{Rng as _, SeedableRng as _};
use std::time::Instant;

fn main() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut uniform = || ((rng.random::<u64>() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let count = 3_600_000;
    let mut peaks: Vec<Peak> = (0..4096)
        .map(|_| Peak { index: (uniform() * count as f64) as u64, value: 90_000 + (-10_000.0 * uniform().ln()) as i64 })
        .collect();
    let block_maxima: Vec<i64> = (0..3600).map(|_| 90_000 + (-10_000.0 * uniform().ln()) as i64).collect();
    for quantised in [false, true] {
        if quantised {
            peaks.iter_mut().for_each(|peak| peak.value -= peak.value % 1000);
        }
        let observed = Observed { peaks: &peaks, count, length_s: 3600.0, block_maxima: &block_maxima };
        let start = Instant::now();
        let found = tail(&observed, 4095, &[3_600.0, 86_400.0, 360_000.0]);
        let verdict = found.map(|tail| tail.gate.verdict);
        println!("fit, gate and three levels of 4,096 peaks: {:?} ({verdict:?})", start.elapsed());
    }
    let mut arm = || (0..10).map(|_| 1e5 * (1.0 + uniform())).collect::<Vec<f64>>();
    let (a, b) = (arm(), arm());
    let repeats: Vec<Vec<(i64, u64)>> =
        (0..10).map(|_| (0..2000).map(|i| (i * 50, 1 + (uniform() * 500.0) as u64)).collect()).collect();
    let repeats: Vec<&[(i64, u64)]> = repeats.iter().map(Vec::as_slice).collect();
    let start = Instant::now();
    let found = compare(&a, &b, Question::RATIO).is_ok();
    println!("two systems of ten repeats: {:?} (found: {found})", start.elapsed());
    let start = Instant::now();
    let found = shift(&repeats, &repeats).is_ok();
    println!("their shift function, histograms of 2,000 values: {:?} (found: {found})", start.elapsed());
}
