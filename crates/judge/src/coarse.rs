//! Samples that another tool counted in bins: a figure is only known as a range, and a bound inside the range decides nothing.

use latido_model::{
    plan::{Op, Statistic},
    record::{
        Between, Bin, Bounds,
        quantized::{above, counted, quantile},
    },
};

/// The bins of a distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bins {
    /// The bins, ascending.
    pub bins: Vec<Bin>,
    /// Whether the bins contain all samples.
    pub whole: bool,
    /// The width of the widest bin in the stored unit; absent where values are exact.
    pub width: Option<u64>,
}

impl Bins {
    /// Returns the least and the greatest possible number of samples above an edge; `None` where not all samples are in the bins.
    pub fn above(&self, edge: i64) -> Option<(u64, u64)> {
        self.whole.then(|| above(&self.bins, edge))
    }

    /// Returns the range of a quantile.
    pub fn quantile(&self, p: f64) -> Option<Between> {
        quantile(if self.whole { &self.bins } else { &[] }, p)
    }

    /// Merges the bins, if each has some.
    pub fn merged<'a>(all: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let all: Option<Vec<&Self>> = all.into_iter().collect();
        let all = all.filter(|all| !all.is_empty())?;
        let bins: Vec<Bin> = all.iter().flat_map(|one| one.bins.iter().copied()).collect();
        Some(Self {
            bins: latido_model::record::quantized::merged(bins),
            whole: all.iter().all(|one| one.whole),
            width: all.iter().filter_map(|one| one.width).max(),
        })
    }

    /// Marks the bins as incomplete unless they contain exactly `count` samples.
    #[must_use]
    pub fn of_all(self, count: u64) -> Self {
        Self { whole: self.whole && counted(&self.bins) == count, ..self }
    }
}

/// The range of a figure; without an upper bound the second value is absent.
pub type Reach = (f64, Option<f64>);

/// Returns the range of a statistic; `None` where nothing is known of it.
pub fn reach(statistic: Statistic, count: u64, bounds: &Bounds, bins: &Bins) -> Option<Reach> {
    let between = |one: Between| (one.0 as f64, one.1.map(|high| high as f64));
    let counts = |(least, most): (u64, u64)| (least as f64, Some(most as f64));
    match statistic {
        Statistic::Min => bounds.min.map(between),
        Statistic::Max => bounds.max.map(between),
        Statistic::Mean => bounds.mean.map(|(low, high)| (low, Some(high))),
        Statistic::Quantile(p) => bins.quantile(p).map(between),
        Statistic::Count => Some((count as f64, (!bounds.uncounted).then_some(count as f64))),
        Statistic::Above(edge) => bins.above(edge).map(counts),
        Statistic::Share(edge) => {
            let (least, most) = bins.above(edge).filter(|_| count > 0)?;
            let share = |above: u64| count.saturating_sub(above) as f64 / count as f64;
            Some((share(most), Some(share(least))))
        }
        Statistic::Sd | Statistic::Variance | Statistic::Missed | Statistic::Late => None,
    }
}

/// Whether a condition holds for the whole range (true) or for no part of it (false); `None` where it holds for a part.
pub fn holds(op: Op, (low, high): Reach, bound: f64) -> Option<bool> {
    let of = |value: f64| match op {
        Op::Less => value < bound,
        Op::AtMost => value <= bound,
        Op::Greater => value > bound,
        Op::AtLeast => value >= bound,
    };
    let (low, high) = (of(low), of(high.unwrap_or(f64::INFINITY)));
    (low == high).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_inside_decides_nothing() {
        let reach = (99_000.0, Some(99_999.0));
        assert_eq!(holds(Op::AtMost, reach, 99_999.0), Some(true));
        assert_eq!(holds(Op::Less, reach, 99_500.0), None);
        assert_eq!(holds(Op::Less, reach, 99_000.0), Some(false));
        assert_eq!(holds(Op::Less, (5.0, None), 9.0), None, "nothing bounds it");
        assert_eq!(holds(Op::Greater, (10.0, None), 9.0), Some(true));
    }

    #[test]
    fn what_is_not_whole_has_no_counts() {
        let bins = vec![Bin { low: 0, high: Some(9), count: 4 }];
        let whole = Bins { bins: bins.clone(), whole: true, width: Some(10) };
        assert_eq!((whole.above(9), whole.above(4)), (Some((0, 0)), Some((0, 4))));
        assert_eq!(whole.of_all(5).above(4), None);
        assert_eq!(Bins::merged([Some(&Bins::default()), None]), None);
    }
}
