//! `latido run --json`: one document with the run, its judgement and every record.

use crate::judge::judgement::Judgement;
use anyhow::Result;
use latido_model::{
    clean,
    record::Record,
    run::{Meta, Run, StoredCell},
    verdict::Verdict,
};
use serde::Serialize;

/// The version of the document; raised when a key changes its meaning, not when one is added.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct RunDocument<'a> {
    schema: u32,
    run: &'a Meta,
    verdict: Verdict,
    judgement: &'a Judgement,
    problems: &'a [String],
    records: Vec<&'a Record>,
    /// What was stored of cells that were cut and measured on; their records above are pooled from these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartDocument<'a>>,
}

#[derive(Serialize)]
struct PartDocument<'a> {
    cell: usize,
    part: usize,
    cut: Option<&'a str>,
    record: &'a Record,
}

/// The document, indented, with a line end. The records are in the order of their cells; a cell without one is in the
/// judgement.
///
/// # Errors
/// None in practice: every part has been JSON before.
pub fn document(run: &Run, judgement: &Judgement) -> Result<String> {
    let document = RunDocument {
        schema: SCHEMA,
        run: &run.meta,
        verdict: judgement.verdict,
        judgement,
        problems: &run.problems,
        records: run.cells.iter().filter_map(StoredCell::record).collect(),
        parts: run.cells.iter().flat_map(parts).collect(),
    };
    Ok(clean::text(&serde_json::to_string_pretty(&document)?).into_owned() + "\n")
}

fn parts(cell: &StoredCell) -> impl Iterator<Item = PartDocument<'_>> {
    (1..).zip(&cell.parts).filter_map(|(part, one)| {
        Some(PartDocument { cell: cell.number, part, cut: one.cut.as_deref(), record: one.cell.record()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judging::of_run;
    use latido_model::sample::{Fixture, cell, quiet, under};

    #[test]
    fn the_document_has_its_parts_and_gives_the_records_back() {
        let fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (under("busy"), vec![quiet(1)])]);
        let judgement = of_run(&fixture.run, &fixture);
        let value: serde_json::Value = serde_json::from_str(&document(&fixture.run, &judgement).unwrap()).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["judgement", "problems", "records", "run", "schema", "verdict"]);
        assert_eq!(value["verdict"], "pass");
        assert_eq!(value["run"]["id"], "20261121T200000Z-quick-k3f9");
        let records: Vec<Record> = serde_json::from_value(value["records"].clone()).unwrap();
        assert_eq!(
            records.iter().collect::<Vec<_>>(),
            fixture.run.cells.iter().map(|c| c.record().unwrap()).collect::<Vec<_>>()
        );
    }
}
