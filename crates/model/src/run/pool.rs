//! Pools several distributions into one: counts, moments, bands and histograms.

use crate::{
    record::{Band, Bounds, Slots, Summary},
    run::codec,
    summary::{Counted, Exact, quantiles},
};
use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;

/// Pools summaries: counts and bands add up, extremes are those of all, moments combine (Chan, Golub, LeVeque 1983), and quantiles come
/// from the pooled histogram. Bands stay only if all have the same edges. `negative` samples are below zero; all others that the histogram
/// lacks are above its range. If another tool counted one of them, all figures are bounds, and the caller must compute the quantiles from
/// the bins.
pub fn summaries(parts: &[Summary], histogram: &impl Counted, negative: u64) -> Summary {
    let count: u64 = parts.iter().map(|part| part.count).fold(0, u64::saturating_add);
    if parts.iter().any(|part| part.bounds.is_some()) {
        let bounds = |part: &Summary| (part.count, part.bounds.clone().unwrap_or_else(|| Bounds::exact(part)));
        return Summary::bounded(count, Bounds::pooled(&parts.iter().map(bounds).collect::<Vec<_>>()));
    }
    let overflow = count.saturating_sub(histogram.total()).saturating_sub(negative);
    let min = parts.iter().filter_map(|part| part.min).min();
    let max = parts.iter().filter_map(|part| part.max).max();
    let (mean, sd) = moments(parts);
    let exact = Exact { count, min, max, overflow, ..Exact::default() };
    let quantiles = quantiles(&exact, histogram);
    Summary { count, min, max, mean, sd, quantiles, bands: pool_bands(parts), bounds: None }
}

fn moments(parts: &[Summary]) -> (Option<f64>, Option<f64>) {
    let (mut n, mut mean, mut scatter) = (0.0, 0.0, 0.0);
    for part in parts {
        let (Some(part_mean), true) = (part.mean, part.count > 0) else { continue };
        let m = part.count as f64;
        let delta = part_mean - mean;
        scatter += part.sd.unwrap_or(0.0).powi(2) * (m - 1.0) + delta * delta * n * m / (n + m);
        mean += delta * m / (n + m);
        n += m;
    }
    ((n > 0.0).then_some(mean), (n > 1.0).then(|| (scatter / (n - 1.0)).sqrt()))
}

fn pool_bands(parts: &[Summary]) -> Vec<Band> {
    let Some((first, others)) = parts.split_first() else { return Vec::new() };
    let mut bands = first.bands.clone();
    for part in others {
        let same = part.bands.len() == bands.len() && part.bands.iter().zip(&bands).all(|(a, b)| a.upto == b.upto);
        if !same {
            return Vec::new();
        }
        for (sum, band) in bands.iter_mut().zip(&part.bands) {
            sum.count = sum.count.saturating_add(band.count);
        }
    }
    bands
}

/// Adds up histograms.
///
/// # Errors
/// None in practice: see [`codec::histogram`].
pub fn histograms<'a>(parts: impl IntoIterator<Item = &'a Histogram<u64>>) -> Result<Histogram<u64>> {
    let mut sum = codec::histogram()?;
    for part in parts {
        add(&mut sum, part)?;
    }
    Ok(sum)
}

/// Adds a histogram to another.
///
/// # Errors
/// As [`histograms`].
pub fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) -> Result<()> {
    sum.add(part).map_err(|e| anyhow!("pooling histograms: {e}"))
}

/// Adds up slots; `None` if there are none to add.
pub fn slots(parts: impl IntoIterator<Item = Slots>) -> Option<Slots> {
    parts.into_iter().reduce(|a, b| Slots {
        met: a.met.saturating_add(b.met),
        late: a.late.saturating_add(b.late),
        missed: a.missed.saturating_add(b.missed),
    })
}

/// Returns exactly how many samples are above an edge of the bands; `None` if it is not an edge.
pub fn above(bands: &[Band], edge: i64) -> Option<u64> {
    let at = bands.iter().position(|band| band.upto == Some(edge))?;
    Some(bands.iter().skip(at + 1).map(|band| band.count).fold(0, u64::saturating_add))
}

/// Returns the same for several summaries together; `None` if one of them lacks the edge.
pub fn all_above<'a>(parts: impl IntoIterator<Item = &'a Summary>, edge: i64) -> Option<u64> {
    parts.into_iter().map(|part| above(&part.bands, edge)).try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{summarise, tests::of};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pooling_equals_measuring_together(
            parts in prop::collection::vec(prop::collection::vec(0i64..1_000_000, 0..60), 1..6),
        ) {
            let all: Vec<i64> = parts.concat();
            let (exact, histogram) = of(&all);
            let whole = summarise(&exact, &histogram, Vec::new());
            let summaries: Vec<Summary> = parts.iter().map(|part| { let (e, h) = of(part); summarise(&e, &h, Vec::new()) }).collect();
            let pooled = super::summaries(&summaries, &histogram, 0);
            prop_assert_eq!((pooled.count, pooled.min, pooled.max), (whole.count, whole.min, whole.max));
            prop_assert_eq!(&pooled.quantiles, &whole.quantiles);
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * b.abs().max(1.0),
                (a, b) => a == b,
            };
            prop_assert!(near(pooled.mean, whole.mean) && near(pooled.sd, whole.sd), "{:?} {:?}", pooled, whole);
        }
    }

    #[test]
    fn a_limit_that_is_an_edge_is_counted_exactly() {
        let bands = [(Some(10), 5), (Some(100), 3), (None, 2)].map(|(upto, count)| Band { upto, count });
        assert_eq!(above(&bands, 10), Some(5));
        assert_eq!(above(&bands, 100), Some(2));
        assert_eq!(above(&bands, 50), None);
    }
}
