//! Changes over time: E-divisive (Matteson & James, JASA 109, 2014).

mod drift;
mod newest;

pub use newest::{Newest, changes_and_newest};

use crate::{
    Refusal, random,
    refusal::check,
    two::{hodges_lehmann::median, mann_whitney::mann_whitney, uneven},
};
use serde::Serialize;

/// The largest share of the previous value that a value can keep; larger estimates are reduced to this.
const MOST_KEPT: f64 = 0.9;
/// One in ten independent series exceeds this: the estimated share that values keep, times the square root of their number.
const ONE_IN_TEN: f64 = 2.0;
/// A difference of Schwarz's criterion that counts as very strong evidence (Kass & Raftery, JASA 90, 1995).
const VERY_STRONG: f64 = 10.0;
/// A difference that counts as evidence.
const POSITIVE: f64 = 4.0;
/// The fewest values on either side of a change.
pub const SEGMENT: usize = 5;
/// The significance level of a change.
pub const LEVEL: f64 = 0.05;
/// The largest number of permutations.
const PERMUTATIONS: u32 = 499;
/// The largest number of values that the search accepts.
const MOST: u64 = 3_000;

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The index of the first value after it, from 0.
    pub index: usize,
    /// The divergence of the values before and after, scaled by their numbers.
    pub q: f64,
    /// Its p, by permutations within the segments known before.
    pub p: f64,
    /// The median before it, from the start of the segment.
    pub before: f64,
    /// The median after it, up to the end of the segment.
    pub after: f64,
}

/// The changes of a series, and what else the search found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Changes {
    /// In time order.
    pub changes: Vec<Change>,
    /// The share of the previous value that each value keeps (a first-order autoregression): the estimate plus its error; 0 where values
    /// count as independent.
    pub kept: f64,
    /// The slope of a straight line, per value, where it explains the series better than changes alone.
    pub drift: Option<f64>,
}

/// Returns the changes of a series in time order, given its values or, for ratios, their logarithms. alpha = 1. Each round finds the best
/// split of all segments, and the first round that is not significant ends the search. A change must be a change of level: where the ranks
/// of the two sides do not differ (5 %), the split is a change of spread or a single outlier, and the search ends without reporting it.
/// Where values keep a share of the previous one, the search uses what each value adds to that share. Values that drift steadily have no
/// changes: where a straight line, alone or with one step, explains them better (Schwarz's criterion), the function returns that line.
/// Returns `Err` for fewer than ten values, more than 3,000, or a value that is not finite.
pub fn changes(values: &[f64]) -> Result<Changes, Refusal> {
    check(values, "values in order of time", 2 * SEGMENT as u64)?;
    if values.len() as u64 > MOST {
        return Err(Refusal::OutOfRange { what: "more than 3,000 values: select a part of them" });
    }
    let (changes, kept) = steps(values);
    let plain = badness(values, &changes, kept);
    // Where the search found no change, a line must explain far more to be reported.
    let margin = if changes.is_empty() { VERY_STRONG } else { POSITIVE };
    let drifting = drift::drifting(values).filter(|(badness, _)| badness + margin < plain);
    Ok(drifting.map_or(Changes { changes, kept, drift: None }, |(_, found)| found))
}

/// Returns the changes of level, and the share of the previous value that each value keeps.
fn steps(values: &[f64]) -> (Vec<Change>, f64) {
    let kept = kept_of(values);
    let plain = search(values, values);
    if kept == 0.0 {
        return (plain, kept);
    }
    let changes = search(values, &added(values, kept));
    // A large change looks like dependence between values. Where changes without dependence explain more, values count as independent.
    match badness(values, &plain, 0.0) + VERY_STRONG < badness(values, &changes, kept) {
        true => (plain, 0.0),
        false => (changes, kept),
    }
}

/// Estimates which share of the previous value each value keeps: the mean squares of differences at lag two and at lag one have the ratio
/// 1 + f, and a few changes of level hardly affect it. The estimate has an error of about one divided by the square root of the number of
/// values. A share that is estimated too low would produce false changes, so the function adds this error. An estimate that one in ten
/// independent series reaches counts as zero.
fn kept_of(values: &[f64]) -> f64 {
    let apart = |lag: usize| {
        let squares = values.iter().zip(values.iter().skip(lag)).map(|(one, other)| (one - other).powi(2));
        squares.sum::<f64>() / values.len().saturating_sub(lag).max(1) as f64
    };
    let (one, two) = (apart(1), apart(2));
    let kept = if one > 0.0 { two / one - 1.0 } else { 0.0 };
    let error = (values.len() as f64).sqrt().recip();
    if kept > ONE_IN_TEN * error { (kept + error).min(MOST_KEPT) } else { 0.0 }
}

