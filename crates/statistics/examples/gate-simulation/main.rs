//! What the gate of the tail accepts and refuses, by simulation: `gate-simulation [CASES [NAME [K [FROM]]]]` prints a table of
//! the kinds whose name holds NAME, without the first FROM. Effects below 2 have a quarter of the cases.
//!
//! Sound runs are of one cause; the others have a second one. `effect` is the true level that is passed once in ten times
//! the length (on average over the run) over the one without the effect; `fit` the median of the level that would be told
//! without a gate over the one without the effect; `best` how many runs the best of all tests of the excesses could refuse
//! if it is to accept 90 % of sound ones (see `bound.rs`), where the moments tell nothing. Single events count as a cause
//! of their own that strikes as often in each run, at that multiple of the median of the largest sample.

#![allow(clippy::indexing_slicing)]

mod bound;
mod draw;
mod kinds;

use draw::{draw, effect, true_level};
use kinds::{Effect, Kind};
use latido_statistics::tail::{
    Exceedances, Level, Observed, default_k,
    gate::{Decision, Verdict, gate},
    gpd, level,
};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

/// How many of the largest are stored.
const STORED: u64 = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let cases = number(0).unwrap_or(2000);
    let only = arguments.get(1).map_or("", String::as_str);
    println!("| kind | n | k | effect | fit | accepted | as bins | refused | best | refused by |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    // Those that are to be refused first; a quarter of the cases is enough for the milder ones.
    let (demanded, milder): (Vec<Kind>, Vec<Kind>) = kinds::unsound().into_iter().partition(|kind| effect(kind) >= 2.0);
    let all = [kinds::sound(), demanded, kinds::quantised(), milder].concat();
    for (seed, kind) in (0..).zip(all).filter(|(at, kind)| kind.name.contains(only) && *at >= number(3).unwrap_or(0)) {
        let k = number(2).unwrap_or(default_k(kind.n, STORED)).min(STORED - 1);
        let sound = matches!(kind.effect, Effect::Sound | Effect::Quantised(_));
        let cases = if sound || effect(&kind) >= 2.0 { cases } else { cases / 4 };
        println!("{}", line(seed, &kind, cases.max(1), k));
    }
}

fn line(seed: u64, kind: &Kind, cases: u64, k: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let length_s = kind.n as f64 / 1000.0;
    let truth = true_level(&Kind { effect: Effect::Sound, ..kind.clone() });
    let (mut counts, mut moved): ([u64; 3], Vec<f64>) = ([0; 3], Vec::new());
    let mut by: Vec<(&str, u64)> = Vec::new();
    for case in 0..cases {
        let (peaks, block_maxima) = draw(kind, &mut rng, k as usize + 1);
        let observed = Observed { peaks: &peaks, count: kind.n, length_s, block_maxima: &block_maxima };
        let exceedances = Exceedances::of(&observed, k);
        let fitted = exceedances.and_then(|exceedances| Ok((gpd::fit(&exceedances.excesses)?, exceedances)));
        let Ok((fit, exceedances)) = fitted else {
            counts[2] += 1;
            continue;
        };
        let gate = gate(&observed, &exceedances, &fit);
        counts[match gate.verdict {
            Verdict::Accepted => 0,
            Verdict::IntervalCensored => 1,
            Verdict::Refused => 2,
        }] += 1;
        for test in gate.tests.iter().filter(|test| test.decision == Decision::Refused) {
            match by.iter_mut().find(|(name, _)| *name == test.name) {
                Some((_, count)) => *count += 1,
                None => by.push((test.name, 1)),
            }
        }
        // A few cases are enough for a median, and intervals take long.
        if case < 20
            && let Level::Estimated { level, .. } = level(&fit, &exceedances, &observed, 10.0 * length_s)
        {
            moved.push(level.value / truth);
        }
    }
    moved.sort_by(f64::total_cmp);
    by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let share = |count: u64| percent(count as f64 / cases as f64);
    let by: Vec<String> = by.iter().map(|(name, count)| format!("{name} {}", share(*count))).collect();
    let best = if matches!(kind.effect, Effect::Mixture(..)) { bound::best(kind, k) } else { None };
    format!(
        "| {} | {} | {k} | {:.2} | {:.2} | {} | {} | {} | {} | {} |",
        kind.name,
        kind.n,
        effect(kind),
        moved.get(moved.len() / 2).copied().unwrap_or(1.0),
        share(counts[0]),
        share(counts[1]),
        share(counts[2]),
        best.map_or("-".into(), percent),
        by.join(", ")
    )
}
