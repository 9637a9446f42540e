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

mod bound;
mod draw;
mod feasible;
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
