//! Each statistic compared with values from scipy, numpy or plain enumeration: `reference.py` made `reference.json`.

use latido_statistics::{
    change, confidence, factorial,
    quantile::ranks,
    special,
    tail::{
        Exceedances, Observed, Peak,
        gpd::{self, Excesses},
        tail,
    },
    two,
};
use serde_json::Value;

fn reference(key: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("reference.json")).unwrap();
    all[key].clone()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
fn close(ours: f64, theirs: f64, relative: f64) {
    assert!((ours - theirs).abs() <= relative * theirs.abs().max(1e-12), "{ours} is not {theirs}");
}

/// Distribution functions keep their precision, also at shapes of 1e9.
#[test]
fn distribution_functions() {
    for row in reference("beta").as_array().unwrap() {
        let [a, b, x, p] = floats(row)[..] else { panic!() };
        close(special::incomplete_beta(a, b, x, 1.0 - x), p, 1e-9);
    }
    for row in reference("chi2").as_array().unwrap() {
        let [x, f, p] = floats(row)[..] else { panic!() };
        close(special::chi_square_above(x, f), p, 1e-9);
        close(special::chi_square_quantile(1.0 - p, f), x, 1e-6);
    }
    for row in reference("t").as_array().unwrap() {
        let [f, t] = floats(row)[..] else { panic!() };
        close(special::t_quantile_beyond(0.05, f), t, 1e-9);
    }
    for row in reference("f").as_array().unwrap() {
        let [x, a, b, p] = floats(row)[..] else { panic!() };
        close(special::f_above(x, a, b), p, 1e-9);
    }
}

/// Ranks of quantiles are exact up to 1e9 samples, and absent if none exists; bounds of exceedances too.
#[test]
fn one_run() {
    for row in reference("ranks").as_array().unwrap() {
        let ours = ranks(row[0].as_u64().unwrap(), row[1].as_f64().unwrap(), 0.95).unwrap();
        assert_eq!((ours.lower, ours.upper), (row[2].as_u64(), row[3].as_u64()), "{row}");
    }
    for row in reference("clopper").as_array().unwrap() {
        let (lower, upper) = confidence::exceedance(row[0].as_u64().unwrap(), row[1].as_u64().unwrap()).unwrap();
        close(lower, row[2].as_f64().unwrap(), 1e-8);
        close(upper, row[3].as_f64().unwrap(), 1e-8);
    }
}

/// Fit, likelihood, and profile intervals of shape and level.
#[test]
fn generalised_pareto() {
    for case in reference("gpd").as_array().unwrap() {
        let fit = gpd::fit(&Excesses::Exact(floats(&case["y"]))).unwrap();
        close(fit.log_likelihood, case["loglik"].as_f64().unwrap(), 1e-9);
        assert!((fit.gpd.xi - case["xi"].as_f64().unwrap()).abs() < 1e-4, "{fit:?}");
        close(fit.gpd.sigma, case["sigma"].as_f64().unwrap(), 1e-4);
        let (shape, expected) = (fit.shape(), floats(&case["xi_interval"]));
        // A limit below the smallest allowed shape is absent.
        assert_eq!(shape.lower.is_some(), expected[0] > gpd::SMALLEST_SHAPE);
        assert!(shape.lower.is_none_or(|lower| (lower - expected[0]).abs() < 1e-4), "{shape:?} {expected:?}");
        assert!((shape.upper.unwrap() - expected[1]).abs() < 1e-4, "{shape:?} {expected:?}");
        let (level, expected) = (fit.excess(1000.0_f64.ln()), floats(&case["level_interval"]));
        close(level.value, case["level"].as_f64().unwrap(), 1e-4);
        close(level.lower.unwrap(), expected[0], 1e-4);
        close(level.upper.unwrap(), expected[1], 1e-4);
    }
}

