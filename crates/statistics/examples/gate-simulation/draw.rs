//! One run of a kind, and the effect of its kind on the level that is exceeded once in ten times the length.
//!
//! Only the largest samples of each block are drawn, as the points of a Poisson process with the tail of the distribution: these are what a
//! run stores.

use super::kinds::{BASE, Effect, Kind, SCALE, uniform};
use latido_statistics::tail::Peak;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// The number of blocks in a run.
pub const BLOCKS: u32 = 200;

/// The shares of a block's samples and the factors of their scale.
fn causes(effect: Effect, at: f64, high: bool) -> Vec<(f64, f64)> {
    match effect {
        Effect::Trend(factor) => vec![(1.0, 1.0 + (factor - 1.0) * at)],
        Effect::Shift(factor, from) if at > from => vec![(1.0, factor)],
        Effect::Mixture(factor, share) => vec![(1.0, 1.0), (share, factor)],
        Effect::Regimes(factor, _) if high => vec![(1.0, factor)],
        _ => vec![(1.0, 1.0)],
    }
}

/// The blocks in which the system is in its second regime.
fn regimes(effect: Effect, rng: &mut ChaCha8Rng) -> Vec<bool> {
    let Effect::Regimes(_, share) = effect else { return vec![false; BLOCKS as usize] };
    let mut high = uniform(rng) < share;
    let mut next = || {
        let leave = if high { 0.5 } else { 0.5 * share / (1.0 - share) };
        high = (uniform(rng) < leave) != high;
        high
    };
    (0..BLOCKS).map(|_| next()).collect()
}

/// Draws the largest samples and the block maxima of one run.
pub fn draw(kind: &Kind, rng: &mut ChaCha8Rng, stored: usize) -> (Vec<Peak>, Vec<i64>) {
    let size = kind.n / u64::from(BLOCKS);
    let high = regimes(kind.effect, rng);
    let extra = extra(kind, rng);
    let seed = rng.random::<u64>();
    // Each block has its own generator, so that a longer list of its largest samples starts like a shorter one.
    let mut lengths = vec![2 * stored / BLOCKS as usize + 20; BLOCKS as usize];
    loop {
        let mut peaks = Vec::with_capacity(2 * lengths.iter().sum::<usize>());
        // Below this value a list is incomplete.
        let mut complete_above = vec![f64::NEG_INFINITY; BLOCKS as usize];
        for (((block, high), each), end) in (0..u64::from(BLOCKS)).zip(&high).zip(&lengths).zip(&mut complete_above) {
            let at = (block as f64 + 0.5) / f64::from(BLOCKS);
            for ((share, factor), cause) in causes(kind.effect, at, *high).into_iter().zip(0..) {
                let mut rng = ChaCha8Rng::seed_from_u64(seed ^ (2 * block + cause));
                let (mut t, samples) = (0.0, size as f64 * share);
                let of = |t: f64| BASE + SCALE * factor * kind.tail.above(t / samples);
                for _ in 0..*each {
                    t -= uniform(&mut rng).ln();
                    if t >= samples {
                        break;
                    }
                    peaks.push((block * size + rng.random_range(0..size), of(t)));
                }
                if t < samples {
                    *end = f64::max(*end, of(t));
                }
            }
        }
        let largest = peaks.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        peaks.extend(extra.iter().map(|(index, value)| (*index, if *value < 0.0 { -value * largest } else { *value })));
        let step = if let Effect::Quantised(step) = kind.effect { step } else { 1.0 };
        let mut all: Vec<Peak> = peaks
            .iter()
            .map(|(index, value)| Peak { index: *index, value: ((value / step).round() * step) as i64 })
            .collect();
        let mut maxima = vec![0; BLOCKS as usize];
        for peak in &all {
            if let Some(place) = maxima.get_mut((peak.index / size) as usize) {
                *place = peak.value.max(*place);
            }
        }
        if all.len() > stored {
            all.select_nth_unstable_by_key(stored - 1, |peak| std::cmp::Reverse(peak.value));
            all.truncate(stored);
        }
        let least = all.iter().map(|peak| peak.value).min().unwrap_or_default();
        let short = || complete_above.iter().map(|end| *end >= least as f64);
        if !short().any(|short| short) {
            return (all, maxima);
        }
        lengths.iter_mut().zip(short()).filter(|(_, short)| *short).for_each(|(length, _)| *length *= 2);
    }
}

/// The samples that bursts and events add: their place and value. A value below zero is a multiple of the largest sample.
fn extra(kind: &Kind, rng: &mut ChaCha8Rng) -> Vec<(u64, f64)> {
    match kind.effect {
        Effect::Bursts(count, factor) => (0..u64::from(count) * 10)
            .map(|i| {
                let start = i / 10 * kind.n / u64::from(count);
                (start + i % 10, BASE + SCALE * factor * kind.tail.above(uniform(rng)))
            })
            .collect(),
        Effect::Events(count, multiple) => {
            (0..count).map(|_| (rng.random_range(0..kind.n), -multiple * (0.9 + 0.2 * uniform(rng)))).collect()
        }
        _ => Vec::new(),
    }
}

/// The share and the scale of each cause, over the whole run.
pub fn shares(effect: Effect, n: u64) -> Vec<(f64, f64)> {
    match effect {
        Effect::Sound | Effect::Quantised(_) | Effect::Events(..) => vec![(1.0, 1.0)],
        Effect::Trend(factor) => (0..BLOCKS)
            .map(|i| 1.0 + (factor - 1.0) * (f64::from(i) + 0.5) / f64::from(BLOCKS))
            .map(|f| (1.0 / f64::from(BLOCKS), f))
            .collect(),
        Effect::Shift(factor, from) => vec![(from, 1.0), (1.0 - from, factor)],
        Effect::Mixture(factor, share) => vec![(1.0, 1.0), (share, factor)],
        Effect::Regimes(factor, share) => vec![(1.0 - share, 1.0), (share, factor)],
        Effect::Bursts(count, factor) => vec![(1.0, 1.0), (f64::from(count) * 10.0 / n as f64, factor)],
    }
}

/// The probability that a sample exceeds a value (in scales), on average over the run.
pub fn passed(kind: &Kind, value: f64) -> f64 {
    let shares = shares(kind.effect, kind.n);
    let all: f64 = shares.iter().map(|(share, factor)| share * kind.tail.probability(value / factor)).sum();
    let Effect::Events(count, multiple) = kind.effect else { return all };
    // Events are a cause of their own: this number per run, spread around a multiple of the median of a run's largest sample.
    let largest = BASE + SCALE * kind.tail.above(std::f64::consts::LN_2 / kind.n as f64);
    let part = (1.1 - (BASE + SCALE * value) / (multiple * largest)) / 0.2;
    all + f64::from(count) / kind.n as f64 * part.clamp(0.0, 1.0)
}

/// The level that one in ten times as many samples exceeds, in ns.
pub fn true_level(kind: &Kind) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if passed(kind, middle) > 0.1 / kind.n as f64 { low = middle } else { high = middle }
    }
    BASE + SCALE * high
}

/// That level divided by the level without the effect.
pub fn effect(kind: &Kind) -> f64 {
    true_level(kind) / true_level(&Kind { effect: Effect::Sound, ..kind.clone() })
}
