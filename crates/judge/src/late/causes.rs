//! The causes that many late samples lost their time to, taken together.

use super::said;
use latido_trace::explain::Explained;
use serde::Serialize;
use std::collections::BTreeMap;

/// The causes, the one with the most time first.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Causes(pub Vec<CauseRow>);

/// A cause.
#[derive(Clone, Debug, Serialize)]
pub struct CauseRow {
    /// The name of the cause.
    pub cause: String,
    /// The time lost to it, ns.
    pub ns: u64,
    /// Its share of all lost time.
    pub share: f64,
    /// The number of samples in which it has a part.
    pub samples: u64,
    /// The number of samples in which it has the largest part.
    pub first: u64,
    /// Its largest part of one sample, ns.
    pub longest_ns: u64,
}

impl Causes {
    /// Sums up the causes of explained samples.
    pub fn of<'a>(all: impl Iterator<Item = &'a Explained>) -> Self {
        let mut rows = BTreeMap::<String, CauseRow>::new();
        let mut whole = 0_u64;
        for found in all {
            // Causes that differ only in a task's number count as one.
            let mut sums = BTreeMap::<String, u64>::new();
            for (cause, ns) in found.causes() {
                let sum = sums.entry(said(cause)).or_default();
                *sum = ns.saturating_add(*sum);
            }
            let largest =
                sums.iter().max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(*name))).map(|(name, _)| name.clone());
            for (cause, ns) in sums {
                whole = ns.saturating_add(whole);
                let first = u64::from(largest.as_ref() == Some(&cause));
                let row = rows.entry(cause.clone()).or_insert(CauseRow {
                    cause,
                    ns: 0,
                    share: 0.0,
                    samples: 0,
                    first: 0,
                    longest_ns: 0,
                });
                row.ns = ns.saturating_add(row.ns);
                row.samples += 1;
                row.first += first;
                row.longest_ns = row.longest_ns.max(ns);
            }
        }
        let mut rows: Vec<CauseRow> = rows.into_values().collect();
        rows.iter_mut().for_each(|row| row.share = if whole == 0 { 0.0 } else { row.ns as f64 / whole as f64 });
        rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
        Self(rows)
    }
}
