//! The kinds of simulated runs: a distribution, a number of samples, and what is wrong.

use latido_statistics::special::{chi_square_above, normal_quantile};
use rand::Rng as _;
use std::sync::Arc;

/// The least time of a wake-up, and the scale of the additional time, in ns.
pub const BASE: f64 = 5_000.0;
pub const SCALE: f64 = 10_000.0;

/// Draws a value uniformly from (0, 1).
pub fn uniform(rng: &mut rand_chacha::ChaCha8Rng) -> f64 {
    ((rng.random::<u64>() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// The value (in scales) that is exceeded with probability t, tabulated by the logarithm of t: a run looks it up ten thousand times.
pub struct Tail(Vec<f64>);

/// The entries per unit of ln t, and the end of the table.
const PARTS: f64 = 128.0;
const END: f64 = 36.0;

impl Tail {
    fn new(of: impl Fn(f64) -> f64) -> Arc<Self> {
        Arc::new(Self((0..=(END * PARTS) as u32).map(|i| of((-f64::from(i) / PARTS).exp())).collect()))
    }

    /// The value that is exceeded with probability t, in scales.
    pub fn above(&self, t: f64) -> f64 {
        let place = (-t.ln()).clamp(0.0, END - 1e-9) * PARTS;
        let at = place as usize;
        let (low, high) = (self.0[at], self.0[at + 1]);
        low + (high - low) * (place - at as f64)
    }

    /// The probability that a value is exceeded: the inverse.
    pub fn probability(&self, value: f64) -> f64 {
        let at = self.0.partition_point(|other| *other < value);
        if at == 0 || at == self.0.len() {
            return if at == 0 { 1.0 } else { 0.0 };
        }
        let part = (value - self.0[at - 1]) / (self.0[at] - self.0[at - 1]);
        (-(at as f64 - 1.0 + part) / PARTS).exp()
    }
}

impl Tail {
    /// The density at a value.
    pub fn density(&self, value: f64) -> f64 {
        let at = self.0.partition_point(|other| *other < value);
        if at == 0 || at == self.0.len() {
            return 0.0;
        }
        self.probability(value) / PARTS / (self.0[at] - self.0[at - 1])
    }
}

/// What is wrong with the data, and how much.
#[derive(Clone, Copy)]
pub enum Effect {
    Sound,
    /// The scale grows over the run to this factor.
    Trend(f64),
    /// The scale has this factor after this share of the run.
    Shift(f64, f64),
    /// This share of the samples, at any time, has a scale of this factor.
    Mixture(f64, f64),
    /// The system switches to a scale of this factor for this share of the time. A stay lasts about two blocks.
    Regimes(f64, f64),
    /// This many bursts of ten samples, one after another at equal times, with a scale of this factor.
    Bursts(u32, f64),
    /// This number of single events, at about this multiple of the largest sample.
    Events(u32, f64),
    /// Rounded to this number of ns.
    Quantised(f64),
}

#[derive(Clone)]
pub struct Kind {
    pub name: String,
    pub tail: Arc<Tail>,
    pub n: u64,
    pub effect: Effect,
}

pub fn gpd(xi: f64) -> Arc<Tail> {
    Tail::new(|t| if xi == 0.0 { -t.ln() } else { (t.powf(-xi) - 1.0) / xi })
}

fn lognormal(sd: f64) -> Arc<Tail> {
    Tail::new(|t| (-sd * normal_quantile(t)).exp())
}

fn gamma(shape: f64) -> Arc<Tail> {
    let above = |t: f64| {
        let (mut low, mut high) = (0.0, 500.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if chi_square_above(2.0 * middle, 2.0 * shape) > t { low = middle } else { high = middle }
        }
        high
    };
    Tail::new(above)
}

/// Sound runs: one unchanging cause each.
pub fn sound() -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut add = |name: &str, tail: &Arc<Tail>, n| {
        kinds.push(Kind { name: format!("sound: {name}"), tail: Arc::clone(tail), n, effect: Effect::Sound });
    };
    for xi in [-0.3, -0.1, 0.0, 0.2, 0.4] {
        let tail = gpd(xi);
        for n in [100_000, 1_000_000] {
            add(&format!("GPD {xi}"), &tail, n);
        }
    }
    let others = [
        ("lognormal sd 0.25", lognormal(0.25)),
        ("lognormal sd 0.5", lognormal(0.5)),
        ("gamma 2", gamma(2.0)),
        ("Weibull 0.8", Tail::new(|t| (-t.ln()).powf(1.25))),
    ];
    for (name, tail) in others {
        for n in [100_000, 1_000_000] {
            add(name, &tail, n);
        }
    }
    for n in [20_000, 50_000] {
        for xi in [0.0, 0.2] {
            add(&format!("GPD {xi}"), &gpd(xi), n);
        }
        add("lognormal sd 0.5", &lognormal(0.5), n);
    }
    // Between the shapes for which the null distributions are tabulated.
    for n in [20_000, 100_000, 1_000_000] {
        add("GPD 0.3", &gpd(0.3), n);
    }
    add("GPD 0.1", &gpd(0.1), 100_000);
    kinds
}

/// Runs with something wrong, whose tails have the shapes 0 and 0.2.
pub fn unsound() -> Vec<Kind> {
    let mixtures = [
        (2.0, 0.01),
        (3.0, 0.001),
        (3.0, 0.01),
        (5.0, 0.0003),
        (5.0, 0.001),
        (5.0, 0.01),
        (10.0, 0.0001),
        (10.0, 0.001),
        (20.0, 0.001),
    ];
    let effects = [
        [1.5, 3.0].map(Effect::Trend).to_vec(),
        [(1.5, 0.5), (3.0, 0.5), (3.0, 0.9), (5.0, 0.98)].map(|(f, at)| Effect::Shift(f, at)).to_vec(),
        mixtures.map(|(f, share)| Effect::Mixture(f, share)).to_vec(),
        [(1.5, 0.2), (3.0, 0.2), (5.0, 0.05)].map(|(f, share)| Effect::Regimes(f, share)).to_vec(),
        [(50, 4.0), (50, 12.0), (200, 4.0), (200, 8.0), (500, 6.0)].map(|(count, f)| Effect::Bursts(count, f)).to_vec(),
        [(2, 2.0), (2, 3.0), (2, 6.0), (4, 3.0), (8, 3.0)].map(|(count, m)| Effect::Events(count, m)).to_vec(),
    ];
    let mut kinds = Vec::new();
    for (xi, n) in [(0.0, 100_000), (0.0, 1_000_000), (0.2, 1_000_000)] {
        let tail = gpd(xi);
        kinds.extend(effects.concat().into_iter().map(|effect| Kind {
            name: format!("{}, GPD {xi}", named(effect)),
            tail: Arc::clone(&tail),
            n,
            effect,
        }));
    }
    kinds
}

/// Sound runs with quantised values.
pub fn quantised() -> Vec<Kind> {
    let steps = [100.0, 1_000.0, 5_000.0, 20_000.0];
    let runs = [(0.0, 100_000), (0.2, 1_000_000)].map(|(xi, n)| (xi, n, gpd(xi)));
    let one = |step: f64| {
        runs.iter().map(move |(xi, n, tail)| {
            let effect = Effect::Quantised(step);
            Kind { name: format!("{}, GPD {xi}", named(effect)), tail: Arc::clone(tail), n: *n, effect }
        })
    };
    steps.into_iter().flat_map(one).collect()
}

fn named(effect: Effect) -> String {
    match effect {
        Effect::Sound => "sound".into(),
        Effect::Trend(factor) => format!("trend to {factor}"),
        Effect::Shift(factor, from) => format!("shift to {factor} at {from}"),
        Effect::Mixture(factor, share) => format!("mixture {factor} x {share}"),
        Effect::Regimes(factor, share) => format!("regimes {factor} x {share}"),
        Effect::Bursts(count, factor) => format!("{count} bursts x {factor}"),
        Effect::Events(count, multiple) => format!("{count} events x {multiple}"),
        Effect::Quantised(step) => format!("quantised to {step} ns"),
    }
}
