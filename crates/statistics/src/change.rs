//! Changes over time: E-divisive (Matteson & James, JASA 109, 2014).

use crate::{
    Refusal, random,
    refusal::check,
    two::{hodges_lehmann::median, mann_whitney::mann_whitney},
};
use serde::Serialize;

/// The fewest values on either side of a change.
pub const SEGMENT: usize = 5;
/// The level of a change.
pub const LEVEL: f64 = 0.05;
/// How many permutations are drawn at most.
const PERMUTATIONS: u32 = 499;
/// The most values that are searched.
const MOST: u64 = 3_000;

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The first value after it, from 0.
    pub index: usize,
    /// The divergence of the values before and after, scaled by their numbers.
    pub q: f64,
    /// Its p by permutations within the segments that were known before.
    pub p: f64,
    /// The median before, back to the segment's start.
    pub before: f64,
    /// The median after, up to the segment's end.
    pub after: f64,
}

/// The changes of a series in order of time, given its values or, for ratios, their logarithms. alpha = 1; each round finds
/// the best split of all segments, and the first round that is not significant ends the search. A change must be one of
/// level: where the ranks of the two sides do not differ too (5 %), a change of spread or a single outlier was found, and is
/// not told. `Err` below ten values, above 3,000, or if one is not finite.
pub fn changes(values: &[f64]) -> Result<Vec<Change>, Refusal> {
    check(values, "values in order of time", 2 * SEGMENT as u64)?;
    if values.len() as u64 > MOST {
        return Err(Refusal::OutOfRange { what: "more than 3,000 values: ask for a part of them" });
    }
    let mut ends = vec![0, values.len()];
    let mut found: Vec<(usize, f64, f64)> = Vec::new();
    let mut rng = random::generator(8);
    while let Some((q, index)) = best(values, &ends) {
        let mut shuffled = values.to_vec();
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
        let of_level =
            sides.and_then(|(from, to)| mann_whitney(values.get(*from..index)?, values.get(index..*to)?).ok());
        if of_level.is_none_or(|test| test.p.p > LEVEL) {
            break;
        }
        ends.insert(at, index);
        found.push((index, q, p));
    }
    found.sort_by_key(|(index, _, _)| *index);
    let middle = |from: usize, to: usize| {
        let mut part = values.get(from..to).unwrap_or_default().to_vec();
        part.sort_by(f64::total_cmp);
        median(&part)
    };
    let told = found.iter().zip(ends.iter().zip(ends.iter().skip(2)));
    Ok(told
        .map(|((index, q, p), (from, to))| Change {
            index: *index,
            q: *q,
            p: *p,
            before: middle(*from, *index),
            after: middle(*index, *to),
        })
        .collect())
}

/// The largest divergence of any split of any segment, and where it is.
fn best(values: &[f64], ends: &[usize]) -> Option<(f64, usize)> {
    let segments = ends.iter().zip(ends.iter().skip(1));
    let splits = segments.filter_map(|(from, to)| split(values.get(*from..*to)?).map(|(q, at)| (q, from + at)));
    splits.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The best split of one segment: over all places t, and all ends k of what is compared after it,
/// `t (k-t)/k (2 E|X-Y| - E|X-X'| - E|Y-Y'|)`, the last two as U statistics.
fn split(values: &[f64]) -> Option<(f64, usize)> {
    let n = values.len();
    // Sums of distances among the first t.
    let mut within = vec![0.0];
    for (t, value) in values.iter().enumerate() {
        let more: f64 = values.iter().take(t).map(|other| (other - value).abs()).sum();
        within.push(within.last().copied().unwrap_or(0.0) + more);
    }
    let mut best: Option<(f64, usize)> = None;
    for t in SEGMENT..=n.checked_sub(SEGMENT)? {
        let (before, after) = values.split_at(t);
        let left = within.get(t).copied()?;
        // Between the two sides, and within the second, as it grows.
        let (mut between, t_) = (0.0, t as f64);
        for ((value, m), whole) in after.iter().zip(1..).zip(within.iter().skip(t + 1)) {
            between += before.iter().map(|other| (other - value).abs()).sum::<f64>();
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
