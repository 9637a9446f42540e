//! Simulates how often verdicts on two systems are false, and how often they find a planted difference: `verdict-campaign [CASES]`.
//!
//! Repeats are lognormal with a spread of .40 (standard deviation of the logarithms). The program computes only what decides. With a family
//! of one the last column is the level: if nothing differs, ten times as many cases are drawn, because the expected share is one in twenty.

use latido_statistics::{
    special::normal_quantile,
    two::{
        Comparison, Method, P, Question, Verdict, hodges_lehmann::hodges_lehmann, mann_whitney::mann_whitney,
        uneven::uneven, verdict::verdicts,
    },
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

fn arm(rng: &mut ChaCha8Rng, n: u32, times: f64, spread: f64, tick: f64) -> Vec<f64> {
    let one = |_| {
        let p = ((rng.random::<u64>() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let value = 100_000.0 * times * (spread * normal_quantile(p)).exp();
        if tick > 0.0 { (value / tick).ceil() * tick } else { value }
    };
    (0..n).map(one).collect()
}

/// A comparison with only the parts that decide the verdict.
fn compared(a: &[f64], b: &[f64]) -> Option<Comparison> {
    let logs = |arm: &[f64]| arm.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (log_a, log_b) = (logs(a), logs(b));
    let interval = |confidence| Some(hodges_lehmann(&log_a, &log_b, confidence).ok()?.exp());
    Some(Comparison {
        question: Question { margin: Some(0.05), ..Question::RATIO },
        repeats: (a.len() as u64, b.len() as u64),
        mann_whitney: mann_whitney(&log_a, &log_b).ok()?,
        permutation: P { p: 1.0, method: Method::Exact },
        estimate: interval(0.95)?,
        estimate_90: interval(0.90)?,
        cliffs_delta: 0.0,
        uneven: uneven(&log_a, &log_b).ok()?,
        anderson_darling: None,
    })
}

fn main() {
    let cases: u32 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2000);
    println!(
        "| repeats a side | spread | factor | family | ticks | lower | higher | equivalent | undecided | any false in a family |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (n, spread, factor, family, tick) in [
        (3, 0.4, 1.0, 1, 0.0),
        (3, 0.4, 2.0, 1, 0.0),
        (5, 0.4, 1.0, 1, 0.0),
        (10, 0.4, 1.0, 1, 0.0),
        (10, 0.4, 1.0, 1, 50_000.0),
        (10, 0.4, 1.0, 24, 0.0),
        (10, 0.4, 1.2, 1, 0.0),
        (10, 0.4, 1.5, 1, 0.0),
        (10, 0.4, 2.0, 1, 0.0),
        (10, 0.4, 2.0, 1, 50_000.0),
        (10, 0.4, 0.5, 1, 0.0),
        (10, 0.4, 2.0, 24, 0.0),
        (10, 0.4, 3.0, 24, 0.0),
        (20, 0.4, 2.0, 24, 0.0),
        (10, 0.02, 1.0, 1, 0.0),
        (10, 0.02, 1.03, 1, 0.0),
    ] {
        let mut rng = ChaCha8Rng::seed_from_u64(u64::from(n) * 31 + u64::from(family));
        let (mut counts, mut families) = ([0_u32; 4], 0);
        // A family has one planted difference, in its first comparison; the others compare equal systems.
        let cases = if family == 1 && factor == 1.0 { 10 * cases } else { cases };
        for _ in 0..cases {
            let pair = |i: u32, rng: &mut ChaCha8Rng| -> Option<Comparison> {
                let factor = if i == 0 { factor } else { 1.0 };
                compared(&arm(rng, n, 1.0, spread, tick), &arm(rng, n, factor, spread, tick))
            };
            let all: Vec<Comparison> = (0..family).filter_map(|i| pair(i, &mut rng)).collect();
            let said = verdicts(&all);
            let false_ones = said.iter().skip(usize::from(factor != 1.0));
            families += u32::from(
                false_ones.into_iter().any(|(_, verdict)| matches!(verdict, Verdict::Lower | Verdict::Higher)),
            );
            let at = match said.first() {
                Some((_, Verdict::Lower)) => 0,
                Some((_, Verdict::Higher)) => 1,
                Some((_, Verdict::Equivalent)) => 2,
                _ => 3,
            };
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
        let share = |count: u32| format!("{:.1} %", 100.0 * f64::from(count) / f64::from(cases));
        let counts = counts.map(share).join(" | ");
        println!("| {n} | {spread} | {factor} | {family} | {tick} | {counts} | {} |", share(families));
    }
}