/// Returns the residuals of these changes: each value minus the median of its segment.
fn rest(values: &[f64], found: &[Change]) -> Vec<f64> {
    let mut level = found.first().map_or_else(|| middle(values), |change| change.before);
    let mut next = found.iter().peekable();
    let each = values.iter().enumerate().map(|(at, value)| {
        level = next.next_if(|change| change.index == at).map_or(level, |change| change.after);
        value - level
    });
    each.collect()
}

/// Returns Schwarz's criterion (Annals of Statistics 6, 1978) with normal errors for changes and the share that values keep; smaller is
/// better. Each change has two parameters, its place and its level; the share is one parameter.
fn badness(values: &[f64], found: &[Change], kept: f64) -> f64 {
    scatter(&rest(values, found), kept, 1.0 + 2.0 * found.len() as f64)
}

/// Returns the criterion for the residuals of an explanation with this number of parameters.
fn scatter(rest: &[f64], kept: f64, parameters: f64) -> f64 {
    let errors =
        rest.iter().zip(std::iter::once(&0.0).chain(rest)).map(|(value, before)| (value - kept * before).powi(2));
    let n = rest.len() as f64;
    let parameters = parameters + f64::from(u8::from(kept > 0.0));
    n * (errors.sum::<f64>() / n).max(f64::MIN_POSITIVE).ln() + parameters * n.ln()
}

/// Returns what each value adds to the share of the previous one, scaled to the level of the values.
fn added(values: &[f64], kept: f64) -> Vec<f64> {
    let before = values.first().into_iter().chain(values);
    values.iter().zip(before).map(|(value, before)| (value - kept * before) / (1.0 - kept)).collect()
}

/// Searches changes in `added`: what each value adds to the share of the previous one. The medians of the changes are those of `values`.
fn search(values: &[f64], added: &[f64]) -> Vec<Change> {
    let mut ends = vec![0, values.len()];
    let mut found: Vec<(usize, f64, f64)> = Vec::new();
    let mut rng = random::generator(8);
    while let Some((q, index)) = best(added, &ends) {
        let mut shuffled = added.to_vec();
        let p = random::sequential_p(q * (1.0 - 1e-12), PERMUTATIONS, || {
            for (from, to) in ends.iter().zip(ends.iter().skip(1)) {
                random::shuffle(shuffled.get_mut(*from..*to)?, &mut rng);
            }
            best(&shuffled, &ends).map(|(q, _)| q)
        });
        if p > LEVEL || q <= 0.0 {
            break;
        }
        let at = ends.partition_point(|end| *end < index);
        let sides = at.checked_sub(1).and_then(|before| ends.get(before)).zip(ends.get(at));
        let of_level = sides.and_then(|(from, to)| is_of_level(added.get(*from..index)?, added.get(index..*to)?).ok());
        if of_level != Some(true) {
            break;
        }
        ends.insert(at, index);
        found.push((index, q, p));
    }
    found.sort_by_key(|(index, _, _)| *index);
    let part = |from: usize, to: usize| middle(values.get(from..to).unwrap_or_default());
    let told = found.iter().zip(ends.iter().zip(ends.iter().skip(2)));
    told.map(|((index, q, p), (from, to))| Change {
        index: *index,
        q: *q,
        p: *p,
        before: part(*from, *index),
        after: part(*index, *to),
    })
    .collect()
}

/// Returns whether the two sides of a split differ in level. Where their spreads differ, ranks differ too often by chance, and the split is
/// at the place where they differ most. In that case the means must differ by Welch's t at a tenth of the level.
fn is_of_level(before: &[f64], after: &[f64]) -> Result<bool, Refusal> {
    match uneven::student(before, after) {
        Some(p) => Ok(p <= LEVEL / 10.0),
        None => Ok(mann_whitney(before, after)?.p.p <= LEVEL),
    }
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median(&sorted)
}

