//! What the gate of the tail accepts and refuses, by simulation: `gate-simulation [CASES]` prints a table.
//!
//! Only the largest samples of each of 200 blocks are drawn, as the points of a Poisson process with the tail of the
//! distribution; that is what a run of n samples leaves of itself. Sound data are of one cause; the others have a second
//! one, whose size is tabled with what it does to the level that is passed once in ten times the length: `effect` is the true
//! level (on average over the run) over the one without the effect, `fit` the median of the level that would be told
//! without a gate over the one without the effect. Single events have no true level.

use latido_statistics::tail::{Level, Observed, Peak, default_k, gate::Decision, gate::Verdict, gpd, level, tail};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Blocks of a run.
const BLOCKS: u32 = 200;
/// The scale of the tails, ns, above a wake-up of 5 us.
const SCALE: f64 = 10_000.0;
const BASE: f64 = 5_000.0;
/// How many of the largest are stored.
const STORED: u64 = 4096;

/// The value that is exceeded with probability `t`, in scales.
type Above = fn(f64, f64) -> f64;

fn gpd_above(xi: f64, t: f64) -> f64 {
    if xi == 0.0 { -t.ln() } else { (t.powf(-xi) - 1.0) / xi }
}

fn lognormal(sd: f64, t: f64) -> f64 {
    (-sd * latido_statistics::special::normal_quantile(t)).exp()
}

fn gamma(shape: f64, t: f64) -> f64 {
    latido_statistics::special::chi_square_quantile(1.0 - t, 2.0 * shape) / 2.0
}

fn half_normal(_: f64, t: f64) -> f64 {
    -latido_statistics::special::normal_quantile(t / 2.0)
}

fn weibull(shape: f64, t: f64) -> f64 {
    (-t.ln()).powf(1.0 / shape)
}

/// What is wrong with the data, and how much.
#[derive(Clone, Copy)]
enum Effect {
    Sound,
    /// The scale grows over the run to this factor.
    Trend(f64),
    /// The scale has this factor after this share of the run.
    Shift(f64, f64),
    /// This share of the samples, at any time, has a scale of this factor.
    Mixture(f64, f64),
    /// The system switches to a scale of this factor for this share of the time, a stay of about two blocks.
    Regimes(f64, f64),
    /// This many bursts of ten samples, one after another at equal times, with a scale of this factor.
    Bursts(u32, f64),
    /// So many single events, at this multiple of the largest sample.
    Events(u32, f64),
    /// Rounded to so many ns.
    Quantised(f64),
}

