//! The tables of a report beside those behind its figures.

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

/// The tables that the plan declares and those of every chapter and of every section, printed one after the other by a format; `None` where there
/// is none.
pub fn printed(report: &Report, print: fn(&Sheet) -> String) -> Option<String> {
    let mut sheets: Vec<Sheet> = Vec::new();
    sheets.extend(Lookup::of(report).into_iter().flat_map(declared::all).map(|table| table.sheet()));
    for chapter in report.chapters() {
        sheets.extend(characterisation(&chapter, report.input).map(|table| table.sheet()));
        for one in chapter.sections {
            // What is pooled comes second.
            sheets.extend(spread::sheet(one));
            sheets.push(summary::sheet(one));
            sheets.extend([quantiles::sheet(one), limit::sheet(one), tail::sheet(one)].into_iter().flatten());
        }
    }
    (!sheets.is_empty()).then(|| sheets.iter().map(print).collect::<Vec<_>>().join("\n"))
}
