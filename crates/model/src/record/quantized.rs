//! What is known of samples that another tool counted in bins: figures between two values, bins as printed.

use super::{QUANTILES, Summary};
use crate::ranks::{rank, supported};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A range from one value to another, both inclusive; without an upper limit if the second is absent. Stored as `[low, high]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between(pub i64, pub Option<i64>);

impl Between {
    /// Returns the range of one value.
    pub fn exactly(value: i64) -> Self {
        Self(value, Some(value))
    }

    /// Whether the range is a single value.
    pub fn is_exact(self) -> bool {
        self.1 == Some(self.0)
    }

    /// Whether the whole range is at most a limit; `None` if only a part of it is.
    pub fn within(self, limit: i64) -> Option<bool> {
        match self.1 {
            Some(high) if high <= limit => Some(true),
            _ if self.0 > limit => Some(false),
            _ => None,
        }
    }

    /// Combines two ranges: `of` picks the smaller, or the larger, of their ends. If `open`, a missing upper end stays missing.
    fn both(self, other: Self, of: fn(i64, i64) -> i64, open: bool) -> Self {
        let high = match (self.1, other.1) {
            (Some(a), Some(b)) => Some(of(a, b)),
            (one, other) if !open => one.or(other),
            _ => None,
        };
        Self(of(self.0, other.0), high)
    }
}

/// The figures of a distribution as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The smallest sample; absent without samples, or if it is unknown.
    pub min: Option<Between>,
    /// The largest.
    pub max: Option<Between>,
    /// The mean.
    pub mean: Option<(f64, f64)>,
    /// The order statistics; null if the bins do not give them.
    pub quantiles: BTreeMap<String, Option<Between>>,
    /// Whether the number of samples is unknown. The count is then the least number that there must have been.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
}

/// How a tool counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantized {
    /// The width of a bin in the series' unit; absent if values are exact.
    pub width: Option<u64>,
    /// Which value of a bin the tool prints.
    pub edge: Edge,
    /// The tool never recorded samples below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<i64>,
    /// Whether the file ends before its bins do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Which value represents a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// The bin's smallest value.
    #[default]
    Lower,
    /// The bin's largest value, or the first value beyond it.
    Upper,
    /// The value in the middle.
    Middle,
}

/// A number of samples from one value to another, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest value.
    pub low: i64,
    /// The largest value; absent for samples beyond the last bin.
    pub high: Option<i64>,
    /// The number of samples.
    pub count: u64,
}

/// Merges bins of several distributions: ascending, with the counts of equal bins added up.
pub fn merged(mut bins: Vec<Bin>) -> Vec<Bin> {
    bins.sort_by_key(|bin| (bin.low, bin.high.unwrap_or(i64::MAX)));
    bins.dedup_by(|next, kept| {
        let alike = (next.low, next.high) == (kept.low, kept.high);
        if alike {
            kept.count = kept.count.saturating_add(next.count);
        }
        alike
    });
    bins
}

/// Returns how many samples the bins contain.
pub fn counted(bins: &[Bin]) -> u64 {
    bins.iter().map(|bin| bin.count).fold(0, u64::saturating_add)
}

/// Returns the range of the order statistic ceil(n p) of all samples in bins; `None` if fewer than 1/(1-p) samples support it.
///
/// The k-th of the samples is at least the k-th of the bins' lower ends and at most the k-th of their upper ends.
pub fn quantile(bins: &[Bin], p: f64) -> Option<Between> {
    let count = counted(bins);
    if count == 0 || !supported(count, p) { None } else { at_rank(bins, rank(count, p)) }
}

/// Returns the range of the sample with this rank, from 1; `None` beyond the last.
pub fn at_rank(bins: &[Bin], rank: u64) -> Option<Between> {
    let low = end_at(bins, rank, |bin| bin.low)?;
    let high = end_at(bins, rank, |bin| bin.high.unwrap_or(i64::MAX))?;
    Some(Between(low, (high != i64::MAX).then_some(high)))
}

/// Returns the end that the sample of a rank has, with the bins sorted by this end. Most bins are sorted by both of their ends already:
/// those need no copy.
fn end_at(bins: &[Bin], rank: u64, end: impl Fn(&Bin) -> i64) -> Option<i64> {
    let mut seen = 0u64;
    let mut reached = |count: u64| {
        seen = seen.saturating_add(count);
        seen >= rank
    };
    if bins.is_sorted_by_key(&end) {
        return bins.iter().find(|bin| reached(bin.count)).map(end);
    }
    let mut ends: Vec<(i64, u64)> = bins.iter().map(|bin| (end(bin), bin.count)).collect();
    ends.sort_unstable();
    ends.into_iter().find(|(_, count)| reached(*count)).map(|(end, _)| end)
}

/// Returns how many samples in bins are above an edge: at least, and at most.
pub fn above(bins: &[Bin], edge: i64) -> (u64, u64) {
    let of = |beyond: &dyn Fn(&Bin) -> bool| {
        bins.iter().filter(|bin| beyond(bin)).map(|bin| bin.count).fold(0, u64::saturating_add)
    };
    (of(&|bin| bin.low > edge), of(&|bin| bin.high.is_none_or(|high| high > edge)))
}

impl Bounds {
    /// Fills in the quantiles that every summary states, from bins.
    #[must_use]
    pub fn with_quantiles(self, bins: &[Bin]) -> Self {
        let quantiles = QUANTILES.iter().map(|(key, p)| ((*key).to_owned(), quantile(bins, *p)));
        Self { quantiles: quantiles.collect(), ..self }
    }

    /// Returns the bounds of a distribution whose figures are exact.
    pub fn exact(summary: &Summary) -> Self {
        let quantiles = summary.quantiles.iter().map(|(key, value)| (key.clone(), value.map(Between::exactly)));
        Self {
            min: summary.min.map(Between::exactly),
            max: summary.max.map(Between::exactly),
            mean: summary.mean.map(|mean| (mean, mean)),
            quantiles: quantiles.collect(),
            uncounted: false,
        }
    }

    /// Pools several distributions with their numbers of samples, without quantiles: the extremes are those of all, the mean is weighted. A
    /// figure that one distribution with samples lacks is unknown for all.
    pub fn pooled(parts: &[(u64, Self)]) -> Self {
        let parts: Vec<&(u64, Self)> = parts.iter().filter(|(count, _)| *count > 0).collect();
        let all = |of: fn(&Self) -> Option<Between>, pick: fn(i64, i64) -> i64, open: bool| {
            let each: Option<Vec<Between>> = parts.iter().map(|(_, bounds)| of(bounds)).collect();
            each?.into_iter().reduce(|a, b| a.both(b, pick, open))
        };
        let n: f64 = parts.iter().map(|(count, _)| *count as f64).sum();
        // A mean over an unknown number of samples has no weight compared with others.
        let weighted = parts.len() < 2 || parts.iter().all(|(_, bounds)| !bounds.uncounted);
        let means: Option<Vec<(f64, f64, f64)>> =
            parts.iter().map(|(count, bounds)| bounds.mean.map(|(low, high)| (low, high, *count as f64 / n))).collect();
        let mean = means.filter(|means| weighted && !means.is_empty()).map(|means| {
            means.iter().fold((0.0, 0.0), |(low, high), (a, b, share)| (low + a * share, high + b * share))
        });
        Self {
            min: all(|bounds| bounds.min, i64::min, false),
            max: all(|bounds| bounds.max, i64::max, true),
            mean,
            quantiles: BTreeMap::new(),
            uncounted: parts.iter().any(|(_, bounds)| bounds.uncounted),
        }
    }
}

impl Summary {
    /// Builds the figures of samples in bins: each key has the upper end of its bounds.
    pub fn bounded(count: u64, bounds: Bounds) -> Self {
        let high = |one: &Option<Between>| one.and_then(|one| one.1);
        Self {
            count,
            min: high(&bounds.min),
            max: high(&bounds.max),
            mean: bounds.mean.map(|(_, high)| high),
            sd: None,
            quantiles: bounds.quantiles.iter().map(|(key, value)| (key.clone(), high(value))).collect(),
            bands: Vec::new(),
            bounds: Some(bounds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any samples and any bins, each figure is within its bounds, also when pooled.
        #[test]
        fn the_truth_lies_within(
            parts in prop::collection::vec((1i64..50, prop::collection::vec(-100i64..1000, 1..80)), 1..4),
            edge in -100i64..1000,
        ) {
            let mut bins = Vec::new();
            let mut all = Vec::new();
            for (width, values) in &parts {
                bins.extend(values.iter().map(|value| {
                    let low = value.div_euclid(*width) * width;
                    Bin { low, high: Some(low + width - 1), count: 1 }
                }));
                all.extend(values.clone());
            }
            let bins = merged(bins);
            all.sort_unstable();
            prop_assert_eq!(counted(&bins), all.len() as u64);
            for (_, p) in QUANTILES {
                let Some(Between(low, high)) = quantile(&bins, *p) else {
                    prop_assert!(all.len() as f64 * (1.0 - p) < 1.0, "p{p} of {}", all.len());
                    continue;
                };
                let truth = all[(all.len() as f64 * p - 1e-9).ceil() as usize - 1];
                prop_assert!(low <= truth && truth <= high.unwrap(), "{low} {truth} {high:?}");
            }
            let (least, most) = above(&bins, edge);
            let truth = all.iter().filter(|value| **value > edge).count() as u64;
            prop_assert!(least <= truth && truth <= most);
        }
    }

    #[test]
    fn what_one_does_not_know_is_not_known_of_all() {
        let known = |low, high| Bounds {
            min: Some(Between(low, Some(low))),
            max: Some(Between(high, None)),
            ..Bounds::default()
        };
        let pooled = Bounds::pooled(&[(2, known(1, 5)), (3, known(0, 9))]);
        assert_eq!((pooled.min, pooled.max, pooled.mean), (Some(Between(0, Some(0))), Some(Between(9, None)), None));
        assert_eq!(Bounds::pooled(&[(2, known(1, 5)), (1, Bounds::default())]).max, None);
    }
}
