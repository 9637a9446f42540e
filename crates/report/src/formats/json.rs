//! `latido run --json`: one document with the run, its judgement and every record.

use crate::tree::{Named, Section, sections};
use anyhow::Result;
use latido_judge::{
    configuration::Configurations,
    extremes::{Extremes, Seen},
    judgement::Judgement,
};
use latido_model::{
    clean,
    record::Record,
    run::{Meta, Run, StoredCell},
    verdict::Verdict,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the document. It increases when the meaning of a key changes, not when a key is added.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct RunDocument<'a> {
    schema: u32,
    run: &'a Meta,
    verdict: Verdict,
    judgement: &'a Judgement,
    problems: &'a [String],
    /// The rarest events that each measured cell was long enough to see.
    seen: Vec<CellSeen>,
    /// Each series of each repeat, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extremes: Vec<SeriesExtremes>,
    records: Vec<&'a Record>,
    /// The stored parts of cells that were interrupted and continued later; latido pools the records above from these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartDocument<'a>>,
}

#[derive(Serialize)]
struct CellSeen {
    cell: usize,
    length_s: f64,
    #[serde(flatten)]
    seen: Seen,
}

#[derive(Serialize)]
struct SeriesExtremes {
    configuration: String,
    probe: String,
    quantity: String,
    labels: BTreeMap<String, String>,
    unit: String,
    #[serde(flatten)]
    extremes: Extremes,
}

#[derive(Serialize)]
struct PartDocument<'a> {
    cell: usize,
    part: usize,
    cut: Option<&'a str>,
    record: &'a Record,
}

/// Returns the document, indented, with a final line end. The records are in the order of their cells; a cell without a record appears only
/// in the judgement. With `tails`, the configurations of the run, the document includes the tails of all series.
///
/// # Errors
/// None in practice: every part was JSON before.
pub fn document(run: &Run, judgement: &Judgement, tails: Option<&Configurations>) -> Result<String> {
    let document = RunDocument {
        schema: SCHEMA,
        run: &run.meta,
        verdict: judgement.verdict,
        judgement,
        problems: &run.problems,
        seen: run.cells.iter().filter_map(seen).collect(),
        extremes: tails.map(|found| sections(&found.all).iter().flat_map(extremes).collect()).unwrap_or_default(),
        records: run.cells.iter().filter_map(StoredCell::record).collect(),
        parts: run.cells.iter().flat_map(parts).collect(),
    };
    Ok(clean::text(&serde_json::to_string_pretty(&document)?).into_owned() + "\n")
}

fn seen(cell: &StoredCell) -> Option<CellSeen> {
    let elapsed_ns = cell.record().filter(|record| record.machine.emulated.is_none())?.elapsed_ns;
    Some(CellSeen { cell: cell.number, length_s: elapsed_ns as f64 / 1e9, seen: Seen::of_ns(elapsed_ns)? })
}

fn extremes(section: &Section) -> Vec<SeriesExtremes> {
    let one = |named: Named| SeriesExtremes {
        configuration: named.name,
        probe: section.probe.to_owned(),
        quantity: section.quantity.to_owned(),
        labels: section.labels.clone(),
        unit: section.unit.to_owned(),
        extremes: named.extremes,
    };
    section.all_extremes().into_iter().map(one).collect()
}

fn parts(cell: &StoredCell) -> impl Iterator<Item = PartDocument<'_>> {
    (1..).zip(&cell.parts).filter_map(|(part, one)| {
        Some(PartDocument { cell: cell.number, part, cut: one.cut.as_deref(), record: one.cell.record()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::judging::of_run;
    use latido_model::sample::{Fixture, cell, quiet, under};

    #[test]
    fn the_document_has_its_parts_and_gives_the_records_back() {
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (under("busy"), vec![quiet(1)])]);
        let judgement = of_run(&fixture.run, &fixture);
        let value: serde_json::Value =
            serde_json::from_str(&document(&fixture.run, &judgement, None).unwrap()).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["judgement", "problems", "records", "run", "schema", "seen", "verdict"]);
        assert_eq!(value["verdict"], "pass");
        assert_eq!(value["run"]["id"], "20261121T200000Z-quick-k3f9");
        let records: Vec<Record> = serde_json::from_value(value["records"].clone()).unwrap();
        assert_eq!(
            records.iter().collect::<Vec<_>>(),
            fixture.run.cells.iter().map(|c| c.record().unwrap()).collect::<Vec<_>>()
        );
    }
}