/// Returns the largest divergence of any split of any segment, and its index.
fn best(values: &[f64], ends: &[usize]) -> Option<(f64, usize)> {
    let segments = ends.iter().zip(ends.iter().skip(1));
    let splits = segments.filter_map(|(from, to)| split(values.get(*from..*to)?).map(|(q, at)| (q, from + at)));
    splits.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Returns the distance between two values.
fn distance(one: f64, other: f64) -> f64 {
    #[cfg(test)]
    tests::LOOKED_AT.with(|looked| looked.set(looked.get() + 1));
    (one - other).abs()
}

/// Returns the best split of one segment: the maximum over all places t, and all ends k of the part compared after it, of `t (k-t)/k (2
/// E|X-Y| - E|X-X'| - E|Y-Y'|)`, the last two as U statistics.
fn split(values: &[f64]) -> Option<(f64, usize)> {
    let n = values.len();
    // The sums of distances among the first t values.
    let mut within = vec![0.0];
    for (t, value) in values.iter().enumerate() {
        let more: f64 = values.iter().take(t).map(|other| distance(*other, *value)).sum();
        within.push(within.last().copied().unwrap_or(0.0) + more);
    }
    let mut best: Option<(f64, usize)> = None;
    // The sum of distances from each value to the first t values, updated as t grows.
    let mut reach = vec![0.0; n];
    let mut reached = 0;
    for t in SEGMENT..=n.checked_sub(SEGMENT)? {
        for other in values.get(reached..t)? {
            reach.iter_mut().zip(values).skip(t).for_each(|(sum, value)| *sum += distance(*other, *value));
        }
        reached = t;
        let left = within.get(t).copied()?;
        // The sums of distances between the two sides, and within the second side, as it grows.
        let (mut between, t_) = (0.0, t as f64);
        for ((sum, m), whole) in reach.iter().skip(t).zip(1..).zip(within.iter().skip(t + 1)) {
            between += sum;
            if m < SEGMENT {
                continue;
            }
            let (m, right) = (m as f64, whole - left - between);
            let e = 2.0 * between / (t_ * m) - 2.0 * left / (t_ * (t_ - 1.0)) - 2.0 * right / (m * (m - 1.0));
            let q = t_ * m / (t_ + m) * e;
            if best.is_none_or(|(most, _)| q > most) {
                best = Some((q, t));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;
    use std::cell::Cell;

    thread_local! {
        /// How many distances the search has calculated.
        pub(super) static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
    }

    /// Calculates the split as in the definition, with every sum from the beginning.
    fn plainly(values: &[f64]) -> Option<(f64, usize)> {
        let n = values.len();
        let sum = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().map(|a| other.iter().map(|b| (a - b).abs()).sum::<f64>()).sum()
        };
        let mut best: Option<(f64, usize)> = None;
        for t in SEGMENT..=n.checked_sub(SEGMENT)? {
            for k in t + SEGMENT..=n {
                let (x, y) = (&values[..t], &values[t..k]);
                let (a, b) = (t as f64, (k - t) as f64);
                let e = 2.0 * sum(x, y) / (a * b) - sum(x, x) / (a * (a - 1.0)) - sum(y, y) / (b * (b - 1.0));
                let q = a * b / (a + b) * e;
                if best.is_none_or(|(most, _)| q > most) {
                    best = Some((q, t));
                }
            }
        }
        best
    }

    /// The split with updated sums equals the split of the definition.
    #[test]
    fn the_best_split_is_that_of_the_definition() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / 1e9
        };
        for n in [10, 23, 60] {
            let values: Vec<f64> = (0..n).map(|at| next() + if at > n / 3 { 1.5 } else { 0.0 }).collect();
            let ((q, at), (expected, place)) = (split(&values).unwrap(), plainly(&values).unwrap());
            assert_eq!(at, place, "{n}");
            assert!((q - expected).abs() <= 1e-9 * expected.abs(), "{n}: {q} {expected}");
        }
        assert_eq!(split(&[1.0; 9]), None);
    }

    /// Values that keep a part of the previous value show no false changes, but a real step in them is still found.
    #[test]
    fn values_that_depend_on_each_other_are_no_changes() {
        let mut rng = random::generator(21);
        let mut series = |kept: f64, step: f64| {
            let mut last = 0.0;
            let one = |at: usize| {
                last = kept * last + (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
                last + if at < 30 { 0.0 } else { step }
            };
            (0..60).map(one).collect::<Vec<f64>>()
        };
        let mut changed = |kept: f64, step: f64| {
            (0..60).filter(|_| !changes(&series(kept, step)).unwrap().changes.is_empty()).count()
        };
        let found =
            [(0.0, 0.0), (0.3, 0.0), (0.6, 0.0), (0.0, 2.0), (0.3, 4.0)].map(|(kept, step)| changed(kept, step));
        let [alone, few, many, step, step_in_few] = found;
        // A step that is large compared with the scatter does not make values look dependent.
        assert_eq!(changes(&series(0.0, 30.0)).unwrap().kept, 0.0);
        assert!(alone <= 9 && few <= 11 && many <= 9 && step >= 57 && step_in_few >= 54, "of 60: {found:?}");
    }

    /// Values that drift have no changes, and one step is not a drift, however few values there are.
    #[test]
    fn a_drift_is_no_change() {
        let mut rng = random::generator(23);
        let mut counted = |n: usize, level: &dyn Fn(f64) -> f64| {
            let (mut drifts, mut steps) = (0, 0);
            for _ in 0..60 {
                let noise = |_| (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
                let noise: Vec<f64> = (0..n).map(noise).collect();
                let values: Vec<f64> =
                    noise.iter().enumerate().map(|(at, noise)| noise + level(at as f64 / n as f64)).collect();
                let found = changes(&values).unwrap();
                drifts += u32::from(found.drift.is_some_and(|slope| slope > 0.0));
                steps += u32::from(!found.changes.is_empty());
            }
            (drifts, steps)
        };
        for (n, rise) in [(60, 4.0), (60, 8.0), (30, 8.0), (24, 6.0)] {
            let (drifts, steps) = counted(n, &|part| rise * part);
            assert!(drifts >= 40 && drifts + steps >= 50, "of 60 that rise by {rise} in {n}: {drifts} and {steps}");
        }
        for (n, rise) in [(60, 2.0), (30, 3.0), (12, 4.0), (24, 2.0)] {
            let (drifts, steps) = counted(n, &|part| if part < 0.5 { 0.0 } else { rise });
            assert!(drifts <= 4 && steps >= 44, "of 60 with a step of {rise} in {n}: {drifts} and {steps}");
        }
        for (at, step) in [(0.5, 6.0), (0.67, -4.0)] {
            let (drifts, steps) = counted(60, &|part| 6.0 * part + if part < at { 0.0 } else { step });
            assert!(drifts >= 30 && steps >= 50, "of 60 with a drift and a step of {step}: {drifts} and {steps}");
        }
        let (drifts, steps) = counted(40, &|_| 0.0);
        assert!(drifts + steps <= 8, "of 60 without either: {drifts} and {steps}");
    }

    /// A change of spread alone is not a change of level. If the level changes too, the change is found.
    #[test]
    fn a_change_of_spread_is_none_of_level() {
        let mut rng = random::generator(22);
        let mut changed = |wider: f64, step: f64| {
            let mut one = |at: usize| {
                let normal = (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
                if at < 22 { normal } else { wider * normal + step }
            };
            let mut series = || (0..44).map(&mut one).collect::<Vec<f64>>();
            (0..200).filter(|_| !changes(&series()).unwrap().changes.is_empty()).count()
        };
        let found = [(10.0, 0.0), (0.2, 0.0), (3.0, 8.0)].map(|(wider, step)| changed(wider, step));

        let [wider, narrower, both] = found;
        assert!(wider <= 20 && narrower <= 24 && both >= 195, "of 200: {found:?}");
    }

    /// A split calculates the distance of each pair of values at most twice: ten times the values take a hundred times the calculations.
    #[test]
    fn a_split_grows_as_pairs_of_values() {
        for n in [10_usize, 100, 1_000] {
            let values: Vec<f64> = (0..n).map(|at| (at % 17) as f64).collect();
            LOOKED_AT.set(0);
            split(&values).unwrap();
            let looked = LOOKED_AT.get();
            assert!((n * (n - 1) / 2..=n * n).contains(&looked), "{n} values: {looked} looks");
        }
    }
}
