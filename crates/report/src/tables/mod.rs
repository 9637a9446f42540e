//! The tables of a report beside those behind its figures.

pub mod characterisation;
pub mod samples;
pub mod slots;
pub mod spread;
pub mod summary;

use crate::tree::{Report, Sheet};
use characterisation::characterisation;

/// The tables of every chapter and of every section, printed one after the other by a format; `None` where there
/// is none.
pub fn printed(report: &Report, print: fn(&Sheet) -> String) -> Option<String> {
    let mut sheets: Vec<Sheet> = Vec::new();
    for chapter in report.chapters() {
        sheets.extend(characterisation(&chapter, report.input).map(|table| table.sheet()));
        // What is pooled comes second.
        sheets.extend(
            chapter.sections.iter().flat_map(|one| spread::sheet(one).into_iter().chain([summary::sheet(one)])),
        );
    }
    (!sheets.is_empty()).then(|| sheets.iter().map(print).collect::<Vec<_>>().join("\n"))
}