/// Mann-Kendall, the distance of the halves, and Ljung-Box on midranks, all with ties.
#[test]
fn tests_of_the_gate() {
    let block_maxima: Vec<i64> = reference("series").as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect();
    let peaks: Vec<Peak> =
        (0..100).map(|i| Peak { index: i * 97, value: (i * i % 1009) as i64 * 7 + i as i64 }).collect();
    let observed = Observed { peaks: &peaks, count: 10_000, length_s: 10.0, block_maxima: &block_maxima };
    let gate = tail(&observed, 99, &[]).unwrap().gate;
    let test = |name: &str| gate.tests.iter().find(|test| test.name == name).unwrap();
    for (name, expected) in
        [("mann-kendall", floats(&reference("mann_kendall"))), ("ljung-box", floats(&reference("ljung_box")))]
    {
        close(test(name).statistic.unwrap(), expected[0], 1e-9);
        close(test(name).p.unwrap(), expected[1], 1e-8);
    }
    close(test("halves").statistic.unwrap(), reference("ks").as_f64().unwrap(), 1e-9);
}

/// Exact p with and without ties, the permutation test, the ratio with its interval, the statistic of shapes.
#[test]
fn two_arms() {
    let arms = reference("arms");
    let [a, b, ta, tb] = ["a", "b", "ta", "tb"].map(|arm| floats(&arms[arm]));
    let [u, p, tied_u, tied_p] = floats(&reference("mann_whitney"))[..] else { panic!() };
    let (plain, tied) =
        (two::mann_whitney::mann_whitney(&a, &b).unwrap(), two::mann_whitney::mann_whitney(&ta, &tb).unwrap());
    close(plain.u_a, u, 0.0);
    close(plain.p.p, p, 1e-9);
    close(tied.u_a, tied_u, 0.0);
    close(tied.p.p, tied_p, 1e-9);
    let all = two::compare(&a, &b, two::Question::RATIO).unwrap();
    close(all.permutation.p, reference("permutation").as_f64().unwrap(), 1e-9);
    let expected = floats(&reference("hodges_lehmann"));
    let (low, high) = all.estimate.interval.unwrap();
    for (ours, theirs) in [all.estimate.value, low, high, all.estimate.reached.unwrap()].into_iter().zip(expected) {
        close(ours, theirs, 1e-9);
    }
    close(all.cliffs_delta, 1.0 - 2.0 * u / 42.0, 1e-12);
    let shapes = two::anderson_darling::anderson_darling(&[&ta, &tb]).unwrap();
    close(shapes.statistic, reference("anderson_darling_k").as_f64().unwrap(), 1e-9);
}

/// Coefficients, F of type III and intervals of an unbalanced factorial with blocks.
#[test]
fn factorial_effects() {
    let expected = reference("factorial");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows: Vec<factorial::Observation> = expected["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| factorial::Observation {
            levels: vec![text(&row[0]), text(&row[1])],
            block: Some(text(&row[2])),
            value: row[3].as_f64().unwrap(),
        })
        .collect();
    let effects = factorial::effects(&["a", "b"], &rows, 2).unwrap();
    let beta = floats(&expected["beta"]);
    close(effects.mean, beta[0].exp(), 1e-9);
    close(effects.coefficients[0].log, beta[3], 1e-8);
    close(effects.coefficients[2].log, beta[4], 1e-8);
    close(effects.coefficients[4].log, -beta[4] - beta[5], 1e-8);
    close(effects.spread.unwrap(), expected["spread"].as_f64().unwrap(), 1e-8);
    assert_eq!(effects.terms.len(), 3);
    for (term, name) in effects.terms.iter().zip(["f_a", "f_b", "f_ab"]) {
        let [f, p] = floats(&expected[name])[..] else { panic!() };
        close(term.f.unwrap(), f, 1e-7);
        close(term.p.unwrap(), p, 1e-7);
    }
    let [ratio, low, high] = floats(&expected["a"])[..] else { panic!() };
    close(effects.contrasts[0].ratio, ratio, 1e-8);
    close(effects.contrasts[0].interval.unwrap().0, low, 1e-7);
    close(effects.contrasts[0].interval.unwrap().1, high, 1e-7);
}

