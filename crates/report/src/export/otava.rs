//! CSV for Apache Otava, which finds changes in a history: one row per run, one column per figure.

use super::{
    format::{Export, Exported, Writer, Written},
    text,
    trend::{Point, points},
};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The list entry.
pub const EXPORT: Export = Export {
    name: "otava",
    ending: "csv",
    needs: None,
    about: "CSV for Apache Otava, one row per run (stored units); takes --commit",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let (points, mut left_out) = points(exported);
    let mut rows: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new(); exported.runs.len()];
    for point in &points {
        if let Some(row) = rows.get_mut(point.run) {
            row.insert(column(point), point.value);
        }
    }
    // The columns are those of the run with the most columns: Otava stops reading at an empty field.
    let fullest = rows.iter().max_by_key(|row| row.len());
    let columns: Vec<String> = fullest.map(|row| row.keys().cloned().collect()).unwrap_or_default();
    let mut table: Vec<(jiff::Timestamp, Vec<String>)> = Vec::new();
    for (run, row) in exported.runs.iter().zip(&rows) {
        let meta = &run.run.meta;
        if let Some(lacks) = columns.iter().find(|column| !row.contains_key(*column)) {
            left_out.push(format!("run {} is left out: it has no {lacks}", meta.id));
            continue;
        }
        let extra = row.keys().filter(|column| !columns.contains(column));
        left_out.extend(extra.map(|column| format!("{column} of run {} is left out: other runs lack it", meta.id)));
        let at: jiff::Timestamp =
            meta.started.parse().with_context(|| format!("run {}: latido cannot read its start time", meta.id))?;
        let commit = exported.options.commit.as_ref().unwrap_or(&meta.id);
        let head = [at.strftime("%Y-%m-%d %H:%M:%S +0000").to_string(), crate::words::uncomputed(&text::line(commit))];
        let values = columns.iter().filter_map(|column| row.get(column)).map(f64::to_string);
        table.push((at, head.into_iter().chain(values).collect()));
    }
    ensure!(!table.is_empty(), "otava: no run has figures that can be trusted, so there is nothing to write");
    table.sort_by_key(|(at, _)| *at);
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(["time", "commit"].into_iter().chain(columns.iter().map(String::as_str)))?;
    for (_, row) in &table {
        csv.write_record(row)?;
    }
    let bytes = csv.into_inner().context("writing the rows")?;
    Ok(Written { bytes, left_out })
}

/// Returns a column's name, such as `wakeup-busy_cpu-0_latency_max_ns`. The names that Otava reserves (`time`, `commit`, `branch`) have no
/// underscore, so the two never collide.
fn column(point: &Point) -> String {
    let parts = [&point.title, &point.place, &point.quantity, &point.key, &point.unit];
    let parts = parts.into_iter().filter(|part| !part.is_empty()).map(|part| text::id(part, ""));
    parts.collect::<Vec<_>>().join("_")
}