struct Kind {
    name: String,
    above: Above,
    shape: f64,
    n: u64,
    effect: Effect,
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.random::<u64>() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// The largest samples and the block maxima of one run.
fn draw(kind: &Kind, rng: &mut ChaCha8Rng, stored: usize) -> (Vec<Peak>, Vec<i64>) {
    let size = kind.n / u64::from(BLOCKS);
    let mut each = 8 * stored / BLOCKS as usize + 30;
    let mut high = false;
    let seed = rng.random::<u64>();
    loop {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let (mut peaks, mut complete_above) = (Vec::new(), f64::NEG_INFINITY);
        for block in 0..BLOCKS {
            let at = (f64::from(block) + 0.5) / f64::from(BLOCKS);
            let mut causes = vec![(1.0, 1.0)];
            match kind.effect {
                Effect::Trend(factor) => causes = vec![(1.0, 1.0 + (factor - 1.0) * at)],
                Effect::Shift(factor, from) if at > from => causes = vec![(1.0, factor)],
                Effect::Mixture(factor, share) => causes.push((share, factor)),
                Effect::Regimes(factor, share) => {
                    let leave = if high { 0.5 } else { 0.5 * share / (1.0 - share) };
                    high = (uniform(rng) < leave) != high;
                    causes = vec![(1.0, if high { factor } else { 1.0 })];
                }
                _ => {}
            }
            for (share, factor) in causes {
                let (mut t, samples) = (0.0, size as f64 * share);
                for _ in 0..each {
                    t -= uniform(rng).ln();
                    if t >= samples {
                        break;
                    }
                    let value = BASE + SCALE * factor * (kind.above)(kind.shape, t / samples);
                    peaks.push((u64::from(block) * size + rng.random_range(0..size), value));
                }
                if t < samples {
                    complete_above =
                        f64::max(complete_above, BASE + SCALE * factor * (kind.above)(kind.shape, t / samples));
                }
            }
        }
        let largest = peaks.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        match kind.effect {
            Effect::Bursts(count, factor) => {
                for burst in 0..u64::from(count) {
                    let start = burst * kind.n / u64::from(count);
                    peaks.extend((0..10).map(|i| {
                        let t = uniform(rng);
                        (start + i, BASE + SCALE * factor * (kind.above)(kind.shape, t))
                    }));
                }
            }
            Effect::Events(count, multiple) => {
                peaks.extend(
                    (0..count).map(|_| (rng.random_range(0..kind.n), largest * multiple * (0.9 + 0.2 * uniform(rng)))),
                );
            }
            _ => {}
        }
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
        all.sort_by_key(|peak| std::cmp::Reverse(peak.value));
        all.truncate(stored);
        if all.last().is_some_and(|last| last.value as f64 > complete_above) || each > 1 << 20 {
            return (all, maxima);
        }
        each *= 2;
    }
}

/// What each share of the samples has for a scale, over the whole run.
fn shares(effect: Effect, n: u64) -> Option<Vec<(f64, f64)>> {
    Some(match effect {
        Effect::Sound | Effect::Quantised(_) => vec![(1.0, 1.0)],
        Effect::Trend(factor) => (0..BLOCKS)
            .map(|i| 1.0 + (factor - 1.0) * (f64::from(i) + 0.5) / f64::from(BLOCKS))
            .map(|f| (1.0 / f64::from(BLOCKS), f))
            .collect(),
        Effect::Shift(factor, from) => vec![(from, 1.0), (1.0 - from, factor)],
        Effect::Mixture(factor, share) => vec![(1.0, 1.0), (share, factor)],
        Effect::Regimes(factor, share) => vec![(1.0 - share, 1.0), (share, factor)],
        Effect::Bursts(count, factor) => vec![(1.0, 1.0), (f64::from(count) * 10.0 / n as f64, factor)],
        Effect::Events(..) => return None,
    })
}

/// The level that one of ten times as many samples passes, ns.
fn true_level(kind: &Kind) -> Option<f64> {
    let shares = shares(kind.effect, kind.n)?;
    let halve = |mut low: f64, mut high: f64, below: &dyn Fn(f64) -> bool| {
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if below(middle) { low = middle } else { high = middle }
        }
        high
    };
    // The probability of a value is found by bisection, as distributions are given by their quantiles.
    let probability = |x: f64| halve(-60.0, -1e-9, &|log| (kind.above)(kind.shape, log.exp()) > x).exp();
    let passed = |x: f64| shares.iter().map(|(share, factor)| share * probability(x / factor)).sum::<f64>();
    Some(BASE + SCALE * halve(0.0, 1e4, &|x| passed(x) > 0.1 / kind.n as f64))
}

fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut add = |name: String, above: Above, shape: f64, n: u64, effect: Effect| {
        kinds.push(Kind { name, above, shape, n, effect })
    };
    for n in [100_000, 1_000_000] {
        for xi in [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4] {
            add(format!("sound: GPD {xi}"), gpd_above, xi, n, Effect::Sound);
        }
        add("sound: lognormal sd 0.25".into(), lognormal, 0.25, n, Effect::Sound);
        add("sound: lognormal sd 0.5".into(), lognormal, 0.5, n, Effect::Sound);
        add("sound: gamma 2".into(), gamma, 2.0, n, Effect::Sound);
        add("sound: half normal".into(), half_normal, 0.0, n, Effect::Sound);
        add("sound: Weibull 0.8".into(), weibull, 0.8, n, Effect::Sound);
    }
    for n in [20_000, 50_000] {
        add("sound: GPD 0".into(), gpd_above, 0.0, n, Effect::Sound);
        add("sound: GPD 0.2".into(), gpd_above, 0.2, n, Effect::Sound);
        add("sound: lognormal sd 0.5".into(), lognormal, 0.5, n, Effect::Sound);
    }
    for (xi, n) in [(0.0, 100_000), (0.0, 1_000_000), (0.2, 1_000_000)] {
        {
            for factor in [1.2, 1.5, 2.0, 3.0] {
                add(format!("trend to {factor}, GPD {xi}"), gpd_above, xi, n, Effect::Trend(factor));
            }
            for (factor, from) in [(1.2, 0.5), (1.5, 0.5), (2.0, 0.5), (3.0, 0.5), (2.0, 0.9), (3.0, 0.9), (3.0, 0.98)]
            {
                add(format!("shift to {factor} at {from}, GPD {xi}"), gpd_above, xi, n, Effect::Shift(factor, from));
            }
            for (factor, share) in
                [(2.0, 0.01), (3.0, 0.001), (3.0, 0.01), (5.0, 0.0003), (5.0, 0.001), (10.0, 0.0001), (10.0, 0.001)]
            {
                add(format!("mixture {factor} x {share}, GPD {xi}"), gpd_above, xi, n, Effect::Mixture(factor, share));
            }
            for (factor, share) in [(1.5, 0.2), (2.0, 0.2), (3.0, 0.2), (3.0, 0.05)] {
                add(format!("regimes {factor} x {share}, GPD {xi}"), gpd_above, xi, n, Effect::Regimes(factor, share));
            }
            for (count, factor) in [(50, 2.0), (50, 4.0), (50, 8.0), (200, 2.0), (200, 4.0), (500, 3.0)] {
                add(format!("{count} bursts x {factor}, GPD {xi}"), gpd_above, xi, n, Effect::Bursts(count, factor));
            }
            for (count, multiple) in [(2, 2.0), (2, 3.0), (2, 6.0), (4, 2.0), (4, 4.0), (8, 3.0)] {
                add(
                    format!("{count} events x {multiple}, GPD {xi}"),
                    gpd_above,
                    xi,
                    n,
                    Effect::Events(count, multiple),
                );
            }
        }
    }
    for step in [100.0, 1_000.0, 5_000.0, 20_000.0] {
        add(format!("quantised to {step} ns, GPD 0"), gpd_above, 0.0, 100_000, Effect::Quantised(step));
        add(format!("quantised to {step} ns, GPD 0.2"), gpd_above, 0.2, 1_000_000, Effect::Quantised(step));
    }
    kinds
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cases: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2000);
    let only = arguments.next().unwrap_or_default();
    println!("| kind | n | k | effect | fit | accepted | as bins | refused | refused by |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (seed, kind) in (0..).zip(kinds()).filter(|(_, kind)| kind.name.contains(&only)) {
        println!("{}", line(seed, &kind, cases));
    }
}

fn line(seed: u64, kind: &Kind, cases: u32) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let length_s = kind.n as f64 / 1000.0;
    let truth = BASE + SCALE * (kind.above)(kind.shape, 0.1 / kind.n as f64);
    let k =
        std::env::args().nth(3).and_then(|text| text.parse().ok()).unwrap_or(default_k(kind.n, STORED)).min(STORED - 1);
    let (mut counts, mut moved): ([u32; 3], Vec<f64>) = ([0; 3], Vec::new());
    let mut by: Vec<(&str, u32)> = Vec::new();
    for case in 0..cases {
        let (peaks, block_maxima) = draw(kind, &mut rng, k as usize + 1);
        let observed = Observed { peaks: &peaks, count: kind.n, length_s, block_maxima: &block_maxima };
        let Ok(tail) = tail(&observed, k, &[]) else {
            counts[2] += 1;
            continue;
        };
        match tail.gate.verdict {
            Verdict::Accepted => counts[0] += 1,
            Verdict::IntervalCensored => counts[1] += 1,
            Verdict::Refused => counts[2] += 1,
        }
        for test in tail.gate.tests.iter().filter(|test| test.decision == Decision::Refused) {
            match by.iter_mut().find(|(name, _)| *name == test.name) {
                Some((_, count)) => *count += 1,
                None => by.push((test.name, 1)),
            }
        }
        // What would be told without a gate; a few cases are enough for a median.
        if case < 100 {
            let exceedances = latido_statistics::tail::Exceedances::of(&observed, k);
            let fit = exceedances.as_ref().ok().and_then(|exceedances| gpd::fit(&exceedances.excesses).ok());
            if let (Ok(exceedances), Some(fit)) = (&exceedances, &fit)
                && let Level::Estimated { level, .. } = level(fit, exceedances, &observed, 10.0 * length_s)
            {
                moved.push(level.value / truth);
            }
        }
    }
    moved.sort_by(f64::total_cmp);
    by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let share = |count: u32| format!("{:.1} %", 100.0 * f64::from(count) / f64::from(cases));
    let by: Vec<String> = by.iter().map(|(name, count)| format!("{name} {}", share(*count))).collect();
    format!(
        "| {} | {} | {k} | {} | {:.2} | {} | {} | {} | {} |",
        kind.name,
        kind.n,
        true_level(kind).map_or("-".into(), |level| format!("{:.2}", level / truth)),
        moved.get(moved.len() / 2).copied().unwrap_or(1.0),
        share(counts[0]),
        share(counts[1]),
        share(counts[2]),
        by.join(", ")
    )
}
