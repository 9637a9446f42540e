//! The data of a report: the values behind its figures, as compact JSON. A page includes it for download.

use crate::{
    figures::{
        self, points,
        timeline::{self, end, timeline, usual},
    },
    tables::{self, quantiles},
    tree::{
        Curve, Format, Named, Report, Section,
        declared::{Figured, Lookup},
    },
};
use anyhow::{Context, Result};
use latido_judge::extremes::tail::Answer;
use latido_model::record::QUANTILES;
use serde_json::{Value, json};

/// The version of this document. It increases when the meaning of a key changes.
const SCHEMA: u32 = 1;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "json",
    title: "JSON",
    ending: "json",
    about: "the data behind the tables and figures of the page",
    report: json,
    table: None,
};

fn json(report: &Report) -> Result<String> {
    let input = report.input;
    let series: usize = report.sections.iter().map(|section| section.series.len()).sum();
    let largest = (ALL_LARGEST / series.max(1)).clamp(5, LARGEST);
    let mut document = json!({
        "schema": SCHEMA,
        "title": input.title,
        "runs": input.runs.iter().map(|r| json!({"meta": r.meta, "judgement": {
            "verdict": r.judgement.verdict,
            "headline": r.judgement.headline.sentence(),
            "expectations": r.judgement.expectations,
        }})).collect::<Vec<_>>(),
        "study": input.study.as_ref().map(|study| json!({
            "citation": study.citation,
            "scaled": study.scaled,
            "sized": study.sized,
            "claims": study.claims.iter().map(|c| json!([c.text, c.outcome, c.detail, c.number])).collect::<Vec<_>>(),
            "unjudged": study.unjudged,
        })),
        "not_measured": input.not_measured.iter().map(|n| json!([n.label, n.reason, n.cells])).collect::<Vec<_>>(),
        "sections": report.sections.iter().map(|one| section(one, largest)).collect::<Vec<_>>(),
    });
    if let (Some(lookup), Some(keys)) = (Lookup::of(report), document.as_object_mut()) {
        keys.insert("declared".into(), declared(lookup));
    }
    serde_json::to_string(&document).context("writing the report's data")
}

/// Returns the study's tables and figures: each of latido's numbers with the printed number and their ratio.
fn declared(lookup: Lookup) -> Value {
    let tables = tables::declared::all(lookup).into_iter().map(|table| {
        let names: Vec<&String> = table.columns.iter().map(|(name, _)| name).collect();
        let rows = table.rows.iter().map(|row| {
            let cells =
                names.iter().zip(&row.figures).map(|(column, all)| json!({"column": column, "figures": figures(all)}));
            json!({"row": row.name, "cells": cells.collect::<Vec<_>>()})
        });
        json!({"heading": table.heading, "about": table.about, "notes": table.notes, "rows": rows.collect::<Vec<_>>()})
    });
    let figures = figures::declared::all(lookup).into_iter().map(|figure| {
        let caption =
            |(panel, curve, all): &(String, String, Vec<Figured>)| json!({"panel": panel, "curve": curve, "figures": figures(all)});
        let captions: Vec<Value> = figure.captions.iter().map(caption).collect();
        json!({"heading": figure.heading, "about": figure.about, "note": figure.note, "captions": captions})
    });
    json!({"tables": tables.collect::<Vec<_>>(), "figures": figures.collect::<Vec<_>>()})
}

fn figures(all: &[Figured]) -> Vec<Value> {
    let one = |one: &Figured| {
        json!({
            "statistic": one.statistic.to_string(),
            "unit": one.unit,
            "ours": one.ours,
            "published": one.printed,
            "ratio": one.ratio(),
            "note": one.doubt,
        })
    };
    all.iter().map(one).collect()
}

/// The most of the largest samples that a series lists here; [`ALL_LARGEST`] is for all series together. The store has all that were kept.
const LARGEST: usize = 20;
const ALL_LARGEST: usize = 400;

