//! The pieces of a section: tables, the same to be copied, figures with their forms, the legend.

use crate::{
    figures::{Chart, Overview, svg::Drawing},
    tree::{Chapter, Curve, Datum, Format, Section, Sheet, TableForm},
};

/// A section as the template reads it.
pub struct SectionView {
    pub index: usize,
    pub title: String,
    /// Its name and what it says of itself under the heading of its chapter.
    pub short: String,
    pub told: String,
    pub key: String,
    pub about: String,
    pub unit: String,
    /// Quantiles that no series has samples enough for.
    pub unsupported: String,
    pub summary: SheetView,
    pub copies: Vec<Copy>,
    pub range_heading: String,
    pub ranges: Vec<String>,
    pub legend: Vec<LegendEntry>,
    pub hidden: usize,
    pub figures: Vec<Picture>,
    pub samples: SheetView,
    pub slots: Option<SheetView>,
}

/// A table as the template reads it.
pub struct SheetView {
    pub caption: String,
    pub head: Vec<String>,
    /// The row's name and its cells.
    pub rows: Vec<(String, Vec<DatumView>)>,
}

/// A cell of a table.
pub struct DatumView {
    pub text: String,
    /// `""`, `text`, `over` (its limit) or `missing`.
    pub class: &'static str,
}

impl SheetView {
    /// The table of a sheet.
    pub fn of(sheet: &Sheet) -> Self {
        let cell = |(datum, text): (&Datum, String)| {
            let class = if datum.is_missing() {
                "missing"
            } else if datum.is_text() {
                "text"
            } else if matches!(datum, Datum::Over(_)) {
                "over"
            } else {
                ""
            };
            DatumView { text, class }
        };
        let row = |row: &Vec<Datum>| {
            let mut texts = sheet.texts(row).into_iter();
            let name = texts.next().unwrap_or_default();
            (name, row.iter().skip(1).zip(texts).map(cell).collect())
        };
        Self { caption: sheet.caption(), head: sheet.headings(), rows: sheet.rows.iter().map(row).collect() }
    }
}

/// A table as text of another format.
pub struct Copy {
    /// The format's name, for the element's.
    pub name: &'static str,
    /// `LaTeX`.
    pub title: &'static str,
    pub text: String,
}

/// A table in every format that people paste into papers and issues.
pub fn copies(sheet: &Sheet, formats: &[Format]) -> Vec<Copy> {
    let copy = |format: &Format| match format.table {
        Some(TableForm::Print(write)) => Some(Copy { name: format.name, title: format.title, text: write(sheet) }),
        _ => None,
    };
    formats.iter().filter_map(copy).collect()
}

/// A figure with its forms and the table behind it.
pub struct Picture {
    pub name: &'static str,
    pub title: &'static str,
    pub about: String,
    /// Name of the form (empty when there is one only) and the drawing.
    pub forms: Vec<(String, String)>,
    pub table: SheetView,
}

impl Picture {
    /// Draws a figure of a section.
    pub fn of(section: &Section, figure: &Chart) -> Self {
        let (about, table) = ((figure.about)(section), (figure.table)(section));
        Self::new(figure.name, figure.title, about, &(figure.draw)(section), &table)
    }

    /// Draws a figure of a chapter.
    pub fn over(chapter: &Chapter, figure: &Overview) -> Self {
        let (about, table) = ((figure.about)(chapter), (figure.table)(chapter));
        Self::new(figure.name, figure.title, about, &(figure.draw)(chapter), &table)
    }

    fn new(name: &'static str, title: &'static str, about: String, drawings: &[Drawing], table: &Sheet) -> Self {
        let forms = drawings.iter().map(|d| (d.variant.clone().unwrap_or_default(), d.inline())).collect();
        Self { name, title, about, forms, table: SheetView::of(table) }
    }
}

/// An entry of the legend, which also switches its series.
pub struct LegendEntry {
    pub slot: usize,
    pub name: String,
}

/// The legend of the series that figures show.
pub fn legend(section: &Section) -> Vec<LegendEntry> {
    let entry = |(slot, series): (usize, &Curve)| LegendEntry { slot, name: series.name.clone() };
    section.shown().iter().enumerate().map(entry).collect()
}

/// What was measured how, where all configurations agree on it.
pub fn about(section: &Section) -> String {
    let agreed = |what: &dyn Fn(&latido_model::cell::Cell) -> Option<String>| {
        let mut values = section.series.iter().map(|s| what(&s.configuration.cell));
        let first = values.next()??;
        values.all(|v| v.as_ref() == Some(&first)).then_some(first)
    };
    let period = |c: &latido_model::cell::Cell| Some(format!("period {}", c.probe.options.get("period")?.as_str()?));
    [
        agreed(&period),
        agreed(&|c| Some(c.scheduling.to_string())),
        agreed(&|c| Some(format!("CPUs {}", c.conditions.cpus.as_ref()?))),
        agreed(&|c| Some(format!("{} each", c.conditions.duration))),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" · ")
}
