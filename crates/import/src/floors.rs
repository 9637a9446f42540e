//! Values that a tool truncated to its unit: k stands for all from k units to below k + 1.

use crate::{
    format::Unit,
    imported::{Bin, Interval, Series},
    mean,
};
use anyhow::{Context, Result, ensure};
use std::num::NonZero;

/// The unit of truncated values, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors(NonZero<u32>);

/// A thread's figures as cyclictest and its like print them.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Values and how often they came, ascending.
    pub rows: Vec<(i64, u64)>,
    /// Whether there is a distribution at all.
    pub collected: bool,
    /// The first value that has no row, where the rows end.
    pub end: i64,
    /// How many were beyond the rows; absent where nobody knows.
    pub over: Option<u64>,
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
    /// The mean of the truncated values, from and to.
    pub mean: Option<[f64; 2]>,
    /// How many samples, where the file says so beside the rows.
    pub count: Option<u64>,
    /// Whether latido made the rows of finer bins: those at an edge are then one further up, and extremes and mean are of
    /// the values themselves.
    pub converted: bool,
}

impl Figures {
    /// What the rows allow for the mean of the truncated values, where they tell.
    fn mean_of_rows(&self, [from, to]: [i64; 2]) -> Option<[f64; 2]> {
        let over = self.over.filter(|_| self.collected)?;
        let beyond = if over == 0 { [(0, 0, 0); 2] } else { mean::beyond(self.end, self.max?, over) };
        let within =
            self.rows.iter().map(|(value, count)| (value.saturating_add(from), value.saturating_add(to), *count));
        mean::of(within.chain(beyond))
    }
}

impl Floors {
    /// Of values in a unit.
    pub fn of(unit: Unit) -> Self {
        let ns = u32::try_from(unit.ns()).ok().and_then(NonZero::new);
        Self(ns.unwrap_or(NonZero::<u32>::MIN))
    }

    /// How many ns one unit has.
    pub fn ns(self) -> i64 {
        i64::from(self.0.get())
    }

    /// The width of a bin, where it is more than one value.
    pub fn width(self) -> Option<u64> {
        (self.0.get() > 1).then_some(u64::from(self.0.get()))
    }

    /// What a value stands for.
    ///
    /// # Errors
    /// It is beyond 2^63 ns.
    pub fn interval(self, value: i64) -> Result<Interval> {
        let low = value.checked_mul(self.ns()).context("a value beyond 2^63 ns")?;
        Ok(Interval::between(low, low.checked_add(self.ns() - 1).context("a value beyond 2^63 ns")?))
    }

    /// Where the mean lies, given that of the truncated values.
    fn mean(self, [low, high]: [f64; 2]) -> [f64; 2] {
        let unit = self.ns() as f64;
        [low * unit, high * unit + (unit - 1.0)]
    }

    /// The series of a thread: its bins, count and figures, each checked against the others.
    ///
    /// # Errors
    /// What contradicts what.
    pub fn series(self, figures: Figures) -> Result<Series> {
        let slack = i64::from(figures.converted);
        let allowed = figures.mean_of_rows([-slack, 0]);
        let Figures { rows, collected, end, over, min, max, mean, count, .. } = figures;
        let within = rows.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        let within = within.context("more than 2^64 samples")?;
        let counted = over.map(|over| within.checked_add(over).context("more than 2^64 samples")).transpose()?;
        if let (Some(counted), Some(count), true) = (counted, count, collected) {
            ensure!(counted == count, "its rows have {within} samples and {over:?} beyond, but it counts {count}");
        }
        let count = count.or(counted.filter(|_| collected));
        let none = count == Some(0);
        let (min, max, mean) = if none { (None, None, None) } else { (min, max, mean) };
        if let (Some(min), Some(max)) = (min, max) {
            ensure!(min <= max && max >= 0, "its smallest value is {min} and its largest {max}");
        }
        let first_row = rows.first().map(|(value, _)| *value);
        let last_row = rows.last().map(|(value, _)| *value);
        if let (Some(min), Some(first)) = (min, first_row) {
            let begins = (0..=slack).contains(&first.saturating_sub(min));
            ensure!(begins, "its smallest value is {min}, but its rows begin at {first}");
        }
        if let (Some(max), Some(last), Some(0)) = (max, last_row, over) {
            let ends = (0..=slack).contains(&last.saturating_sub(max));
            ensure!(ends, "its largest value is {max}, but its rows end at {last}");
        }
        if let (Some(min), None, Some(1..), true) = (min, first_row, over, collected) {
            ensure!(
                min.saturating_add(slack) >= end,
                "its smallest value is {min}, but its samples lie beyond its last row"
            );
        }
        // The mean of an export may be the upper end of what was known.
        let open = (slack > 0 && allowed.is_some()).then_some(f64::NEG_INFINITY);
        let printed = mean.map(|[low, high]| [open.unwrap_or(low - slack as f64), high]);
        let mean = printed.map(|printed| mean::agreed(printed, allowed)).transpose()?;
        let mut bins = Vec::with_capacity(rows.len() + 1);
        for (value, count) in rows {
            let Interval { low, high } = self.interval(value)?;
            bins.push(Bin { low, high, count });
        }
        if let Some(over) = over.filter(|over| *over > 0 && collected) {
            let low = self.interval(end)?.low;
            let high = max.map(|max| self.interval(max)).transpose()?.and_then(|max| max.high);
            ensure!(high.is_none_or(|high| high >= low), "samples beyond its last row, but its largest is {max:?}");
            bins.push(Bin { low, high, count: over });
        }
        Ok(Series {
            unit: "ns",
            count,
            min: min.map(|min| self.interval(min)).transpose()?,
            max: max.map(|max| self.interval(max)).transpose()?,
            mean: mean.map(|mean| self.mean(mean)),
            cut: collected && over.is_none(),
            bins,
            width: self.width(),
            ..Series::default()
        })
    }
}
