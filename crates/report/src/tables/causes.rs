//! The causes of late samples as a table.

use crate::tree::{Datum, Head, Sheet};
use latido_judge::late::{CauseRow, Causes};

/// Returns a row for each cause, in descending order of time.
pub fn sheet(causes: &Causes) -> Sheet {
    let head: Vec<Head> =
        vec!["cause".into(), "share".into(), "time".into(), "samples".into(), "first in".into(), "most of one".into()];
    let row = |row: &CauseRow| {
        vec![
            Datum::Text(row.cause.clone()),
            Datum::Share(row.share),
            Datum::Value(row.ns as f64),
            Datum::Count(row.samples),
            Datum::Count(row.first),
            Datum::Value(row.longest_ns as f64),
        ]
    };
    let typical: Vec<f64> = causes.0.iter().map(|row| row.longest_ns as f64).collect();
    Sheet::new("Causes of the late samples".into(), head, causes.0.iter().map(row).collect(), "ns", &typical)
}
