//! Values that rise or fall steadily, with or without one additional step.

use super::{Change, Changes, LEVEL, POSITIVE, SEGMENT, kept_of, middle, scatter, split};
use crate::{
    matrix::{dot, inverse, times},
    special::t_beyond,
};

/// Returns the best explanation by a straight line, alone or with one step, and its Schwarz criterion. Returns `None` where the true slope
/// may be zero: values that depend strongly on the previous one wander in either direction.
pub(super) fn drifting(values: &[f64]) -> Option<(f64, Changes)> {
    let (slope, beside) = line(values);
    let alone = Changes { changes: Vec::new(), kept: kept_of(&beside), drift: Some(slope) };
    let straight = (scatter(&beside, alone.kept, 2.0), alone, beside);
    let stepped = line_with_step(values).map(|(change, slope, left)| {
        let kept = kept_of(&left);
        (scatter(&left, kept, 4.0), Changes { changes: vec![change], kept, drift: Some(slope) }, left)
    });
    let best = stepped
        .filter(|(bad, found, _)| bad + POSITIVE < straight.0 && found.changes.iter().all(|change| change.p <= LEVEL));
    let (bad, found, left) = best.unwrap_or(straight);
    is_slope(found.drift?, &left, found.kept).then_some((bad, found))
}

/// Fits the straight line with one step that explains the series best by least squares. Returns the step, the slope, and the residuals. The
/// step's p is that of its t, multiplied by the number of places tried (Bonferroni).
fn line_with_step(values: &[f64]) -> Option<(Change, f64, Vec<f64>)> {
    let n = values.len();
    let ones = vec![1.0; n];
    let at: Vec<f64> = (0..n).map(|at| at as f64).collect();
    let places = SEGMENT..=n.checked_sub(SEGMENT)?;
    let tried = (n + 1 - 2 * SEGMENT) as f64;
    let fits = places.filter_map(|place| {
        let step: Vec<f64> = (0..n).map(|at| f64::from(u8::from(at >= place))).collect();
        let columns = [&ones, &at, &step];
        let gram: Vec<Vec<f64>> = columns.iter().map(|a| columns.iter().map(|b| dot(a, b)).collect()).collect();
        let covariance = inverse(&gram)?;
        let beta = times(&covariance, &columns.map(|column| dot(column, values)));
        let [first, slope, height] = beta.as_slice() else { return None };
        let fitted = at.iter().zip(&step).map(|(at, step)| first + slope * at + height * step);
        let left: Vec<f64> = values.iter().zip(fitted).map(|(value, fitted)| value - fitted).collect();
        let sum = dot(&left, &left);
        let error = (sum / (n as f64 - 3.0) * covariance.get(2)?.get(2)?).sqrt();
        Some((sum, place, *slope, height / error.max(f64::MIN_POSITIVE), left))
    });
    let (_, place, slope, t, left) = fits.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let part = |from: usize, to: usize| middle(values.get(from..to).unwrap_or_default());
    let level = less(values, slope);
    let q = split(&level).map_or(0.0, |(q, _)| q);
    let p = (t_beyond(t, n as f64 - 3.0) * tried).min(1.0);
    Some((Change { index: place, q, p, before: part(0, place), after: part(place, n) }, slope, left))
}

/// Subtracts a line of this slope that is zero at the first value.
fn less(values: &[f64], slope: f64) -> Vec<f64> {
    values.iter().enumerate().map(|(at, value)| value - slope * at as f64).collect()
}

/// Returns whether the slope of a line is too large for chance: it is more than four times its standard error. The error takes into account
/// which part of the previous value each value keeps.
fn is_slope(slope: f64, beside: &[f64], kept: f64) -> bool {
    let n = beside.len() as f64;
    let variance = beside.iter().map(|value| value * value).sum::<f64>() / (n - 2.0).max(1.0);
    let squares = n * (n * n - 1.0) / 12.0;
    let error = (variance / squares * (1.0 + kept) / (1.0 - kept)).sqrt();
    slope.abs() > 4.0 * error
}

/// Returns the slope of the least-squares line, and the residuals.
fn line(values: &[f64]) -> (f64, Vec<f64>) {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let at = || (0..values.len()).map(|at| at as f64 - middle);
    let squares: f64 = at().map(|at| at * at).sum();
    let slope = at().zip(values).map(|(at, value)| at * (value - mean)).sum::<f64>() / squares.max(f64::MIN_POSITIVE);
    (slope, at().zip(values).map(|(at, value)| value - mean - slope * at).collect())
}
