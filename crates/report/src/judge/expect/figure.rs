//! The figure that an expectation looks at: of one series, or of several pooled.

use crate::judge::configuration::sum;
use anyhow::{Result, bail};
use latido_model::{
    plan::{Expect, Statistic, expect::NS},
    record::{QUANTILES, Series, Slots, Summary},
    run::{SeriesSource, StoredCell, codec},
    summary::{self, Exact},
    units::human,
};

/// Series with the cells that they are of.
pub(super) type Members<'a> = [(&'a StoredCell, &'a Series)];

/// The figure of the headline distribution in the expectation's unit; `None` where the samples do not give one.
///
/// # Errors
/// Another unit than the expectation's, an edge that the bands do not have, or data that cannot be read.
pub(super) fn of(expect: &Expect, members: &Members<'_>, source: &dyn SeriesSource) -> Result<Option<f64>> {
    let Some((_, first)) = members.first() else { return Ok(None) };
    let scale = match (expect.unit.as_str(), first.unit.as_str()) {
        // Whoever counts has no unit.
        ("", _) => 1.0,
        (NS, "ps") => 1e-3,
        (wanted, unit) if wanted == unit => 1.0,
        (wanted, unit) => bail!("{} is in {unit}, which cannot be compared with a value in {wanted}", first.quantity),
    };
    let headlines: Vec<Summary> = members.iter().map(|(_, series)| series.headline()).collect();
    let plain = || -> Result<Summary> { Ok(summary::pool(&headlines, &codec::histogram()?, 0)) };
    let figure = match expect.statistic {
        Statistic::Count => Some(plain()?.count as f64),
        Statistic::Min => plain()?.min.map(|value| value as f64),
        Statistic::Mean => plain()?.mean,
        Statistic::Sd => plain()?.sd,
        Statistic::Max => plain()?.max.map(|value| value as f64),
        Statistic::Missed => slots(members).map(|slots| slots.missed as f64),
        Statistic::Late => slots(members).map(|slots| slots.late as f64),
        Statistic::Above(edge) => Some(above(first, &headlines, edge)? as f64),
        Statistic::Share(edge) => {
            let count = plain()?.count;
            let above = above(first, &headlines, edge)?;
            (count > 0).then(|| count.saturating_sub(above) as f64 / count as f64)
        }
        Statistic::Quantile(p) => quantile(members, &headlines, p, source)?.map(|value| value as f64),
    };
    Ok(figure.map(|figure| figure * scale))
}

fn slots(members: &Members<'_>) -> Option<Slots> {
    members.iter().filter_map(|(_, series)| series.slots).reduce(|a, b| Slots {
        met: a.met.saturating_add(b.met),
        late: a.late.saturating_add(b.late),
        missed: a.missed.saturating_add(b.missed),
    })
}

fn above(first: &Series, headlines: &[Summary], edge: i64) -> Result<u64> {
    if first.unit != NS {
        bail!("the bands of {} are in {}, not times", first.quantity, first.unit);
    }
    let counts = headlines.iter().filter(|headline| headline.count > 0);
    let sum = counts
        .map(|headline| summary::above(&headline.bands, edge))
        .try_fold(0u64, |sum, one| Some(sum.saturating_add(one?)));
    match sum {
        Some(sum) => Ok(sum),
        None => bail!("{} is no edge of its bands", human(edge)),
    }
}

fn quantile(members: &Members<'_>, headlines: &[Summary], p: f64, source: &dyn SeriesSource) -> Result<Option<i64>> {
    if let ([headline], Some((key, _))) = (headlines, QUANTILES.iter().find(|(_, known)| (known - p).abs() < 1e-12)) {
        return Ok(headline.quantiles.get(*key).copied().flatten());
    }
    let mut histograms = Vec::new();
    let mut negative = 0;
    for (cell, series) in members {
        let data = source.series(cell, series)?;
        negative += series.negative;
        histograms.push(data.histogram);
        histograms.extend(data.missed.filter(|_| series.corrected.is_some()));
    }
    let histogram = sum(&histograms)?;
    let Summary { count, min, max, .. } = summary::pool(headlines, &histogram, negative);
    let overflow = count.saturating_sub(histogram.len()).saturating_sub(negative);
    Ok(summary::quantile(&Exact { count, min, max, overflow, ..Exact::default() }, &histogram, p))
}

/// Why there is no figure.
pub(super) fn missing(statistic: Statistic, members: &Members<'_>) -> String {
    let count = members.iter().map(|(_, series)| series.headline().count).fold(0, u64::saturating_add);
    match statistic {
        Statistic::Missed | Statistic::Late => "counts no slots".into(),
        _ => format!("{count} samples are too few"),
    }
}

/// A figure for people.
pub(super) fn text(expect: &Expect, series: &Series, value: f64) -> String {
    match (expect.unit.as_str(), expect.statistic) {
        // Means of many calls are finer than a nanosecond.
        (NS, _) if series.unit == "ps" && value.abs() < 1_000.0 => format!("{value:.2} ns"),
        (NS, _) => human(value.round() as i64),
        // Nine decimals tell one sample of the studies' 10^9.
        (_, Statistic::Share(_)) => {
            let text = format!("{value:.9}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        ("", _) => format!("{value}"),
        (unit, _) => format!("{value} {unit}"),
    }
}
