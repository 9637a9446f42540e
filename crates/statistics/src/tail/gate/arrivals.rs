//! Tests whether exceedances come at random moments: evenly over the run, not periodically, and not in crowds.

use super::{Exceedances, GateTest, Observed, Peak, nulls, trend::kolmogorov_above};
use crate::random::{generator, uniform};

/// How many periods the test tries.
const PERIODS: usize = 500;

pub(super) fn tests(observed: &Observed<'_>, exceedances: &Exceedances) -> Vec<GateTest> {
    if exceedances.peaks.len() < 10 {
        return ["evenness", "gaps"].map(|name| GateTest::impossible(name, "too few clusters".into())).to_vec();
    }
    let all = exceedances.peaks.as_slice();
    let (d, even) = evenness(observed, all);
    let (a, random) = gaps(all, exceedances.gap);
    let mut tests = vec![
        GateTest::by_p("evenness", d, even, "exceedances are more frequent in a part of the run"),
        GateTest::by_p("gaps", a, random, "exceedances are periodic or clustered"),
    ];
    // A rare second cause does not show among all exceedances, but it causes most of the largest.
    let top = largest(all, all.len() / 10);
    if top.len() >= 50 {
        let (d, even) = evenness(observed, &top);
        let (a, random) = gaps(&top, exceedances.gap);
        tests.push(GateTest::by_p(
            "evenness-top",
            d,
            even,
            "the largest values are more frequent in a part of the run",
        ));
        tests.push(GateTest::by_p("gaps-top", a, random, "the largest values are periodic or clustered"));
        let (r, steady) = periods(observed, &top);
        tests.push(GateTest::by_p("period-top", r, steady, "the largest values are periodic"));
    }
    tests
}

/// Returns the largest power of the moments at 1 to 500 periods in the run, `|sum exp(2 pi i j t)|^2 / n`, and its p (Rayleigh's test at
/// each; Mardia & Jupp, Directional Statistics, 2000, section 6.3.1). Each power exceeds x with probability `exp(-x)`.
fn periods(observed: &Observed<'_>, peaks: &[Peak]) -> (f64, f64) {
    let angle = |peak: &Peak| std::f64::consts::TAU * (peak.index as f64 + 0.5) / observed.count as f64;
    let step: Vec<(f64, f64)> = peaks.iter().map(|peak| angle(peak).sin_cos()).collect();
    let mut at = vec![(0.0_f64, 1.0_f64); step.len()];
    let power = (0..PERIODS).map(|_| {
        at.iter_mut().zip(&step).for_each(|(at, by)| *at = (at.0 * by.1 + at.1 * by.0, at.1 * by.1 - at.0 * by.0));
        let sum = at.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        sum.0 * sum.0 + sum.1 * sum.1
    });
    let most = power.fold(0.0, f64::max) / peaks.len().max(1) as f64;
    (most, -(-(PERIODS as f64) * (-most).exp()).exp_m1())
}

/// Returns the `count` largest peaks, in time order. Where some of them equal the next smaller one, it omits all of these: otherwise their
/// times would decide which of them it takes.
fn largest(peaks: &[Peak], count: usize) -> Vec<Peak> {
    let mut values: Vec<i64> = peaks.iter().map(|peak| peak.value).collect();
    values.sort_unstable_by(|a, b| b.cmp(a));
    let next = values.get(count).copied().unwrap_or(i64::MIN);
    peaks.iter().filter(|peak| peak.value > next).copied().collect()
}

/// Returns Kolmogorov's distance of the moments of exceedances from an even distribution over the run, and its p.
fn evenness(observed: &Observed<'_>, peaks: &[Peak]) -> (f64, f64) {
    let (n, count) = (peaks.len() as f64, observed.count as f64);
    let distance = peaks.iter().zip(0..).map(|(peak, before)| {
        let (at, before) = ((peak.index as f64 + 0.5) / count, f64::from(before));
        (at - before / n).abs().max((at - (before + 1.0) / n).abs())
    });
    let d = distance.fold(0.0, f64::max);
    (d, kolmogorov_above(d, n))
}

/// Returns Anderson & Darling's distance of the times between exceedances from an exponential distribution with their mean, and its p.
/// Times between independent exceedances have that distribution. The function subtracts the shortest time that declustering leaves.
fn gaps(peaks: &[Peak], gap: u64) -> (f64, f64) {
    let times = peaks.iter().zip(peaks.iter().skip(1));
    // Times are integers: add a random part of a sample to each.
    let mut rng = generator(2);
    let mut spread: Vec<f64> = times
        .map(|(one, next)| {
            let time = next.index.saturating_sub(one.index).saturating_sub(gap.max(1)) as f64;
            time + uniform(&mut rng)
        })
        .collect();
    let mean = spread.iter().sum::<f64>() / spread.len().max(1) as f64;
    spread.sort_by(f64::total_cmp);
    let above: Vec<f64> = spread.iter().map(|time| (-time / mean).exp()).collect();
    let statistic = super::fits::anderson_darling(&above);
    (statistic, nulls::p_in(&nulls::GAPS, statistic))
}
