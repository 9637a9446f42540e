//! Puts repeats into the coarsest bins among them: latido compares in microseconds what another tool counted in microseconds.

use super::{Figure, Observed, Quantity};
use latido_model::plan::Statistic;
use std::collections::BTreeMap;

/// Puts every quantity into the widest bins that any of its repeats has: values become the upper ends of their bins. Means stay, because
/// they come from the samples.
pub fn level<'a>(statistic: Statistic, all: impl Iterator<Item = &'a mut Observed>) {
    let mut all: Vec<&mut Observed> = all.collect();
    let mut widest: BTreeMap<(String, String), u64> = BTreeMap::new();
    let key = |one: &Quantity| (one.name.clone(), one.unit.clone());
    for quantity in all.iter().flat_map(|one| &one.quantities) {
        if let Some(width) = quantity.width {
            let known = widest.entry(key(quantity)).or_default();
            *known = width.max(*known);
        }
    }
    for quantity in all.iter_mut().flat_map(|one| &mut one.quantities) {
        let Some(width) = widest.get(&key(quantity)).copied().and_then(|width| i64::try_from(width).ok()) else {
            continue;
        };
        if quantity.width.and_then(|own| i64::try_from(own).ok()) == Some(width) {
            continue;
        }
        let order = matches!(statistic, Statistic::Min | Statistic::Max | Statistic::Quantile(_));
        if let (true, Ok(Figure::Value(value))) = (order, &mut quantity.figure) {
            *value = upper(*value as i64, width) as f64;
        }
        quantity.samples = binned(&quantity.samples, width);
    }
}

/// Returns the upper end of the bin that contains a value.
fn upper(value: i64, width: i64) -> i64 {
    value.div_euclid(width).saturating_mul(width).saturating_add(width - 1)
}

/// Puts values with their counts into bins.
fn binned(samples: &[(i64, u64)], width: i64) -> Vec<(i64, u64)> {
    let mut bins: Vec<(i64, u64)> = Vec::new();
    for (value, count) in samples {
        let end = upper(*value, width);
        match bins.last_mut() {
            Some((last, sum)) if *last == end => *sum = sum.saturating_add(*count),
            _ => bins.push((end, *count)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_to_the_ends_of_their_bins() {
        assert_eq!(
            [743_000, 743_999, 744_000, 0, -1].map(|value| upper(value, 1000)),
            [743_999, 743_999, 744_999, 999, -1]
        );
        assert_eq!(binned(&[(1, 2), (999, 3), (1000, 4)], 1000), [(999, 5), (1999, 4)]);
        assert_eq!(upper(i64::MAX, 1000), i64::MAX);
    }
}
