//! Whether the fit describes the exceedances: as a whole, from a higher threshold too, and at the very top.

use super::{ALPHA, Exceedances, Excesses, Fit, GateTest};
use crate::{
    random::{generator, sequential_p, uniform},
    special::{normal, poisson_at_least},
    tail::gpd::{self, Gpd},
};

/// How many of the largest are looked at one by one.
const TOP: u64 = 10;

pub(super) fn tests(exceedances: &Exceedances, fit: &Fit) -> Vec<GateTest> {
    let (a, shape) = whole(exceedances, fit);
    let mut tests = vec![
        GateTest::by_p("anderson-darling", a, shape, "the excesses do not follow the fitted distribution"),
        stability("stability", 3, exceedances, fit),
    ];
    // The variance is that of many: a tenth is looked at where it is a hundred.
    if fit.k >= 1000 {
        tests.push(stability("stability-top", 10, exceedances, fit));
    }
    let (at, p) = top(exceedances, fit);
    // Of ten looks the smallest counts: ten times its p is at most 1 % in one of a hundred sound runs.
    tests.push(GateTest::by_p_at(ALPHA, "top-spacing", at, p, "the largest lie further out than the rest allows"));
    tests
}

/// Anderson & Darling's distance (Annals of Mathematical Statistics 23, 1952) of values from the even distribution, given
/// their probabilities of being exceeded in falling order.
pub(super) fn anderson_darling(above: &[f64]) -> f64 {
    let n = above.len() as f64;
    let safe = |p: f64| p.clamp(1e-300, 1.0).ln();
    let below = |p: f64| (1.0 - p).clamp(1e-17, 1.0).ln();
    let pairs = above.iter().zip(above.iter().rev());
    let sum: f64 =
        pairs.zip(0..).map(|((p, mirrored), i)| (2.0 * f64::from(i) + 1.0) * (below(*p) + safe(*mirrored))).sum();
    -n - sum / n
}

/// The distance of the excesses from the fit; p by fitting samples drawn from the fit (parametric bootstrap; Stute,
/// Manteiga & Quindimil, Metrika 40, 1993). They are at most 300 large, as from there on the distribution no longer depends on the number.
/// Binned values are spread within their bins as the fit has it (Dunn & Smyth, JCGS 5, 1996).
fn whole(exceedances: &Exceedances, fit: &Fit) -> (f64, f64) {
    let mut rng = generator(1);
    let mut above: Vec<f64> = match &exceedances.excesses {
        Excesses::Exact(values) => values.iter().map(|y| fit.gpd.above(*y)).collect(),
        Excesses::Binned(bins) => bins
            .iter()
            .flat_map(|(low, high, count)| {
                let (low, high) = (fit.gpd.above(*low), fit.gpd.above(*high));
                (0..*count as u64).map(|_| high + (low - high) * uniform(&mut rng)).collect::<Vec<f64>>()
            })
            .collect(),
    };
    above.sort_by(|a, b| b.total_cmp(a));
    let statistic = anderson_darling(&above);
    let unit = Gpd { xi: fit.gpd.xi, sigma: 1.0 };
    let p = sequential_p(statistic, 499, || {
        let drawn: Vec<f64> = (0..fit.k.min(300)).map(|_| unit.quantile_above(uniform(&mut rng))).collect();
        let fitted = gpd::fit(&Excesses::Exact(drawn.clone())).ok()?;
        let mut above: Vec<f64> = drawn.iter().map(|y| fitted.gpd.above(*y)).collect();
        above.sort_by(|a, b| b.total_cmp(a));
        Some(anderson_darling(&above))
    });
    (statistic, p)
}

/// Whether the shape above a threshold with a part of the exceedances is the same: their difference has the variance
/// `(1 + xi)^2 (1/part - 1/k)`, as the larger sample holds the smaller (Hausman, Econometrica 46, 1978; Smith 1985 for the variance).
fn stability(name: &'static str, part: u32, exceedances: &Exceedances, fit: &Fit) -> GateTest {
    let Some(higher) = upper(&exceedances.excesses, part).and_then(|higher| gpd::fit(&higher).ok()) else {
        return GateTest::impossible(name, format!("too few exceedances to fit one in {part} of them"));
    };
    let (k, few) = (fit.k as f64, higher.k as f64);
    let sd = (1.0 + fit.gpd.xi) * (1.0 / few - 1.0 / k).max(0.0).sqrt();
    let z = if sd > 0.0 { (higher.gpd.xi - fit.gpd.xi) / sd } else { 0.0 };
    GateTest::by_p(name, z, 2.0 * normal(-z.abs()), "the shape changes with the threshold")
}

/// The largest of so many parts, as excesses over the largest of the rest.
fn upper(excesses: &Excesses, part: u32) -> Option<Excesses> {
    Some(match excesses {
        Excesses::Exact(values) => {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let from = sorted.len() - sorted.len() / part as usize;
            let threshold = *sorted.get(from.checked_sub(1)?)?;
            Excesses::Exact(sorted.iter().skip(from).map(|y| y - threshold).filter(|y| *y > 0.0).collect())
        }
        Excesses::Binned(bins) => {
            let (wanted, mut seen, mut from) = (excesses.count() / f64::from(part), 0.0, bins.len());
            while let Some((_, _, count)) = from.checked_sub(1).and_then(|at| bins.get(at)).filter(|_| seen < wanted) {
                seen += count;
                from -= 1;
            }
            let threshold = bins.get(from)?.0;
            Excesses::Binned(
                bins.iter().skip(from).map(|(low, high, count)| (low - threshold, high - threshold, *count)).collect(),
            )
        }
    })
}

/// The one of the ten largest that is the least likely: its rank and ten times the probability that as many of a Poisson
/// number with the fitted mean lie as far out.
fn top(exceedances: &Exceedances, fit: &Fit) -> (f64, f64) {
    let mut above: Vec<f64> = match &exceedances.excesses {
        Excesses::Exact(values) => values.iter().map(|y| fit.gpd.above(*y)).collect(),
        Excesses::Binned(bins) => {
            bins.iter().flat_map(|(low, _, count)| vec![fit.gpd.above(*low); *count as usize]).collect()
        }
    };
    above.sort_by(f64::total_cmp);
    let looks =
        above.iter().zip(1..=TOP).map(|(above, rank)| (rank as f64, poisson_at_least(rank, fit.k as f64 * above)));
    let (rank, p) = looks.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 1.0));
    (rank, (p * TOP as f64).min(1.0))
}
