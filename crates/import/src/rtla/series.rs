//! Turns a column of rtla's histogram into a series: compares the rows with the footer, and drops what latido does not believe.

use super::{Column, Histogram};
use crate::{
    doubt::{self, Doubt, Figure},
    imported::{Bin, Interval, Series},
    mean,
    text::many,
};
use anyhow::{Context, Result};

impl Histogram {
    /// Returns the interval, `width` units wide, that one printed value stands for.
    fn interval(&self, value: i64, width: i64) -> Result<Interval> {
        let low = value.checked_mul(self.unit).context("a value beyond 2^63 ns")?;
        let high = width.checked_mul(self.unit).and_then(|wide| low.checked_add(wide - 1));
        Ok(Interval::between(low, high.context("a value beyond 2^63 ns")?))
    }

    /// Returns the range that a column's rows allow for the mean of the truncated values, if they determine one.
    fn mean_of_rows(&self, column: &Column) -> Option<[f64; 2]> {
        let over = column.over.filter(|_| self.width > 0)?;
        let beyond = if over == 0 { [(0, 0, 0); 2] } else { mean::beyond(self.last?, column.max?, over) };
        let rows = column.rows.iter().map(|(value, count)| (*value, value.saturating_add(self.width - 1), *count));
        mean::of(rows.chain(beyond))
    }

    /// Returns the name of the unit.
    fn word(&self) -> &'static str {
        if self.unit == 1 { "ns" } else { "us" }
    }

    /// Returns the bins of a column's rows.
    fn bins(&self, column: &Column, max: Option<Interval>) -> Result<Vec<Bin>> {
        let one = |(value, count): &(i64, u64)| {
            Ok(match self.width {
                0 => {
                    Bin { low: 0, high: max.and_then(|max| max.high).filter(|_| column.over == Some(0)), count: *count }
                }
                width => {
                    let Interval { low, high } = self.interval(*value, width)?;
                    Bin { low, high, count: *count }
                }
            })
        };
        column.rows.iter().map(one).collect()
    }

    /// Adds the bin of the samples above the rows, and drops extremes that contradict the bins.
    fn beyond(
        &self,
        column: &Column,
        bins: &mut Vec<Bin>,
        min: &mut Option<Interval>,
        max: &mut Option<Interval>,
        doubts: &mut Vec<Doubt>,
    ) -> Result<()> {
        let Some(more) = column.over.filter(|over| *over > 0 && (doubts.is_empty() || !bins.is_empty())) else {
            if column.over == Some(0) {
                doubt::ends(bins, min, max, doubts);
            }
            return Ok(());
        };
        let low = self.last.unwrap_or(0).checked_mul(self.unit).context("a value beyond 2^63 ns")?;
        // rtla does not print where these samples begin: at or above the last row, which may be the same bin.
        let shared = bins.pop_if(|bin| bin.low >= low).map_or(0, |bin| bin.count);
        let count = more.checked_add(shared).context("more than 2^64 samples")?;
        bins.push(Bin { low, high: None, count });
        doubt::ends(bins, min, max, doubts);
        if let Some(last) = bins.last_mut() {
            last.high = max.and_then(|max| max.high);
        }
        Ok(())
    }

    /// Builds the series of a column, so that its bins and count add up. `wide` is how far min and max may be off, in the unit.
    ///
    /// # Errors
    /// A value is beyond 2^63 ns, or there are more than 2^64 samples.
    pub fn series(&self, column: &Column, wide: i64) -> Result<Series> {
        let Column { rows, over, count, min, max, .. } = column;
        let mut counted = over.unwrap_or(0);
        for (_, count) in rows {
            counted = counted.checked_add(*count).context("more than 2^64 samples")?;
        }
        let mut doubts = Vec::new();
        let sums = count.is_none_or(|count| count == counted);
        if !sums {
            let (counted, count) = (many(counted, "sample"), count.unwrap_or(0));
            let why = format!("its rows and what is over them have {counted}, but it counts {count}");
            doubts.push(Doubt::of(Figure::Rows, why));
        }
        let some = *count != Some(0);
        let limit = |value: &Option<i64>| value.filter(|_| some).map(|value| self.interval(value, wide)).transpose();
        let (mut min, mut max) = (limit(min)?, limit(max)?);
        if let (Some(least), Some(most)) = (min, max)
            && !(least.low >= 0 && least.low <= most.low)
        {
            let why = format!(
                "the smallest is {} and the largest {} {}",
                least.low / self.unit,
                most.low / self.unit,
                self.word()
            );
            doubts.extend([Figure::Smallest, Figure::Largest].map(|figure| Doubt::of(figure, why.clone())));
            (min, max) = (None, None);
        }
        let mut bins = if sums { self.bins(column, max)? } else { Vec::new() };
        self.beyond(column, &mut bins, &mut min, &mut max, &mut doubts)?;
        let unit = self.unit as f64;
        let printed = column.avg.filter(|_| some).map(|(hundredths, decimals)| {
            let (mean, half) = (hundredths as f64 / 100.0, if decimals { 0.005 } else { 0.0 });
            // rtla divided a mean without decimals in whole numbers.
            [(mean - half).max(0.0), mean + half + if decimals { 0.0 } else { 1.0 }]
        });
        // Without a largest value nothing bounds the samples above the rows.
        let bounded = sums && (max.is_some() || *over == Some(0));
        let allowed = if bounded { self.mean_of_rows(column) } else { None };
        let agreed = mean::settled(printed, allowed, &mut doubts);
        // The mean is that of truncated values; the kernel's buckets are off by their width.
        let mean = agreed.map(|[low, high]| [low * unit, (high + wide as f64) * unit]);
        let width = self.width.max(1).checked_mul(self.unit).and_then(|width| u64::try_from(width).ok());
        Ok(Series {
            unit: "ns",
            cpu: Some(column.cpu),
            count: count.filter(|_| sums),
            min,
            mean,
            cut: over.is_none() || count.is_none() || sums && some && column.max.is_some() && max.is_none(),
            max,
            bins,
            width: width.filter(|width| *width > 1),
            doubts,
            ..Series::default()
        })
    }
}
