//! The quantiles of a section with confidence limits.

use crate::{
    tables::summary::quantile_name,
    tree::{Curve, Datum, Estimate, Head, Section, Sheet},
};
use latido_judge::repeat::Pooled;
use latido_model::{
    record::{QUANTILES, quantized::at_rank as at_rank_of_bins},
    summary::{Counted, Exact, at_rank},
};
use latido_statistics::quantile::ranks_among;

/// The text for a limit that needs more samples.
const TOO_SMALL: &str = "n too small";

/// The confidence of the limits.
const CONFIDENCE: f64 = 0.95;

/// Returns a quantile of all samples of a configuration with its confidence limits. The limits are binomial ranks, for the number of
/// independent samples. A limit is absent where there are too few samples for its rank; the maximum never takes its place.
pub fn estimate(pooled: &Pooled, key: &str) -> Option<Estimate> {
    let value = pooled.summary.quantiles.get(key).copied().flatten()? as f64;
    let p = QUANTILES.iter().find(|(name, _)| *name == key).map(|(_, p)| *p)?;
    let summary = &pooled.summary;
    let ranks = ranks_among(summary.count, p, CONFIDENCE, pooled.crowds.effect(key)).ok()?;
    if let Some(bins) = &pooled.bins {
        // The limits extend to the far ends of the bins that contain them.
        let at = |rank: Option<u64>| at_rank_of_bins(&bins.bins, rank?);
        let lower = at(ranks.lower).map(|bin| bin.0 as f64);
        let upper = at(ranks.upper).and_then(|bin| bin.1).map(|high| high as f64);
        return Some(Estimate { value, lower, upper, without: TOO_SMALL });
    }
    let overflow = summary.count.saturating_sub(pooled.histogram.total()).saturating_sub(pooled.negative);
    let exact = Exact { count: summary.count, min: summary.min, max: summary.max, overflow, ..Exact::default() };
    let at = |rank: Option<u64>| at_rank(&exact, &pooled.histogram, rank?).map(|v| v as f64);
    Some(Estimate { value, lower: at(ranks.lower), upper: at(ranks.upper), without: TOO_SMALL })
}

/// Returns the table of a section; `None` if nothing was measured.
pub fn sheet(section: &Section) -> Option<Sheet> {
    let keys = || QUANTILES.iter().map(|(key, _)| *key);
    let row = |series: &Curve| {
        let cell = |key| match estimate(series.pooled, key) {
            Some(one) => Datum::Estimate(one),
            None if series.pooled.summary.count > 0 => Datum::TooFew,
            None => Datum::Absent,
        };
        let name = [Datum::Text(series.name.clone()), Datum::Count(series.pooled.summary.count)];
        name.into_iter().chain(keys().map(cell)).collect::<Vec<Datum>>()
    };
    let rows: Vec<Vec<Datum>> = section.series.iter().map(row).collect();
    let unbounded = |cell: &Datum| matches!(cell, Datum::Estimate(one) if one.lower.is_none() || one.upper.is_none());
    let unbounded = rows.iter().flatten().any(unbounded);
    let typical: Vec<f64> =
        section.series.iter().flat_map(|series| [series.quantile("0.5"), series.quantile("0.99")]).flatten().collect();
    let head = ["configuration".into(), crate::words::plural(section.noun())];
    let head = head.into_iter().chain(keys().map(quantile_name)).map(Head::from).collect();
    let title = format!("{}, quantiles with 95 % limits", section.title());
    let is_unknown = |series: &Curve| series.pooled.bins.is_some() && !series.pooled.crowds.are_known();
    let note = match section.series.iter().all(is_unknown) {
        true => "Limits by binomial ranks, as for independent samples, because the time of each is not known.",
        false => {
            "Limits by binomial ranks of the number of independent samples, estimated from blocks of time, for these repeats only: if repeats differ, another may lie outside."
        }
    };
    section
        .has_samples()
        .then(|| Sheet::new(title, head, rows, section.unit, &typical).leading(2).notes([note.to_owned()]).notes(unbounded.then(|| {
            format!("{TOO_SMALL}: the number of samples is too small for a 95 % limit of this quantile; a longer measurement has one.")
        })))
}