/// The place of a planted change, and its Q.
#[test]
fn changes_over_time() {
    let expected = reference("change");
    let found = change::changes(&floats(&expected["series"])).unwrap().changes;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].index as u64, expected["index"].as_u64().unwrap());
    close(found[0].q, expected["q"].as_f64().unwrap(), 1e-9);
    assert!(found[0].p < 0.01);
}

/// Extremal index, run length and clusters of single, crowded and regular exceedances.
#[test]
fn extremal_index_of_ferro_and_segers() {
    for case in reference("extremal_index").as_array().unwrap() {
        let indices: Vec<u64> =
            case["indices"].as_array().unwrap().iter().map(|index| index.as_u64().unwrap()).collect();
        let mut peaks: Vec<Peak> =
            indices.iter().zip(1..).map(|(index, i)| Peak { index: *index, value: 1000 + i * i % 997 }).collect();
        peaks.push(Peak { index: 0, value: 0 });
        let count = case["count"].as_u64().unwrap();
        let observed = Observed { peaks: &peaks, count, length_s: 1.0, block_maxima: &[] };
        let found = Exceedances::of(&observed, indices.len() as u64).unwrap();
        close(found.extremal_index, case["theta"].as_f64().unwrap(), 1e-12);
        assert_eq!(found.gap, case["gap"].as_u64().unwrap());
        assert_eq!(found.peaks.len() as u64, case["clusters"].as_u64().unwrap());
    }
}

/// The fit of values in bins, and the interval of its shape.
#[test]
fn binned_generalised_pareto() {
    for case in reference("binned").as_array().unwrap() {
        let bins = case["bins"].as_array().unwrap().iter().map(floats).map(|bin| (bin[0], bin[1], bin[2])).collect();
        let fit = gpd::fit(&Excesses::Binned(bins)).unwrap();
        close(fit.log_likelihood, case["loglik"].as_f64().unwrap(), 1e-9);
        assert!((fit.gpd.xi - case["xi"].as_f64().unwrap()).abs() < 1e-4, "{fit:?}");
        close(fit.gpd.sigma, case["sigma"].as_f64().unwrap(), 1e-4);
        let (shape, expected) = (fit.shape(), floats(&case["xi_interval"]));
        assert!((shape.lower.unwrap() - expected[0]).abs() < 1e-4, "{shape:?} {expected:?}");
        assert!((shape.upper.unwrap() - expected[1]).abs() < 1e-4, "{shape:?} {expected:?}");
    }
}

/// The tests of the fit: their statistics, and their p, which agrees with a parametric bootstrap of 2,000 samples within its random error.
#[test]
fn excesses_against_their_fit() {
    for case in reference("excesses").as_array().unwrap() {
        let y = floats(&case["y"]);
        let mut peaks: Vec<Peak> =
            y.iter().zip(1..).map(|(y, index)| Peak { index: index * 50, value: *y as i64 }).collect();
        peaks.push(Peak { index: 0, value: 0 });
        let observed = Observed { peaks: &peaks, count: 50_000, length_s: 1.0, block_maxima: &[] };
        let gate = tail(&observed, y.len() as u64, &[]).unwrap().gate;
        let test = |name: &str| gate.tests.iter().find(|test| test.name == name).unwrap();
        for (name, statistic, p) in [("anderson-darling", "a2", "a2_p"), ("top-spacing", "top", "top_p")] {
            close(test(name).statistic.unwrap(), case[statistic].as_f64().unwrap(), 1e-4);
            let (ours, theirs) = (test(name).p.unwrap(), case[p].as_f64().unwrap());
            assert!((ours - theirs).abs() < 0.005 + 0.15 * theirs, "{name}: p {ours} is not {theirs}");
        }
        // This statistic is a maximum over three ratios, computed from means of groups, so it agrees only roughly.
        let (ours, theirs) = (test("two-causes").statistic.unwrap(), case["two_causes"].as_f64().unwrap());
        assert!((ours - theirs).abs() < 0.15, "{ours} is not {theirs}");
    }
}

