//! Simulates what the gate of the tail accepts and refuses: `gate-simulation [CASES [NAME [K [FROM]]]]` prints a table of the kinds whose
//! name contains NAME, without the first FROM. Effects below 2 get a quarter of the cases.
//!
//! Sound runs have one cause; the others have a second one. `effect` is the true level that is exceeded once in ten times the length (on
//! average over the run), divided by the level without the effect. `fit` is the median of the level that would be reported without a gate,
//! divided by the level without the effect. `best` is the share of runs that the best of all tests of the excesses could refuse if it must
//! accept 90 % of sound ones (see `bound.rs`), if the moments give no information. `feasible` is the share that the gate's ratio of two
//! causes refuses if it alone may use these 10 % (see `feasible.rs`; it needs all sound kinds). Single events count as a cause of their own
//! that occurs as often in each run, at that multiple of the median of the largest sample.

#![allow(clippy::indexing_slicing)]

mod draw;
mod kinds;

use draw::{draw, effect, true_level};
use feasible::{Limits, Look};
use kinds::{Effect, Kind};
use latido_statistics::tail::{
    Exceedances, Level, Observed, default_k,
    gate::{Decision, Verdict, gate},
    gpd, level,
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The number of largest samples that are stored.
const STORED: u64 = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let cases = number(0).unwrap_or(2000);
    let only = arguments.get(1).map_or("", String::as_str);
    println!("| kind | n | k | effect | fit | accepted | as bins | refused | feasible | best | refused by |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    // First the kinds that must be refused; a quarter of the cases is enough for the milder ones.
    let (demanded, milder): (Vec<Kind>, Vec<Kind>) = kinds::unsound().into_iter().partition(|kind| effect(kind) >= 2.0);
    let all = [kinds::sound(), demanded, kinds::quantised(), milder].concat();
    let from = number(3).unwrap_or(0);
    let asked: Vec<(u64, Kind)> = (0..).zip(all).filter(|(at, kind)| kind.name.contains(only) && *at >= from).collect();
    let k = |kind: &Kind| number(2).unwrap_or(default_k(kind.n, STORED)).min(STORED - 1);
    let runs = in_parallel(&asked, |(seed, kind)| {
        let sound = matches!(kind.effect, Effect::Sound | Effect::Quantised(_));
        let cases = if sound || effect(kind) >= 2.0 { cases } else { cases / 4 };
        simulate(*seed, kind, cases.max(1), k(kind))
    });
    for ((_, kind), one) in asked.iter().zip(&runs) {
        let sound = asked.iter().zip(&runs).filter(|((_, other), _)| other.n == kind.n);
        let limits = Limits::of(sound.map(|((_, other), run)| (other, run.looks.as_slice())));
        let feasible = if one.best.is_some() { limits.refused(&one.looks) } else { None };
        println!("{}", line(kind, k(kind), one, feasible));
    }
}

/// Applies `of` to each kind, in order, with as many threads as there are CPUs.
fn in_parallel<T: Send>(kinds: &[(u64, Kind)], of: impl Fn(&(u64, Kind)) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let at = next.fetch_add(1, Relaxed)
            && let Some(kind) = kinds.get(at)
        {
            let one = of(kind);
            if let Ok(mut done) = done.lock() {
                done.push((at, one));
            }
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}

/// The results of the runs of a kind.
struct Runs {
    cases: u64,
    /// The numbers of accepted, binned and refused runs.
    counts: [u64; 3],
    /// For a few runs, the level that would be reported without a gate, divided by the true level.
    moved: Vec<f64>,
    /// The number of refusals by each test.
    by: Vec<(&'static str, u64)>,
    looks: Vec<Look>,
    best: Option<f64>,
}

fn simulate(seed: u64, kind: &Kind, cases: u64, k: u64) -> Runs {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let length_s = kind.n as f64 / 1000.0;
    let truth = true_level(&Kind { effect: Effect::Sound, ..kind.clone() });
    let best = if matches!(kind.effect, Effect::Mixture(..)) { bound::best(kind, k) } else { None };
    let mut runs = Runs { cases, counts: [0; 3], moved: Vec::new(), by: Vec::new(), looks: Vec::new(), best };
    for case in 0..cases {
        let (peaks, block_maxima) = draw(kind, &mut rng, k as usize + 1);
        let observed = Observed { peaks: &peaks, count: kind.n, length_s, block_maxima: &block_maxima };
        let exceedances = Exceedances::of(&observed, k);
        let fitted = exceedances.and_then(|exceedances| Ok((gpd::fit(&exceedances.excesses)?, exceedances)));
        let Ok((fit, exceedances)) = fitted else {
            runs.counts[2] += 1;
            continue;
        };
        let gate = gate(&observed, &exceedances, &fit);
        runs.counts[match gate.verdict {
            Verdict::Accepted => 0,
            Verdict::IntervalCensored => 1,
            Verdict::Refused => 2,
        }] += 1;
        let causes = gate.tests.iter().find(|test| test.name == "two-causes");
        runs.looks.push((fit.gpd.xi, causes.and_then(|test| test.statistic)));
        for test in gate.tests.iter().filter(|test| test.decision == Decision::Refused) {
            match runs.by.iter_mut().find(|(name, _)| *name == test.name) {
                Some((_, count)) => *count += 1,
                None => runs.by.push((test.name, 1)),
            }
        }
        // A few cases are enough for a median, and intervals take long.
        if case < 20
            && let Level::Estimated { level, .. } = level(&fit, &exceedances, &observed, 10.0 * length_s)
        {
            runs.moved.push(level.value / truth);
        }
    }
    runs.moved.sort_by(f64::total_cmp);
    runs.by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    runs
}

fn line(kind: &Kind, k: u64, runs: &Runs, feasible: Option<f64>) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let share = |count: u64| percent(count as f64 / runs.cases as f64);
    let by: Vec<String> = runs.by.iter().map(|(name, count)| format!("{name} {}", share(*count))).collect();
    format!(
        "| {} | {} | {k} | {:.2} | {:.2} | {} | {} | {} | {} | {} | {} |",
        kind.name,
        kind.n,
        effect(kind),
        runs.moved.get(runs.moved.len() / 2).copied().unwrap_or(1.0),
        share(runs.counts[0]),
        share(runs.counts[1]),
        share(runs.counts[2]),
        feasible.map_or("-".into(), percent),
        runs.best.map_or("-".into(), percent),
        by.join(", ")
    )
}

/// The share of runs that the likelihood ratio of two causes could refuse if it alone caused all refusals of sound runs: one in ten of each
/// kind.
///
/// Its limits depend on the fitted shape, as in the gate, and are here as low as the simulated sound runs allow.
mod feasible {
    use super::kinds::{Effect, Kind};

    /// The fitted shape of a run, and the ratio of its two causes; `None` if the shape alone is refused.
    pub type Look = (f64, Option<f64>);

    /// The distance from a kind's usual shape within which its limit applies.
    const NEAR: f64 = 0.1;
    /// The share of sound runs that may be refused.
    const REFUSED: f64 = 0.1;

    /// The limits for one number of samples.
    pub struct Limits {
        /// The usual shape of each generalised Pareto tail, and the ratio that nine in ten of its runs do not exceed.
        pareto: Vec<(f64, f64)>,
        /// The same for the other sound kinds.
        others: Vec<(f64, f64)>,
    }

    impl Limits {
        /// Computes the limits from the looks at sound runs of each kind.
        pub fn of<'a>(sound: impl Iterator<Item = (&'a Kind, &'a [Look])>) -> Self {
            let (mut pareto, mut others) = (Vec::new(), Vec::new());
            for (kind, looks) in sound.filter(|(kind, looks)| matches!(kind.effect, Effect::Sound) && !looks.is_empty())
            {
                let limit = (
                    quantile(looks.iter().map(|look| look.0).collect(), 0.5),
                    quantile(looks.iter().map(|look| look.1.unwrap_or(f64::INFINITY)).collect(), 1.0 - REFUSED),
                );
                if kind.name.contains("GPD") { pareto.push(limit) } else { others.push(limit) }
            }
            pareto.sort_by(|a, b| a.0.total_cmp(&b.0));
            Self { pareto, others }
        }

        /// The share of runs that exceed their limit; `None` without sound runs of that length.
        pub fn refused(&self, looks: &[Look]) -> Option<f64> {
            if self.pareto.len() < 2 || looks.is_empty() {
                return None;
            }
            let refused = looks.iter().filter(|(xi, ratio)| ratio.is_none_or(|ratio| ratio > self.limit(*xi)));
            Some(refused.count() as f64 / looks.len() as f64)
        }

        fn limit(&self, xi: f64) -> f64 {
            let others = self.others.iter().filter(|(usual, _)| (usual - xi).abs() < NEAR).map(|(_, limit)| *limit);
            let at = self.pareto.partition_point(|(usual, _)| *usual < xi).clamp(1, self.pareto.len() - 1);
            let ((below, low), (above, high)) = (self.pareto[at - 1], self.pareto[at]);
            let part = ((xi - below) / (above - below)).clamp(0.0, 1.0);
            others.fold(low + part * (high - low), f64::max)
        }
    }

    fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
        values.sort_by(f64::total_cmp);
        values[((share * values.len() as f64) as usize).min(values.len() - 1)]
    }
}

