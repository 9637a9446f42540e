//! The content of a report as one tree: chapters of sections, with tables and figures over them. Every format writes this tree.

mod chapter;
pub mod declared;
mod estimate;
mod extremes;
mod section;
mod sheet;

pub use chapter::{CallRow, Chapter, chapters};
pub use estimate::Estimate;
pub use extremes::{Named, emulated, worth};
pub use section::{Curve, Kept, PAGE, SHOWN, Section, sections};
pub use sheet::{Datum, Head, Sheet, percent};

use crate::input::ReportInput;
use anyhow::Result;
use latido_model::clean;

/// A report: its input and its sections.
#[derive(Debug)]
pub struct Report<'a> {
    /// Its input.
    pub input: &'a ReportInput<'a>,
    /// Everything that was measured, probe by probe.
    pub sections: Vec<Section<'a>>,
    /// The available formats: a page offers its tables and data in them.
    pub formats: &'static [Format],
}

/// A format of reports, of single tables, or of both.
#[derive(Debug)]
pub struct Format {
    /// The name by which users request it: `markdown`.
    pub name: &'static str,
    /// The name for people: `Markdown`.
    pub title: &'static str,
    /// The ending of a file's name.
    pub ending: &'static str,
    /// A sentence on its output.
    pub about: &'static str,
    /// Writes the whole report.
    pub report: fn(&Report) -> Result<String>,
    /// Writes one table, if the format can.
    pub table: Option<TableForm>,
}

/// How a format writes a table.
#[derive(Clone, Copy, Debug)]
pub enum TableForm {
    /// Text for people.
    Print(fn(&Sheet) -> String),
    /// Unrounded values in the stored unit, for programs.
    Data(fn(&Sheet) -> Result<String>),
}

impl<'a> Report<'a> {
    /// Returns the tree of what was measured.
    pub fn new(input: &'a ReportInput<'a>, formats: &'static [Format]) -> Self {
        Self { input, sections: sections(input.configurations), formats }
    }

    /// Returns the same report, with figures of this width in pixels.
    pub fn wide(mut self, width: f64) -> Self {
        self.sections.iter_mut().for_each(|section| section.width = width);
        self
    }

    /// Returns its chapters.
    pub fn chapters(&self) -> Vec<Chapter<'_, 'a>> {
        chapters(&self.sections)
    }

    /// Returns the same report in another format, without anything that could control a program that shows it; nothing if no format has
    /// this name.
    ///
    /// # Errors
    /// Writing in the format fails.
    pub fn in_format(&self, name: &str) -> Result<Option<String>> {
        let Some(format) = self.formats.iter().find(|format| format.name == name) else { return Ok(None) };
        Ok(Some(clean::text(&(format.report)(self)?).into_owned()))
    }
}
