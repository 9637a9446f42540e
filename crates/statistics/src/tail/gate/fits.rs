//! Tests whether the fit describes the exceedances: as a whole, compared with a fit from a higher threshold, compared with two causes, and
//! at the very top.

use super::{ALPHA_OF_TOP, Exceedances, Excesses, Fit, GateTest, alpha_of_causes, mixture, nulls, out_of_bounds};
use crate::{
    random::{generator, uniform},
    special::{normal, poisson_at_least},
    tail::gpd::{self, Gpd},
};

/// How many of the largest excesses the test at the top examines one by one.
const TOP: u64 = 10;

pub(super) fn tests(exceedances: &Exceedances, fit: &Fit) -> Vec<GateTest> {
    let above = above(exceedances, fit);
    let xi = fit.gpd.xi;
    let a = anderson_darling(&above);
    let shape = nulls::p(&nulls::ANDERSON_DARLING, fit, a);
    let mut tests = vec![
        GateTest::by_p("anderson-darling", a, shape, "the excesses do not follow the fitted distribution"),
        stability(exceedances, fit),
    ];
    if !out_of_bounds(fit) {
        let unit = Gpd { xi, sigma: 1.0 };
        let excesses: Vec<f64> = above.iter().rev().map(|above| unit.quantile_above(*above)).collect();
        let ratio = mixture::ratio(&excesses, xi);
        let p = nulls::p(&nulls::TWO_CAUSES, fit, ratio);
        tests.push(GateTest::by_p_at(
            alpha_of_causes(xi),
            "two-causes",
            ratio,
            p,
            "two causes describe the excesses better",
        ));
    }
    let far = top(&above);
    let p = nulls::p(&nulls::TOP, fit, far);
    tests.push(GateTest::by_p_at(
        ALPHA_OF_TOP,
        "top-spacing",
        far,
        p,
        "the largest values are further out than the rest allows",
    ));
    tests
}

/// Returns the fitted probability of exceeding each excess, in descending order. Binned values are distributed within their bins according
/// to the fit (Dunn & Smyth, JCGS 5, 1996).
fn above(exceedances: &Exceedances, fit: &Fit) -> Vec<f64> {
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
    above
}

/// Returns Anderson & Darling's distance (Annals of Mathematical Statistics 23, 1952) of values from the even distribution. The argument
/// contains the probabilities of exceeding them, in descending order.
pub(super) fn anderson_darling(above: &[f64]) -> f64 {
    let n = above.len() as f64;
    let safe = |p: f64| p.clamp(1e-300, 1.0).ln();
    let below = |p: f64| (1.0 - p).clamp(1e-17, 1.0).ln();
    let pairs = above.iter().zip(above.iter().rev());
    let sum: f64 =
        pairs.zip(0..).map(|((p, mirrored), i)| (2.0 * f64::from(i) + 1.0) * (below(*p) + safe(*mirrored))).sum();
    -n - sum / n
}

/// Tests whether the shape is the same above a higher threshold with a part of the exceedances. The difference of the shapes has the
/// variance `(1 + xi)^2 (1/part - 1/k)`, because the larger sample contains the smaller one (Hausman, Econometrica 46, 1978; Smith 1985 for
/// the variance).
fn stability(exceedances: &Exceedances, fit: &Fit) -> GateTest {
    let name = "stability";
    let Some(higher) = upper(&exceedances.excesses, 3).and_then(|higher| gpd::fit(&higher).ok()) else {
        return GateTest::impossible(name, "too few exceedances to fit a third of them".into());
    };
    let (k, few) = (fit.k as f64, higher.k as f64);
    let sd = (1.0 + fit.gpd.xi) * (1.0 / few - 1.0 / k).max(0.0).sqrt();
    let z = if sd > 0.0 { (higher.gpd.xi - fit.gpd.xi) / sd } else { 0.0 };
    GateTest::by_p(name, z, 2.0 * normal(-z.abs()), "the shape changes with the threshold")
}

/// Returns the largest excesses, one in `part` of them, as excesses over the largest of the rest.
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

/// Returns how unlikely the least likely of the ten largest excesses is: for each rank, the probability that at least as many of a Poisson
/// number with the fitted mean are that far out. The result is minus the logarithm of the smallest of these probabilities.
fn top(above: &[f64]) -> f64 {
    let n = above.len() as f64;
    let looks = above.iter().rev().zip(1..=TOP).map(|(above, rank)| poisson_at_least(rank, n * above));
    -looks.fold(1.0, f64::min).max(1e-300).ln()
}
