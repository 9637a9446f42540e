//! Values that a tool truncated to its unit: k represents everything from k units to below k + 1.

use crate::{
    doubt::{Doubt, Figure},
    format::Unit,
    imported::{Bin, Interval, Series},
    mean,
    text::many,
};
use anyhow::{Context, Result, ensure};
use std::num::NonZero;

/// The unit of truncated values, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors(NonZero<u32>);

/// A thread's figures as cyclictest and similar tools print them.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Values with their counts, ascending.
    pub rows: Vec<(i64, u64)>,
    /// Whether there is a distribution at all.
    pub collected: bool,
    /// The first value that has no row, where the rows end.
    pub end: i64,
    /// How many samples were beyond the rows; `None` if unknown.
    pub over: Option<u64>,
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
    /// The least and the greatest possible mean of the truncated values.
    pub mean: Option<[f64; 2]>,
    /// The number of samples, if the file states it in addition to the rows.
    pub count: Option<u64>,
    /// The number of samples in its rows, if the file states it.
    pub total: Option<u64>,
    /// Whether latido made the rows from finer bins. Then values at an edge are one row further up, and extremes and mean are those of the
    /// original values.
    pub converted: bool,
}

impl Figures {
    /// Returns the range that the rows allow for the mean of the truncated values, if they determine it.
    fn mean_of_rows(&self, [from, to]: [i64; 2]) -> Option<[f64; 2]> {
        let over = self.over.filter(|_| self.collected)?;
        let beyond = if over == 0 { [(0, 0, 0); 2] } else { mean::beyond(self.end, self.max?, over) };
        let within =
            self.rows.iter().map(|(value, count)| (value.saturating_add(from), value.saturating_add(to), *count));
        mean::of(within.chain(beyond))
    }
}

impl Floors {
    /// Makes the floors of a unit.
    pub fn of(unit: Unit) -> Self {
        let ns = u32::try_from(unit.ns()).ok().and_then(NonZero::new);
        Self(ns.unwrap_or(NonZero::<u32>::MIN))
    }

    /// Returns how many ns one unit has.
    pub fn ns(self) -> i64 {
        i64::from(self.0.get())
    }

    /// Returns the width of a bin, if it is more than one ns.
    pub fn width(self) -> Option<u64> {
        (self.0.get() > 1).then_some(u64::from(self.0.get()))
    }

    /// Returns the interval that a truncated value represents.
    ///
    /// # Errors
    /// It is beyond 2^63 ns.
    pub fn interval(self, value: i64) -> Result<Interval> {
        let low = value.checked_mul(self.ns()).context("a value beyond 2^63 ns")?;
        Ok(Interval::between(low, low.checked_add(self.ns() - 1).context("a value beyond 2^63 ns")?))
    }

    /// Returns the range of the mean, given that of the truncated values.
    fn mean(self, [low, high]: [f64; 2]) -> [f64; 2] {
        let unit = self.ns() as f64;
        [low * unit, high * unit + (unit - 1.0)]
    }

