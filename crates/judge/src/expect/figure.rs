//! The figure that an expectation tests: the figure of one series, or of several pooled series.

use crate::{
    coarse::{self, Bins},
    measured::{Amount, Dimension, Missing},
    statistics::pool,
};
use anyhow::{Result, bail};
use latido_model::{
    plan::{Expect, Statistic, expect::NS},
    record::{QUANTILES, Series, Slots, Summary},
    run::{SeriesData, SeriesSource, StoredCell, codec},
    summary::{self, Exact},
    units::human,
};

/// Series with their cells.
pub(super) type Members<'a> = [(&'a StoredCell, &'a Series)];

/// Returns the figure of the decisive distribution in the expectation's unit; `None` where the samples do not give one.
///
/// # Errors
/// The series has another unit than the expectation, the edge is no edge of the bands, or the data cannot be read.
pub(super) fn of(expect: &Expect, members: &Members<'_>, source: &dyn SeriesSource) -> Result<Option<f64>> {
    let Some((_, first)) = members.first() else { return Ok(None) };
    let scale = match (expect.unit.as_str(), first.unit.as_str()) {
        // A count has no unit.
        ("", _) => 1.0,
        (NS, "ps") => 1e-3,
        (wanted, unit) if wanted == unit => 1.0,
        (wanted, unit) => bail!("{} is in {unit}, which cannot be compared with a value in {wanted}", first.quantity),
    };
    if let Some(counted) = counted(expect.statistic, members, source)? {
        return Ok(counted.map(|figure| figure * scale));
    }
    let decisive: Vec<Summary> = members.iter().map(|(_, series)| series.decisive()).collect();
    let plain = || -> Result<Summary> { Ok(pool::summaries(&decisive, &codec::histogram()?, 0)) };
    let figure = match expect.statistic {
        Statistic::Count => Some(plain()?.count as f64),
        Statistic::Min => plain()?.min.map(|value| value as f64),
        Statistic::Mean => plain()?.mean,
        Statistic::Sd => plain()?.sd,
        // No expectation can use the variance.
        Statistic::Variance => None,
        Statistic::Max => plain()?.max.map(|value| value as f64),
        Statistic::Missed => slots(members).map(|slots| slots.missed as f64),
        Statistic::Late => slots(members).map(|slots| slots.late as f64),
        Statistic::Above(edge) => Some(above(first, &decisive, edge)? as f64),
        Statistic::Share(edge) => {
            let count = plain()?.count;
            let above = above(first, &decisive, edge)?;
            (count > 0).then(|| count.saturating_sub(above) as f64 / count as f64)
        }
        Statistic::Quantile(p) => quantile(members, &decisive, p, source)?.map(|value| value as f64),
    };
    Ok(figure.map(|figure| figure * scale))
}

/// Returns the range of the figure in the expectation's unit, for a series that another tool counted.
pub(super) fn reach(
    expect: &Expect,
    cell: &StoredCell,
    series: &Series,
    source: &dyn SeriesSource,
) -> Option<coarse::Reach> {
    let bounds = series.bounds.as_ref()?;
    let bins = bins(&source.series(cell, series).ok()?, series);
    let scale = if (expect.unit.as_str(), series.unit.as_str()) == (NS, "ps") { 1e-3 } else { 1.0 };
    let (low, high) = coarse::reach(expect.statistic, series.count, bounds, &bins)?;
    Some((low * scale, high.map(|high| high * scale)))
}

fn bins(data: &SeriesData, series: &Series) -> Bins {
    let quantized = series.quantized.clone().unwrap_or_default();
    let whole = !quantized.cut && quantized.above.is_none();
    Bins { bins: data.bins.clone(), whole, width: quantized.width }.of_all(series.count)
}

/// Returns the upper end of the figure of several series that another tool counted. The outer `None` means that latido measured one of
/// them.
fn counted(statistic: Statistic, members: &Members<'_>, source: &dyn SeriesSource) -> Result<Option<Option<f64>>> {
    if !members.iter().all(|(_, series)| series.bounds.is_some()) {
        return Ok(None);
    }
    let mut all = Vec::new();
    for (cell, series) in members {
        all.push(bins(&source.series(cell, series)?, series));
    }
    let Some(bins) = Bins::merged(all.iter().map(Some)) else { return Ok(None) };
    let decisive: Vec<Summary> = members.iter().map(|(_, series)| series.decisive()).collect();
    let pooled = pool::summaries(&decisive, &codec::histogram()?, 0);
    let bounds = pooled.bounds.unwrap_or_default();
    Ok(Some(coarse::reach(statistic, pooled.count, &bounds, &bins).and_then(|(low, high)| {
        // A range without an upper end gives no figure, and neither does an inexact count.
        let exact = !matches!(statistic, Statistic::Above(_) | Statistic::Share(_)) || high == Some(low);
        high.filter(|_| exact)
    })))
}

fn slots(members: &Members<'_>) -> Option<Slots> {
    pool::slots(members.iter().filter_map(|(_, series)| series.slots))
}

fn above(first: &Series, decisive: &[Summary], edge: i64) -> Result<u64> {
    if first.unit != NS {
        bail!("the bands of {} are in {}, not in units of time", first.quantity, first.unit);
    }
    let sum = pool::all_above(decisive.iter().filter(|part| part.count > 0), edge);
    match sum {
        Some(sum) => Ok(sum),
        None => bail!("{} is not an edge of its bands", human(edge)),
    }
}

fn quantile(members: &Members<'_>, decisive: &[Summary], p: f64, source: &dyn SeriesSource) -> Result<Option<i64>> {
    if let ([only], Some((key, _))) = (decisive, QUANTILES.iter().find(|(_, known)| (known - p).abs() < 1e-12)) {
        return Ok(only.quantiles.get(*key).copied().flatten());
    }
    let mut histograms = Vec::new();
    let mut negative = 0;
    for (cell, series) in members {
        let data = source.series(cell, series)?;
        negative += series.negative;
        histograms.push(data.histogram);
        histograms.extend(data.missed.filter(|_| series.corrected.is_some()));
    }
    let histogram = pool::histograms(&histograms)?;
    let Summary { count, min, max, .. } = pool::summaries(decisive, &histogram, negative);
    let overflow = count.saturating_sub(histogram.len()).saturating_sub(negative);
    Ok(summary::quantile(&Exact { count, min, max, overflow, ..Exact::default() }, &histogram, p))
}

/// Returns why there is no figure.
pub(super) fn missing(statistic: Statistic, members: &Members<'_>) -> Missing {
    let count = members.iter().map(|(_, series)| series.decisive().count).fold(0, u64::saturating_add);
    match statistic {
        Statistic::Missed | Statistic::Late => Missing::NoSlots,
        _ if members.iter().any(|(_, series)| series.bounds.is_some()) => {
            Missing::Unfit(format!("the file does not give its {statistic} exactly enough"))
        }
        _ => Missing::TooFew(count),
    }
}

/// Returns a figure with its dimension.
pub(super) fn amount(expect: &Expect, series: &Series, value: f64) -> Amount {
    let dimension = match (expect.unit.as_str(), expect.statistic) {
        (NS, _) if series.unit == "ps" => Dimension::FineTime,
        (NS, _) => Dimension::Time,
        (_, Statistic::Share(_)) => Dimension::Share,
        ("", _) => Dimension::Number,
        (unit, _) => Dimension::Other(unit.into()),
    };
    Amount { value, dimension }
}