/// Quantiles of pooled repeats. Each end of a band agrees with the one from all resamples of the repeats, within random error.
#[test]
fn shift_function() {
    let arms: Vec<Vec<Vec<(i64, u64)>>> = reference("shift_repeats")
        .as_array()
        .unwrap()
        .iter()
        .map(|arm| arm.as_array().unwrap().iter().map(|r| floats(r).iter().map(|v| (*v as i64, 1)).collect()).collect())
        .collect();
    let arm = |at: usize| arms[at].iter().map(Vec::as_slice).collect::<Vec<_>>();
    let found = two::shift::shift(&arm(0), &arm(1)).unwrap();
    for row in reference("shift").as_array().unwrap() {
        let p = row[0].as_f64().unwrap();
        let ours = found.iter().find(|shift| shift.p == p).unwrap();
        assert_eq!((Some(ours.a), Some(ours.b)), (row[1].as_i64(), row[2].as_i64()));
        let limits: Vec<i64> = row[3].as_array().unwrap().iter().map(|limit| limit.as_i64().unwrap()).collect();
        let (low, high) = ours.band.unwrap();
        assert!(limits[0] <= low && low <= limits[2] && limits[3] <= high && high <= limits[5], "{ours:?} {limits:?}");
    }
}

/// The spread of a pilot with its upper limit, and the number of repeats that find a ratio: it agrees to one with a simulation.
#[test]
fn power_of_a_pilot() {
    let pilot: Vec<Vec<f64>> = reference("pilot").as_array().unwrap().iter().map(floats).collect();
    let pilot: Vec<&[f64]> = pilot.iter().map(Vec::as_slice).collect();
    for case in reference("power").as_array().unwrap() {
        let (ratio, family) = (case["ratio"].as_f64().unwrap(), case["family"].as_u64().unwrap());
        let plan = two::power::plan(&pilot, ratio, family, 0.9).unwrap();
        close(plan.spread, case["spread"].as_f64().unwrap(), 1e-9);
        close(plan.spread_upper, case["upper"].as_f64().unwrap(), 1e-6);
        let (ours, theirs) = (plan.repeats.unwrap(), case["repeats"].as_u64().unwrap());
        assert!(ours.abs_diff(theirs) <= 1, "{ratio} {family}: {ours} is not {theirs}");
    }
}

/// The tests of the moments: crowded blocks, evenness, and a single period among the largest tenth.
#[test]
fn moments_of_exceedances() {
    let case = reference("moments");
    let (when, value, count) = (floats(&case["when"]), floats(&case["value"]), case["count"].as_u64().unwrap());
    let mut peaks: Vec<Peak> =
        when.iter().zip(&value).map(|(index, value)| Peak { index: *index as u64, value: *value as i64 }).collect();
    peaks.push(Peak { index: 0, value: 0 });
    let block_maxima: Vec<i64> = (0..100).map(|block| block * 37 % 101).collect();
    let observed = Observed { peaks: &peaks, count, length_s: 1.0, block_maxima: &block_maxima };
    let gate = tail(&observed, when.len() as u64, &[]).unwrap().gate;
    let test = |name: &str| gate.tests.iter().find(|test| test.name == name).unwrap();
    close(test("evenness").statistic.unwrap(), case["evenness"].as_f64().unwrap(), 1e-9);
    for (name, expected) in [("crowding", floats(&case["crowding"])), ("period-top", floats(&case["period"]))] {
        close(test(name).statistic.unwrap(), expected[0], 1e-9);
        close(test(name).p.unwrap(), expected[1], 1e-6);
    }
}