/// A bound for all tests: how often a test can distinguish two causes from one, if it must accept 90 % of sound runs.
///
/// Every generalised Pareto tail with a shape below .5 is sound. A test that accepts 90 % of the runs of each such tail also accepts 90 %
/// of those of any distribution of shapes and scales (a prior). Against a prior the best test of a given level is the likelihood ratio in
/// which everything but the answer is known (Neyman & Pearson, Phil. Trans. R. Soc. A 231, 1933; Lehmann & Romano, Testing Statistical
/// Hypotheses, 2005, section 3.8). Every prior gives a bound. This module takes the lowest bound of a few priors around the tail that is
/// fitted to the two causes.
mod bound {
    use super::{
        draw::{passed, shares},
        kinds::{Kind, uniform},
    };
    use latido_statistics::tail::gpd::{Excesses, Gpd, fit};
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    /// The number of runs that are drawn of each.
    const RUNS: usize = 2_000;
    /// The share of sound runs that may be refused.
    const REFUSED: f64 = 0.1;
    /// The widths of the priors, in standard errors of a fit: 0 is a single tail.
    const WIDTHS: [f64; 3] = [0.0, 1.0, 1.6];
    /// The number of steps of a standard error that a prior goes to each side.
    const STEPS: i32 = 3;

    /// The share of runs that the best test of `k` excesses refuses; `None` if the shape itself is refused.
    pub fn best(kind: &Kind, k: u64) -> Option<f64> {
        let rate = k as f64 / kind.n as f64;
        let halve = |probability: f64| {
            let (mut low, mut high) = (0.0, 1e6);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if passed(kind, middle) > probability { low = middle } else { high = middle }
            }
            high
        };
        let threshold = halve(rate);
        let grid: Vec<f64> = (0..10_000).map(|i| halve(rate * (f64::from(i) + 0.5) / 10_000.0) - threshold).collect();
        let sound = fit(&Excesses::Exact(grid)).ok()?.gpd;
        if sound.xi >= 0.5 {
            return None;
        }
        let causes: Vec<(f64, f64, f64)> = shares(kind.effect, kind.n)
            .into_iter()
            .map(|(share, factor)| (share, factor, share * kind.tail.probability(threshold / factor)))
            .collect();
        let all: f64 = causes.iter().map(|(_, _, above)| above).sum();
        let of_two = |y: f64| {
            let value = threshold + y;
            let two: f64 =
                causes.iter().map(|(share, factor, _)| share / factor * kind.tail.density(value / factor)).sum();
            (two / all).ln()
        };
        let one = |rng: &mut ChaCha8Rng| {
            let mut left = uniform(rng) * all;
            let cause = causes.iter().find(|(_, _, above)| {
                left -= above;
                left <= 0.0
            });
            let (share, factor, above) = *cause.or(causes.last()).unwrap_or(&(1.0, 1.0, 1.0));
            (factor * kind.tail.above(above / share * uniform(rng)) - threshold).max(0.0)
        };
        let mut rng = ChaCha8Rng::seed_from_u64(k);
        let mut least = 1.0_f64;
        for width in WIDTHS {
            let prior = prior(sound, k, width);
            let ratio = |run: Vec<f64>| {
                let two: f64 = run.iter().map(|y| of_two(*y)).sum();
                let run = Excesses::Exact(run);
                let logs: Vec<f64> = prior.iter().map(|(gpd, weight)| weight.ln() + run.log_likelihood(*gpd)).collect();
                let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                two - most - logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
            };
            let mut of_sound: Vec<f64> = (0..RUNS)
                .map(|_| {
                    let mut left = uniform(&mut rng);
                    let drawn = prior.iter().find(|(_, weight)| {
                        left -= weight;
                        left <= 0.0
                    });
                    let gpd = drawn.map_or(sound, |(gpd, _)| *gpd);
                    ratio((0..k).map(|_| gpd.quantile_above(uniform(&mut rng))).collect())
                })
                .collect();
            of_sound.sort_by(f64::total_cmp);
            let limit = of_sound[((1.0 - REFUSED) * RUNS as f64) as usize];
            let seen = (0..RUNS).filter(|_| ratio((0..k).map(|_| one(&mut rng)).collect()) > limit).count();
            least = least.min(seen as f64 / RUNS as f64);
            // If even a known tail leaves no doubt, or too much doubt, a wider prior adds nothing.
            if width == 0.0 && least < 0.99 {
                break;
            }
        }
        Some(least)
    }

    /// Sound tails around one, with weights that are normal in the standard errors of a fit of `k` excesses (Smith, Biometrika 72, 1985).
    fn prior(about: Gpd, k: u64, width: f64) -> Vec<(Gpd, f64)> {
        if width == 0.0 {
            return vec![(about, 1.0)];
        }
        let one = |(a, b): (i32, i32)| {
            let (a, b) = (f64::from(a), f64::from(b));
            let root = (k as f64).sqrt();
            let log = -a / root + b * (1.0 + 2.0 * about.xi).sqrt() / root;
            let gpd = Gpd { xi: about.xi + a * (1.0 + about.xi) / root, sigma: about.sigma * log.exp() };
            (gpd, (-(a * a + b * b) / (2.0 * width * width)).exp())
        };
        let places = (-STEPS..=STEPS).flat_map(|a| (-STEPS..=STEPS).map(move |b| (a, b)));
        let mut prior: Vec<(Gpd, f64)> = places.map(one).filter(|(gpd, _)| gpd.xi < 0.5).collect();
        let all: f64 = prior.iter().map(|(_, weight)| weight).sum();
        prior.iter_mut().for_each(|(_, weight)| *weight /= all);
        prior
    }
}
