//! Tables in the syntax of Org, the mode of Emacs.

use crate::{
    tables::summary,
    tree::{Format, Sheet, TableForm},
};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "org-mode",
    title: "Org",
    ending: "org",
    about: "the summary tables for the Org mode of Emacs",
    report: |report| Ok(report.sections.iter().map(|section| table(&summary::sheet(section))).collect()),
    table: Some(TableForm::Print(table)),
};

/// Returns one table: its caption, the head, a rule, the rows.
fn table(sheet: &Sheet) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rows: String = sheet.rows.iter().map(|row| line(sheet.texts(row))).collect();
    format!("#+CAPTION: {}\n{}|-\n{rows}\n", sheet.caption(), line(sheet.headings()))
}