fn section(section: &Section, largest: usize) -> Value {
    let (end, usual) = (end(&section.series), usual(&section.series));
    json!({
        "probe": section.probe,
        "quantity": section.quantity,
        "unit": section.unit,
        "series": section.series.iter().map(|s| series(s, section, (end, usual), largest)).collect::<Vec<_>>(),
        "extremes": section.extremes().iter().map(extremes).collect::<Vec<_>>(),
    })
}

/// Returns the tail of a repeat's series in short; `show --tail --json` has each test.
fn extremes(named: &Named) -> Value {
    let own = &named.extremes;
    let tail = match &own.tail {
        Answer::Fitted(found) if found.reasons().is_empty() => json!({
            "u": found.u, "k": found.k, "xi": found.xi, "sigma": found.sigma, "step": found.step, "levels": found.levels,
        }),
        Answer::Fitted(found) => json!({"u": found.u, "k": found.k, "xi": found.xi, "refused": found.reasons()}),
        Answer::Refused { refused, .. } => json!({"refused": [refused]}),
    };
    json!({"name": named.name, "repeat": own.repeat, "cpu": own.cpu, "limit": own.limit, "tail": tail})
}

fn series(series: &Curve, section: &Section, (end, usual): (f64, f64), largest: usize) -> Value {
    let pooled = series.pooled;
    let line = timeline(series, end, usual, points(section.series.len()));
    let columns = |figure: fn(&timeline::Slice) -> f64| {
        line.columns.iter().map(|c| c.as_ref().map(|c| figure(c).round() as i64)).collect::<Vec<_>>()
    };
    json!({
        "name": series.full_name,
        "cell": series.configuration.cell,
        "members": series.configuration.members(),
        "labels": pooled.labels,
        "summary": pooled.summary,
        "plain": if pooled.plain == pooled.summary { Value::Null } else { json!(pooled.plain) },
        "slots": pooled.slots,
        "above_limit": pooled.above_limit,
        "elapsed_ns": pooled.elapsed_ns,
        "seen": series.seen(),
        "quantile_limits": limits(series),
        "histogram": thinned(&series.buckets),
        "over_time": section.is_over_time().then(|| {
            json!({"step_s": line.step, "max": columns(|c| c.max), "mean": columns(|c| c.mean)})
        }),
        "largest": series.kept().iter().take(largest)
            .map(|k| json!([k.sample.value, k.sample.at_ns, k.cpu, k.repeat, k.sample.class.name()])).collect::<Vec<_>>(),
    })
}

/// Returns the lower and the upper limit of each quantile, null where the samples are too few.
fn limits(series: &Curve) -> Value {
    let one = |(key, _): &(&str, f64)| {
        let estimate = quantiles::estimate(series.pooled, key)?;
        Some(((*key).to_owned(), json!([estimate.lower, estimate.upper])))
    };
    Value::Object(QUANTILES.iter().filter_map(one).collect())
}

/// Merges buckets to 40 per decade. Returns the first value and the count of each occupied one.
fn thinned(buckets: &[(f64, u64)]) -> Vec<(u64, u64)> {
    let mut thin: Vec<(i64, u64, u64)> = Vec::new();
    for (value, count) in buckets {
        let bin = (value.max(1.0).log10() * 40.0).floor() as i64;
        match thin.last_mut() {
            Some((last, _, sum)) if *last == bin => *sum = sum.saturating_add(*count),
            _ => thin.push((bin, value.round() as u64, *count)),
        }
    }
    thin.into_iter().map(|(_, value, count)| (value, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_loses_no_sample() {
        let buckets: Vec<(f64, u64)> = (0..5_000).map(|i| (f64::from(i), 3)).collect();
        let thin = thinned(&buckets);
        assert!(thin.len() < 200);
        assert_eq!(thin.iter().map(|b| b.1).sum::<u64>(), 15_000);
    }
}
