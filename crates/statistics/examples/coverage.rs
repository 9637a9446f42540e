//! Simulates how often the 95 % limits of quantiles contain the true quantile, for independent, bursty, periodic, drifting and switching
//! series; and how often the interval of a level of the tail contains the true level.
//!
//! Usage: cargo run --release -p latido-statistics --example coverage -- [RUNS]

use latido_statistics::{
    quantile::{quantile, quantile_of_series},
    special::{bisect, normal, normal_quantile},
    tail::{Level, Observed, Peak, default_k, tail},
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const SAMPLES: usize = 20_000;
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// A name, a function that draws a series, and its distribution function.
type Kind = (&'static str, fn(&mut ChaCha8Rng) -> Vec<i64>, fn(f64) -> f64);

fn unit(random: &mut ChaCha8Rng) -> f64 {
    1.0 - random.random::<f64>()
}

fn exponential(random: &mut ChaCha8Rng, mean: f64) -> f64 {
    -unit(random).ln() * mean
}

/// Converts a value in us to whole ns.
fn ns(us: f64) -> i64 {
    (us * 1e3).round() as i64
}

fn independent(random: &mut ChaCha8Rng) -> Vec<i64> {
    (0..SAMPLES).map(|_| ns(5.0 + exponential(random, 4.0))).collect()
}

/// Draws crowds of 20 samples, about ten times as large, at random moments: on average a crowd in 500 samples.
fn bursty(random: &mut ChaCha8Rng) -> Vec<i64> {
    states(random, 500.0, |_| 20)
}

/// Draws states of 200 samples on average, with 2,000 samples on average between them.
fn switching(random: &mut ChaCha8Rng) -> Vec<i64> {
    states(random, 2_000.0, |random| exponential(random, 200.0) as usize + 1)
}

fn states(random: &mut ChaCha8Rng, apart: f64, length: fn(&mut ChaCha8Rng) -> usize) -> Vec<i64> {
    let mut all: Vec<f64> = (0..SAMPLES).map(|_| 5.0 + exponential(random, 1.0)).collect();
    // The states start long before the series, so that its first sample is like any other.
    let mut at = -20_000.0;
    loop {
        at += exponential(random, apart);
        let crowd = length(random);
        for i in 0..crowd {
            let place = at as i64 + i as i64;
            if let Some(one) = usize::try_from(place).ok().and_then(|place| all.get_mut(place)) {
                *one += exponential(random, 10.0);
            }
        }
        at += crowd as f64;
        if at >= SAMPLES as f64 {
            return all.into_iter().map(ns).collect();
        }
    }
}

/// Draws a series in which every 250th sample is larger.
fn periodic(random: &mut ChaCha8Rng) -> Vec<i64> {
    let phase = random.random_range(0..250);
    let large = |i: usize| if i % 250 == phase { 12.0 } else { 0.0 };
    (0..SAMPLES).map(|i| ns(5.0 + exponential(random, 1.5) + large(i))).collect()
}

/// Draws samples that grow by a factor from 1 to 1.5 over the run. The true quantile is that of the whole run.
fn drifting(random: &mut ChaCha8Rng) -> Vec<i64> {
    (0..SAMPLES).map(|i| ns(5.0 + exponential(random, 4.0) * (1.0 + 0.5 * i as f64 / SAMPLES as f64))).collect()
}

/// The distribution function of a sum of exponentials of means 1 and 10.
fn sum(x: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { 1.0 - (10.0 * (-x / 10.0).exp() - (-x).exp()) / 9.0 }
}

fn exponential_below(x: f64, mean: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { -f64::exp_m1(-x / mean) }
}

const KINDS: [Kind; 5] = [
    ("independent", independent, |x| exponential_below(x - 5.0, 4.0)),
    ("bursty", bursty, |x| mixed(x, 20.0 / 520.0)),
    ("switching", switching, |x| mixed(x, 200.5 / 2_200.5)),
    ("periodic", periodic, |x| (249.0 * exponential_below(x - 5.0, 1.5) + exponential_below(x - 17.0, 1.5)) / 250.0),
    ("drifting", drifting, |x| {
        (0..1_000).map(|i| exponential_below(x - 5.0, 4.0 * (1.0 + 0.5 * (f64::from(i) + 0.5) / 1_000.0))).sum::<f64>()
            / 1e3
    }),
];

fn mixed(x: f64, share: f64) -> f64 {
    (1.0 - share) * exponential_below(x - 5.0, 1.0) + share * sum(x - 5.0)
}

/// Prints how often the interval of the level that is exceeded once an hour contains the true level, for runs of a minute at 1 kHz.
fn levels(name: &str, runs: u32, draw: impl Fn(&mut ChaCha8Rng) -> f64, truth: f64) {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let (mut given, mut held, mut low) = (0, 0, 0);
    for _ in 0..runs {
        let samples: Vec<i64> = (0..60_000).map(|_| ns(draw(&mut random))).collect();
        let peaks: Vec<Peak> = (0..).zip(&samples).map(|(index, value)| Peak { index, value: *value }).collect();
        let count = samples.len() as u64;
        let each = samples.len() / 200;
        let maxima: Vec<i64> = samples.chunks(each).filter_map(|block| block.iter().max().copied()).collect();
        let observed = Observed { peaks: &peaks, count, length_s: 60.0, block_maxima: &maxima };
        let Some(levels) = tail(&observed, default_k(count, count), &[3_600.0]).ok().and_then(|tail| tail.levels)
        else {
            continue;
        };
        let Some(Level::Estimated { level, .. }) = levels.first() else { continue };
        given += 1;
        let truth = truth * 1e3;
        held += u32::from(level.lower.is_none_or(|low| low <= truth) && level.upper.is_none_or(|high| truth <= high));
        low += u32::from(level.upper.is_some_and(|high| high < truth));
    }
    println!(
        "{name:12} {runs:5} runs {given:5} given {:5.1} % hold, {low} too low",
        100.0 * f64::from(held) / f64::from(given.max(1))
    );
}

fn main() {
    let runs: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(400);
    println!(
        "coverage of 95 % limits, {runs} runs a kind: of independent samples, then of the series; `-` where there is no limit"
    );
    for (name, series, below) in KINDS {
        let truths = QUANTILES.map(|p| bisect(0.0, 1e4, |x| below(x) < p) * 1e3);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let (mut plain, mut held) = ([(0, 0); 4], [(0, 0); 4]);
        for _ in 0..runs {
            let all = series(&mut random);
            let mut sorted = all.clone();
            sorted.sort_unstable();
            for (((p, truth), plain), held) in QUANTILES.iter().zip(truths).zip(&mut plain).zip(&mut held) {
                for (found, into) in
                    [(quantile(&sorted, *p, 0.95), plain), (quantile_of_series(&all, &sorted, *p, 0.95), held)]
                {
                    let Ok(found) = found else { continue };
                    let (Some(low), Some(high)) = (found.lower, found.upper) else { continue };
                    into.0 += 1;
                    into.1 += u32::from(low as f64 <= truth + 0.5 && truth - 0.5 <= high as f64);
                }
            }
        }
        let share = |(given, held): (u32, u32)| match given {
            0 => "    -".to_owned(),
            _ => format!("{:5.1}", 100.0 * f64::from(held) / f64::from(given)),
        };
        for (p, (plain, held)) in QUANTILES.iter().zip(plain.into_iter().zip(held)) {
            println!("{name:12} p{:<5} {} {}  ({} of {runs} given)", p * 100.0, share(plain), share(held), held.0);
        }
    }
    let hour = 3.6e6;
    let tails = runs / 4;
    println!("levels of once an hour, of 60 s at 1 kHz");
    levels("exponential", tails, |random| 5.0 + exponential(random, 4.0), 5.0 + 4.0 * f64::ln(hour));
    let gaussian = |random: &mut ChaCha8Rng| normal_quantile(unit(random).clamp(1e-16, 1.0 - 1e-16));
    let z = bisect(0.0, 10.0, |z| 1.0 - normal(z) > 1.0 / hour);
    levels("gaussian", tails, |random| 20.0 + 3.0 * gaussian(random), 20.0 + 3.0 * z);
    levels("lognormal", tails, |random| 20.0 * (0.35 * gaussian(random)).exp(), 20.0 * (0.35 * z).exp());
}
