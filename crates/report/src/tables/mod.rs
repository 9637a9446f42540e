//! The tables of a report, except those behind its figures.

pub mod causes;
pub mod characterisation;
pub mod declared;
pub mod limit;
pub mod maxima;
pub mod quantiles;
pub mod samples;
pub mod slots;
pub mod spread;
pub mod summary;
pub mod tail;

use crate::tree::{Report, Sheet, declared::Lookup};
use characterisation::characterisation;

/// A table of a report, and its place in the report.
#[derive(Debug)]
pub struct NamedTable {
    /// The probe, or the quantity with its labels; empty for a table that the plan declares.
    pub stem: String,
    /// Its kind, which is independent of the section: `quantiles`.
    pub kind: String,
    /// The table.
    pub sheet: Sheet,
}

/// Returns the tables that the plan declares, then those of every chapter and every section, in the order of a report.
pub fn all(report: &Report) -> Vec<NamedTable> {
    let mut tables: Vec<NamedTable> = Vec::new();
    let mut put = |stem: &str, kind: &str, sheet: Option<Sheet>| {
        tables.extend(sheet.map(|sheet| NamedTable { stem: stem.to_owned(), kind: kind.to_owned(), sheet }));
    };
    for table in Lookup::of(report).into_iter().flat_map(declared::all) {
        put("", &table.stem, Some(table.sheet()));
    }
    for chapter in report.chapters() {
        put(chapter.probe, "table", characterisation(&chapter, report.input).map(|table| table.sheet()));
        for one in chapter.sections {
            let stem = one.stem();
            // The repeats come before everything that is pooled.
            put(&stem, "repeats", spread::sheet(one));
            put(&stem, "summary", Some(summary::sheet(one)));
            put(&stem, "quantiles", quantiles::sheet(one));
            put(&stem, "above-limit", limit::sheet(one));
            put(&stem, "tail", tail::sheet(one));
        }
    }
    tables
}

/// Returns all tables, written one after the other in a format; `None` if there are none.
pub fn printed(report: &Report, print: fn(&Sheet) -> String) -> Option<String> {
    let tables = all(report);
    (!tables.is_empty()).then(|| tables.iter().map(|table| print(&table.sheet)).collect::<Vec<_>>().join("\n"))
}
