//! The one figure of a repeat that latido compares: a value, or a count with its exposure.

use crate::{
    coarse::{Bins, Reach, reach},
    repeat::Pooled,
    statistics::pool,
    words,
};
use latido_model::{
    plan::{Statistic, expect::NS},
    summary::{self, Counted, Exact},
    units::human,
};

/// A figure of one repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A value in the unit of the quantity; a share has no unit.
    Value(f64),
    /// A count over an exposure: hours of a thread, or millions of samples.
    Count {
        /// The count.
        count: u64,
        /// The exposure.
        exposure: f64,
    },
}

impl Figure {
    /// Returns the value, or the rate.
    pub fn value(self) -> f64 {
        match self {
            Self::Value(value) => value,
            Self::Count { count, exposure } => count as f64 / exposure,
        }
    }
}

/// The unit of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A stored unit.
    In(String),
    /// A share, 0 to 1.
    Share,
    /// Counts per hour or per million.
    Per(&'static str),
}

impl Measure {
    /// Returns the unit for a statistic of a quantity.
    pub fn of(statistic: Statistic, unit: &str, continuous: bool) -> Self {
        match (statistic, per(statistic, continuous)) {
            (Statistic::Share(_), _) => Self::Share,
            (_, Some(per)) => Self::Per(per),
            (_, None) => Self::In(unit.to_owned()),
        }
    }

    /// Formats a figure, or a difference of two, for people.
    pub fn text(&self, value: f64) -> String {
        let text = match self {
            Self::In(unit) => words::value(value, unit),
            Self::Share => words::trimmed(value),
            Self::Per(per) => format!("{} {per}", words::plain(value)),
        };
        text.replace('\u{a0}', " ")
    }

    /// Returns the name for programs: `ns`, `share`, `per hour`.
    pub fn name(&self) -> &str {
        match self {
            Self::In(unit) => unit,
            Self::Share => "share",
            Self::Per(per) => per,
        }
    }
}

/// Returns the unit of a count's exposure: hours of a thread where samples have no pause between them or are counted themselves, else a
/// million samples or slots.
fn per(statistic: Statistic, continuous: bool) -> Option<&'static str> {
    match statistic {
        Statistic::Count => Some("per hour"),
        Statistic::Above(_) if continuous => Some("per hour"),
        Statistic::Above(_) | Statistic::Missed | Statistic::Late => Some("per million"),
        _ => None,
    }
}

/// Returns the figure of a distribution, or why it has none.
pub(super) fn of(pooled: &Pooled, statistic: Statistic, continuous: bool) -> Result<Figure, String> {
    let summary = &pooled.summary;
    let known = |reach: Option<Reach>| match reach {
        // The mean may be anywhere in the range, so its middle is taken. For order statistics a bin's value is its upper end.
        Some((low, Some(high))) if statistic == Statistic::Mean => Ok(Figure::Value(low / 2.0 + high / 2.0)),
        Some((_, Some(high))) => Ok(Figure::Value(high)),
        _ => Err(format!("the file does not give its {statistic}")),
    };
    let reach = || reach(statistic, summary.count, &summary.bounds.clone().unwrap_or_default(), &bins(pooled));
    let some = |value: Option<f64>| match value {
        _ if summary.bounds.is_some() => known(reach()),
        Some(value) => Ok(Figure::Value(value)),
        None => Err(format!("too few samples for {statistic}: {}", words::count(summary.count))),
    };
    let above = |edge: i64| match pool::above(&summary.bands, edge) {
        _ if pooled.unit != NS => Err(format!("{} is in {}, but an edge is a time", pooled.quantity, pooled.unit)),
        _ if summary.bounds.is_some() => match bins(pooled).above(edge) {
            Some((least, most)) if least == most => Ok(least),
            Some((least, most)) => Err(format!("bins too coarse: {least} to {most} are above {}", human(edge))),
            None => Err(format!("samples were not counted above {}", human(edge))),
        },
        Some(above) => Ok(above),
        None if summary.count == 0 => Ok(0),
        None => Err(format!("samples were not counted above {}", human(edge))),
    };
    let slots = pooled.slots.ok_or_else(|| format!("{} has no slots", pooled.quantity));
    let count = match statistic {
        Statistic::Min => return some(summary.min.map(|value| value as f64)),
        Statistic::Max => return some(summary.max.map(|value| value as f64)),
        Statistic::Mean => return some(summary.mean),
        Statistic::Sd => return some(summary.sd),
        Statistic::Variance => return Err("the variance is only for tables; compare `sd`, its square root".into()),
        Statistic::Quantile(p) => return some(quantile(pooled, p).map(|value| value as f64)),
        Statistic::Share(edge) => {
            let within = summary.count.saturating_sub(above(edge)?);
            return some((summary.count > 0).then(|| within as f64 / summary.count as f64));
        }
        Statistic::Count => summary.count,
        Statistic::Above(edge) => above(edge)?,
        Statistic::Missed => slots?.missed,
        Statistic::Late => slots?.late,
    };
    let exposure = match per(statistic, continuous) {
        Some("per hour") => pooled.elapsed_ns as f64 / 3.6e12,
        _ => summary.count as f64 / 1e6,
    };
    if exposure > 0.0 { Ok(Figure::Count { count, exposure }) } else { Err("nothing was measured".into()) }
}

/// Returns the number of samples above the histogram's range.
pub(super) fn beyond(pooled: &Pooled) -> u64 {
    pooled.summary.count.saturating_sub(pooled.histogram.total()).saturating_sub(pooled.negative)
}

fn bins(pooled: &Pooled) -> Bins {
    pooled.bins.clone().unwrap_or_default()
}

fn quantile(pooled: &Pooled, p: f64) -> Option<i64> {
    let summary = &pooled.summary;
    let (count, min, max) = (summary.count, summary.min, summary.max);
    summary::quantile(&Exact { count, min, max, overflow: beyond(pooled), ..Exact::default() }, &pooled.histogram, p)
}
