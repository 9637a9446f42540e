//! What a report says, as one tree: chapters of sections, tables and figures over them. Every format renders this one.

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

/// A report: what it is made from, and its sections.
#[derive(Debug)]
pub struct Report<'a> {
    /// What it is made from.
    pub input: &'a ReportInput<'a>,
    /// All that was measured, probe by probe.
    pub sections: Vec<Section<'a>>,
    /// The formats that it may be asked for: a page offers its tables and data in them.
    pub formats: &'static [Format],
}

/// A format of reports, of single tables, or of both.
#[derive(Debug)]
pub struct Format {
    /// What it is asked for by: `markdown`.
    pub name: &'static str,
    /// What people call it: `Markdown`.
    pub title: &'static str,
    /// The ending of a file's name.
    pub ending: &'static str,
    /// What comes of it, in a sentence.
    pub about: &'static str,
    /// The whole report.
    pub report: fn(&Report) -> Result<String>,
    /// How it writes one table, where it can.
    pub table: Option<TableForm>,
}

/// How a format writes a table.
#[derive(Clone, Copy, Debug)]
pub enum TableForm {
    /// As people read it.
    Print(fn(&Sheet) -> String),
    /// Whole values in the stored unit, for programs.
    Data(fn(&Sheet) -> Result<String>),
}

impl<'a> Report<'a> {
    /// The tree of what was measured.
    pub fn new(input: &'a ReportInput<'a>, formats: &'static [Format]) -> Self {
        Self { input, sections: sections(input.configurations), formats }
    }

    /// The same report, with figures of this width in pixels.
    pub fn wide(mut self, width: f64) -> Self {
        self.sections.iter_mut().for_each(|section| section.width = width);
        self
    }

    /// Its chapters.
    pub fn chapters(&self) -> Vec<Chapter<'_, 'a>> {
        chapters(&self.sections)
    }

    /// The same report in another format, with nothing in it that acts on whatever shows it; nothing where there is no
    /// format of this name.
    ///
    /// # Errors
    /// Those of the format.
    pub fn in_format(&self, name: &str) -> Result<Option<String>> {
        let Some(format) = self.formats.iter().find(|format| format.name == name) else { return Ok(None) };
        Ok(Some(clean::text(&(format.report)(self)?).into_owned()))
    }
}
