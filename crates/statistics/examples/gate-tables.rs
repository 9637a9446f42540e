//! Prints the tables of `src/tail/gate/nulls.rs`: `gate-tables [SAMPLES [EXCESSES]]`.
//!
//! Samples of a generalised Pareto distribution at random moments go through the gate. For each statistic the program prints the quantiles
//! that are exceeded as often as the columns state.

#![allow(clippy::indexing_slicing)]

use latido_statistics::tail::{
    Exceedances, Observed, Peak,
    gate::{gate, nulls},
    gpd::{self, Gpd},
};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const NAMES: [&str; 4] = ["anderson-darling", "two-causes", "top-spacing", "gaps"];

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.random::<u64>() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn main() {
    let number = |at: usize| std::env::args().nth(at).and_then(|text| text.parse::<usize>().ok());
    let (samples, k) = (number(1).unwrap_or(20_000), number(2).unwrap_or(1_000));
    // Each shape has its own thread and generator: the tables do not depend on how many threads run at once.
    let rows: Vec<[String; 4]> = std::thread::scope(|scope| {
        let shapes = nulls::SHAPES.map(|xi| scope.spawn(move || rows(xi, samples, k)));
        shapes.into_iter().map(|shape| shape.join().unwrap_or_default()).collect()
    });
    for (at, name) in NAMES.iter().enumerate() {
        let rows: Vec<&str> = rows.iter().map(|row| row[at].as_str()).collect();
        println!("{name}\n    [{}],", rows.join("],\n    ["));
    }
}

/// The rows of a shape, one for each statistic.
fn rows(xi: f64, samples: usize, k: usize) -> [String; 4] {
    let mut rng = ChaCha8Rng::seed_from_u64((xi * 10.0) as i64 as u64);
    let mut found = NAMES.map(|_| Vec::new());
    // The scale is so large that values in whole nanoseconds are as good as exact ones.
    let gpd = Gpd { xi, sigma: 1e9 };
    for _ in 0..samples {
        let count = 100 * k as u64;
        let peaks: Vec<Peak> = (0..=k)
            .map(|i| Peak {
                index: rng.random_range(0..count),
                value: if i == 0 { 0 } else { gpd.quantile_above(uniform(&mut rng)) as i64 + 1 },
            })
            .collect();
        let observed = Observed { peaks: &peaks, count, length_s: 1.0, block_maxima: &[] };
        let Ok(exceedances) = Exceedances::of(&observed, k as u64) else { continue };
        let Ok(fit) = gpd::fit(&exceedances.excesses) else { continue };
        for test in gate(&observed, &exceedances, &fit).tests {
            if let Some(at) = NAMES.iter().position(|name| *name == test.name) {
                found[at].extend(test.statistic);
            }
        }
    }
    found.map(|mut found| {
        found.sort_by(f64::total_cmp);
        let row = nulls::LEVELS.map(|level| found[((1.0 - level) * found.len() as f64) as usize]);
        row.map(|value| format!("{value:.3}")).join(", ")
    })
}
