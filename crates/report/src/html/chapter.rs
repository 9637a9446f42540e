//! A chapter for the template: the characterisation table, the figures over all calls, then the details.

use super::parts::{Copy, LegendEntry, Picture, SectionView, copies};
use crate::{
    figures::OVERVIEWS,
    tables::characterisation::{Call, CallFigures, Characterisation, characterisation},
    tree::{Chapter, Format, Report, SHOWN, Section},
    words,
};

/// A chapter.
pub struct ChapterView {
    pub index: usize,
    pub title: String,
    pub probe: String,
    /// The conditions of the measurement that all of it shares.
    pub about: String,
    /// Whether it has a separate heading above those of its sections.
    pub headed: bool,
    /// Whether its sections are folded away below the table.
    pub folded: bool,
    pub table: Option<TableView>,
    pub legend: Vec<LegendEntry>,
    pub overviews: Vec<Picture>,
    pub sections: Vec<SectionView>,
}

/// The characterisation table.
pub struct TableView {
    pub caption: String,
    /// The number of measured columns and of published columns.
    pub spans: (usize, usize),
    pub head: Vec<(String, &'static str)>,
    pub rows: Vec<RowView>,
    /// Number and text.
    pub notes: Vec<(usize, String)>,
    /// Systems without a column, as one text.
    pub missing: String,
    /// The remarks on the maxima.
    pub seen: String,
    pub copies: Vec<Copy>,
}

/// A call.
pub struct RowView {
    pub name: String,
    /// The number of the section with its details.
    pub section: usize,
    pub unit: String,
    pub cells: Vec<CellView>,
}

/// A cell: `56 / 61 / `, `812`, and the line below it.
pub struct CellView {
    pub class: &'static str,
    pub lead: String,
    pub max: String,
    pub tail: String,
    /// The note on it.
    pub note: String,
}

impl ChapterView {
    /// Returns the view of a chapter whose sections are ready.
    pub fn of(index: usize, chapter: &Chapter, report: &Report, sections: Vec<SectionView>) -> Self {
        let table = characterisation(chapter, report.input).map(|table| TableView::of(chapter, &table, report.formats));
        let fitting = OVERVIEWS.iter().filter(|figure| (figure.fits)(chapter));
        let overviews: Vec<Picture> = fitting.map(|figure| Picture::over(chapter, figure)).collect();
        let legend = chapter.systems.iter().take(SHOWN).enumerate();
        Self {
            index,
            title: chapter.title(),
            probe: chapter.probe.to_owned(),
            about: chapter.sections.first().map(super::parts::about).unwrap_or_default(),
            headed: table.is_some() || !overviews.is_empty(),
            folded: chapter.is_folded(),
            table,
            legend: legend.map(|(slot, name)| LegendEntry { slot, name: name.clone() }).collect(),
            overviews,
            sections,
        }
    }
}

impl TableView {
    fn of(chapter: &Chapter, table: &Characterisation, formats: &[Format]) -> Self {
        let class = |i: usize| match table.columns.get(i) {
            Some(column) if column.published && (i == 0 || table.columns.get(i - 1).is_some_and(|c| !c.published)) => {
                "published first"
            }
            Some(column) if column.published => "published",
            _ => "",
        };
        let published = table.columns.iter().filter(|column| column.published).count();
        let cell = |line: &Call, (i, entry): (usize, &CallFigures)| {
            let (lead, max) = entry.parts(&line.unit);
            let note = match entry {
                CallFigures::Published { mark: Some(mark), .. } => {
                    mark.checked_sub(1).and_then(|at| table.notes.get(at)).cloned()
                }
                _ => None,
            };
            let absent = matches!(entry, CallFigures::Absent | CallFigures::Unpublished);
            CellView {
                class: match (absent, class(i)) {
                    (true, "") => "missing",
                    (true, "published first") => "missing published first",
                    (true, _) => "missing published",
                    (false, class) => class,
                },
                lead,
                max,
                tail: entry.tail(&line.unit).map(|tail| format!("{} {tail}", line.second)).unwrap_or_default(),
                note: note.unwrap_or_default(),
            }
        };
        let row = |line: &Call| RowView {
            name: line.name.clone(),
            section: chapter.first + line.section,
            unit: line.unit.name.clone(),
            cells: line.entries.iter().enumerate().map(|entry| cell(line, entry)).collect(),
        };
        Self {
            caption: table.caption.clone(),
            spans: (table.columns.len() - published, published),
            head: table.columns.iter().enumerate().map(|(i, column)| (column.name.clone(), class(i))).collect(),
            rows: table.rows.iter().map(row).collect(),
            notes: (1..).zip(table.notes.iter().cloned()).collect(),
            missing: table.missing.join(", "),
            seen: table.seen.join("; "),
            copies: copies(&table.sheet(), formats),
        }
    }
}

/// Returns the summary line of a folded section: `2 systems, largest 88.0 µs (busy)`.
pub fn told(section: &Section) -> String {
    let largest = section.series.iter().filter_map(|s| Some((s.max()?, s))).max_by(|a, b| a.0.total_cmp(&b.0));
    match (largest, section.series.len()) {
        (None, _) => words::NOT_MEASURED.into(),
        (Some((max, _)), 1) => format!("largest {}", section.value(max)),
        (Some((max, series)), n) => format!("{n} systems, largest {} ({})", section.value(max), series.name),
    }
}