    /// Returns the series of a thread: its bins, count and figures, each checked against the others. It leaves out what does not fit, and
    /// adds a doubt.
    ///
    /// # Errors
    /// The smallest value is above the largest, or a value is beyond 2^63 ns.
    pub fn series(self, mut figures: Figures) -> Result<Series> {
        let within = figures.rows.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        let within = within.context("more than 2^64 samples")?;
        let counted =
            figures.over.map(|over| within.checked_add(over).context("more than 2^64 samples")).transpose()?;
        let mut doubts = Vec::new();
        figures.settle_count(within, counted, &mut doubts);
        let count = figures.count.or(counted.filter(|_| figures.collected));
        if count == Some(0) {
            (figures.min, figures.max, figures.mean) = (None, None, None);
        }
        if let (Some(min), Some(max)) = (figures.min, figures.max) {
            ensure!(min <= max && max >= 0, "its smallest value is {min} and its largest {max}");
        }
        let cut = figures.settle_extremes(&mut doubts);
        let slack = i64::from(figures.converted);
        let allowed = figures.mean_of_rows([-slack, 0]);
        // The mean in an export may be that of the bins' upper ends.
        let open = (slack > 0 && allowed.is_some()).then_some(f64::NEG_INFINITY);
        let printed = figures.mean.map(|[low, high]| [open.unwrap_or(low - slack as f64), high]);
        let mean = mean::settled(printed, allowed, &mut doubts);
        let Figures { rows, collected, end, over, min, max, .. } = figures;
        let mut bins = Vec::with_capacity(rows.len() + 1);
        for (value, count) in rows {
            let Interval { low, high } = self.interval(value)?;
            bins.push(Bin { low, high, count });
        }
        if let Some(over) = over.filter(|over| *over > 0 && collected) {
            let low = self.interval(end)?.low;
            let high = max.map(|max| self.interval(max)).transpose()?.and_then(|max| max.high);
            bins.push(Bin { low, high, count: over });
        }
        Ok(Series {
            unit: "ns",
            count,
            min: min.map(|min| self.interval(min)).transpose()?,
            max: max.map(|max| self.interval(max)).transpose()?,
            mean: mean.map(|mean| self.mean(mean)),
            cut: cut || collected && over.is_none(),
            bins,
            width: self.width(),
            doubts,
            ..Series::default()
        })
    }
}

impl Figures {
    /// Leaves out the rows if their sum is not the count in the file: latido cannot tell which of the two is wrong.
    fn settle_count(&mut self, within: u64, counted: Option<u64>, doubts: &mut Vec<Doubt>) {
        if !self.collected {
            return;
        }
        let over = self.over.unwrap_or(0);
        let why = match (self.total, counted, self.count) {
            (Some(total), ..) if total != within => {
                format!("its rows have {}, but its total is {total}", many(within, "sample"))
            }
            (_, Some(counted), Some(count)) if counted != count => {
                let (within, are) = (many(within, "sample"), if over == 1 { "is" } else { "are" });
                format!("its rows have {within} and {over} {are} beyond them, but it counts {count}")
            }
            _ => return,
        };
        doubts.push(Doubt::of(Figure::Rows, why));
        let Self { min, max, mean, converted, .. } = *self;
        *self = Self { min, max, mean, converted, ..Self::default() };
    }

    /// Leaves out the smallest and the largest value if the rows contradict them. Returns whether the rows may then lack their end.
    fn settle_extremes(&mut self, doubts: &mut Vec<Doubt>) -> bool {
        let slack = i64::from(self.converted);
        let (first, last) = (self.rows.first().map(|(value, _)| *value), self.rows.last().map(|(value, _)| *value));
        let mut cut = false;
        if let (Some(min), Some(first)) = (self.min, first)
            && !(0..=slack).contains(&first.saturating_sub(min))
        {
            doubts.push(Doubt::of(Figure::Smallest, format!("it is {min}, but its rows begin at {first}")));
            self.min = None;
        }
        if let (Some(min), None, Some(1..), true) = (self.min, first, self.over, self.collected)
            && min.saturating_add(slack) < self.end
        {
            doubts.push(Doubt::of(Figure::Smallest, format!("it is {min}, but all samples lie beyond the rows")));
            self.min = None;
        }
        if let (Some(max), Some(last), Some(0)) = (self.max, last, self.over)
            && !(0..=slack).contains(&last.saturating_sub(max))
        {
            doubts.push(Doubt::of(Figure::Largest, format!("it is {max}, but its rows end at {last}")));
            (self.max, cut) = (None, true);
        }
        if let (Some(max), Some(1..), true) = (self.max, self.over, self.collected)
            && max < self.end
        {
            doubts.push(Doubt::of(Figure::Largest, format!("it is {max}, but samples lie beyond the rows")));
            (self.max, cut) = (None, true);
        }
        cut
    }
}
