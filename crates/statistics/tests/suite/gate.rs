//! The short form of `scripts/slow/gate`: a few runs of each kind go through the gate of the tail.

#[path = "../../examples/gate-simulation/draw.rs"]
mod draw;
// Only the simulation uses its density.
#[allow(dead_code)]
#[path = "../../examples/gate-simulation/kinds.rs"]
mod kinds;

use kinds::{Effect, Kind, quantised, sound, unsound};
use latido_statistics::tail::{
    Exceedances, Observed, default_k,
    gate::{Verdict, gate},
    gpd,
};
use rand::SeedableRng as _;

/// The verdicts on a few runs.
fn verdicts(kind: &Kind, runs: u64) -> Vec<Verdict> {
    let k = default_k(kind.n, 4096);
    let one = |seed| {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let (peaks, block_maxima) = draw::draw(kind, &mut rng, k as usize + 1);
        let observed = Observed { peaks: &peaks, count: kind.n, length_s: 100.0, block_maxima: &block_maxima };
        let exceedances = Exceedances::of(&observed, k).unwrap();
        gpd::fit(&exceedances.excesses).map_or(Verdict::Refused, |fit| gate(&observed, &exceedances, &fit).verdict)
    };
    (100..100 + runs).map(one).collect()
}

/// The gate accepts nine in ten sound runs.
#[test]
fn sound_runs_are_accepted() {
    let kinds: Vec<Kind> = sound().into_iter().filter(|kind| kind.n <= 50_000).collect();
    let all: Vec<Verdict> = kinds.iter().flat_map(|kind| verdicts(kind, 5)).collect();
    let accepted = all.iter().filter(|verdict| **verdict == Verdict::Accepted).count();
    assert_eq!(all.len(), 35);
    assert!(accepted * 10 >= all.len() * 9, "{accepted} of {}", all.len());
}

/// The gate refuses every run with a fault that moves the level by a factor of 2 and that is visible at all.
#[test]
fn unsound_runs_are_refused() {
    let mut seen = 0;
    for kind in unsound().iter().filter(|kind| kind.n == 100_000 && draw::effect(kind) >= 2.0) {
        // If the moments give no information about a second cause, the gate needs more exceedances: the log of the slow form has the
        // bounds.
        if matches!(kind.effect, Effect::Mixture(..)) && draw::effect(kind) < 4.0 {
            continue;
        }
        seen += 1;
        assert_eq!(verdicts(kind, 2), [Verdict::Refused; 2], "{}", kind.name);
    }
    assert!(seen >= 12, "{seen} kinds");
}

/// Quantised values are fitted as bins or not at all.
#[test]
fn quantised_runs_are_never_fitted_as_exact() {
    let kinds: Vec<Kind> = quantised().into_iter().filter(|kind| kind.n == 100_000).collect();
    assert_eq!(kinds.len(), 4, "steps");
    for kind in &kinds {
        assert!(!verdicts(kind, 3).contains(&Verdict::Accepted), "{}", kind.name);
    }
}
