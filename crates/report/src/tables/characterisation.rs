//! The characterisation table of a probe: rows are calls, columns are systems, cells are minimum, mean and maximum.

mod lines;

use crate::{
    input::ReportInput,
    tree::{Chapter, Datum, Head, Sheet, worth},
    words::{self, NOT_MEASURED, Unit},
};
use lines::Line;

/// The table: the single source for its HTML, LaTeX, Markdown and CSV.
#[derive(Debug)]
pub struct Characterisation {
    /// Its caption.
    pub caption: String,
    /// Its columns: first the measured ones, then other systems of the plan, then those that the study printed.
    pub columns: Vec<System>,
    /// Its rows.
    pub rows: Vec<Call>,
    /// The texts of the marks in the cells: `[1]` refers to the first.
    pub notes: Vec<String>,
    /// The plan's systems that were not measured and have no column.
    pub missing: Vec<String>,
    /// The remarks on its maxima.
    pub seen: Vec<String>,
}

/// A system.
#[derive(Debug)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Whether its numbers are those that a study printed.
    pub published: bool,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// `lock, inherit`.
    pub name: String,
    /// The section with its details, by its number in the chapter.
    pub section: usize,
    /// The content of the second line of its cells: `p99.9`, with the number of samples.
    pub second: &'static str,
    /// The unit of the measured values.
    pub stored: String,
    /// The unit in which the row is written.
    pub unit: Unit,
    /// A cell for each column.
    pub entries: Vec<CallFigures>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CallFigures {
    /// Measured here; values in the stored unit.
    Measured {
        /// Smallest.
        min: f64,
        /// Mean.
        mean: f64,
        /// Largest.
        max: f64,
        /// The 99.9 % quantile (of 1,000 samples the largest but one); absent if there are fewer samples.
        p999: Option<f64>,
        /// The number of samples.
        count: u64,
    },
    /// Printed by the study; values in the stored unit.
    Published {
        /// Smallest, mean and largest.
        figures: [Option<f64>; 3],
        /// The number of its note.
        mark: Option<usize>,
    },
    /// A single figure, for a row about that figure only: a share, a count, a standard deviation in the stored unit.
    Single {
        /// The figure.
        figure: Datum,
        /// The number of measured samples behind it; `None` if the study printed it.
        samples: Option<u64>,
    },
    /// Not measured.
    Absent,
    /// Not printed by the study.
    Unpublished,
}

/// The text for a number that the study does not print.
const NOT_PUBLISHED: &str = "not published";
/// The most systems without measurements that still have columns, in a table of at most [`NARROW`] columns.
const EMPTY_COLUMNS: usize = 2;
const NARROW: usize = 5;

/// Returns the table of a chapter; none for a chapter with a single row and no published numbers to compare.
pub fn characterisation(chapter: &Chapter, input: &ReportInput) -> Option<Characterisation> {
    let columns: Vec<System> =
        chapter.systems.iter().map(|name| System { name: name.clone(), published: false }).collect();
    let lines = lines::of(chapter, &input.published);
    let mut calls: Vec<Call> = lines.iter().map(Line::measured).collect();
    let mut table = Characterisation {
        caption: format!("{}: min / mean / max", chapter.title()),
        columns,
        rows: Vec::new(),
        notes: Vec::new(),
        missing: Vec::new(),
        seen: Vec::new(),
    };
    add_missing(&mut table, &mut calls, input);
    for published in &input.published {
        let printed = |line: &Line| line.printed(&published.rows, &mut table.notes);
        let cells: Vec<CallFigures> = lines.iter().map(printed).collect();
        if cells.iter().any(|cell| *cell != CallFigures::Unpublished) {
            table.columns.push(System { name: published.system.clone(), published: true });
            calls.iter_mut().zip(cells).for_each(|(call, cell)| call.entries.push(cell));
        }
    }
    for (call, line) in calls.iter_mut().zip(&lines) {
        call.unit = line.unit().unwrap_or_else(|| unit(&call.stored, &call.entries));
    }
    table.rows = calls;
    table.seen = worth(chapter.sections.iter().flat_map(|one| &one.series));
    (chapter.is_many() || table.columns.iter().any(|column| column.published)).then_some(table)
}

/// Adds the other systems of the plan: as columns if they are few, else as a list of names.
fn add_missing(table: &mut Characterisation, lines: &mut [Call], input: &ReportInput) {
    let mut absent: Vec<&str> = Vec::new();
    for one in &input.not_measured {
        if !absent.contains(&one.label.as_str()) {
            absent.push(&one.label);
        }
    }
    // A partly measured system has a column already and shows its gaps in the rows.
    absent.retain(|name| table.columns.iter().all(|column| column.name != *name));
    if absent.len() > EMPTY_COLUMNS || table.columns.len() + absent.len() > NARROW {
        table.missing = absent.into_iter().map(String::from).collect();
        return;
    }
    for name in absent {
        table.columns.push(System { name: name.to_owned(), published: false });
        lines.iter_mut().for_each(|line| line.entries.push(CallFigures::Absent));
    }
}

/// Returns the unit that fits the means of a row, preferably the measured ones.
fn unit(stored: &str, entries: &[CallFigures]) -> Unit {
    let measured = entries.iter().filter_map(|entry| match entry {
        CallFigures::Measured { mean, .. } => Some(*mean),
        _ => None,
    });
    let mut means: Vec<f64> = measured.collect();
    if means.is_empty() {
        means.extend(entries.iter().filter_map(|entry| match entry {
            CallFigures::Published { figures: [min, mean, max], .. } => mean.or(*min).or(*max),
            CallFigures::Single { figure, .. } => figure.number(),
            _ => None,
        }));
    }
    means.sort_by(f64::total_cmp);
    Unit::of_row(stored, means.get(means.len() / 2).copied().unwrap_or(1.0))
}

impl CallFigures {
    /// Returns the text of a cell: `56 / 61 / 812`, with the number of a note, or a remark on a missing value.
    pub fn text(&self, unit: &Unit) -> String {
        let (lead, max) = self.parts(unit);
        lead + &max
    }

    /// Returns the same in two parts: the text before the largest measured value, and that value.
    pub fn parts(&self, unit: &Unit) -> (String, String) {
        let lead = match self {
            Self::Measured { min, mean, max, .. } => {
                return (format!("{} / {} / ", unit.text(*min), unit.text(*mean)), unit.text(*max));
            }
            Self::Published { figures, mark } => {
                let text = figures.map(|v| v.map_or_else(|| "–".into(), |v| unit.text(v))).join(" / ");
                mark.map_or_else(|| text.clone(), |mark| format!("{text} [{mark}]"))
            }
            // The unit has a separate column.
            Self::Single { figure, samples } => {
                let text = figure.text(Some(unit));
                let text = text.trim_end_matches(" %");
                // A printed number gets no more digits than the study printed.
                let printed = samples.is_none() && text.contains('.');
                if printed { text.trim_end_matches('0').trim_end_matches('.') } else { text }.to_owned()
            }
            Self::Absent => NOT_MEASURED.into(),
            Self::Unpublished => NOT_PUBLISHED.into(),
        };
        (lead, String::new())
    }

    /// Returns the second line of a cell: `88 (1 000 000)` is p99.9 and the number of samples; for a single figure it is only the number of
    /// samples.
    pub fn tail(&self, unit: &Unit) -> Option<String> {
        match self {
            Self::Measured { p999, count, .. } => {
                let p999 = p999.map_or_else(|| "too few".into(), |v| unit.text(v));
                Some(format!("{p999} ({})", words::count(*count)))
            }
            Self::Single { samples, .. } => samples.map(words::count),
            _ => None,
        }
    }
}

impl Characterisation {
    /// Returns the table for print: two lines per call, values in the row's unit.
    pub fn sheet(&self) -> Sheet {
        let mut caption = format!("{}; second line p99.9 (samples)", self.caption);
        for (number, text) in (1..).zip(&self.notes) {
            caption.push_str(&format!("; [{number}] {text}"));
        }
        if !self.missing.is_empty() {
            caption.push_str(&format!("; not measured: {}", self.missing.join(", ")));
        }
        let head = ["call", "unit"].into_iter().map(String::from).chain(self.columns.iter().map(|c| c.name.clone()));
        let mut rows = Vec::new();
        for line in &self.rows {
            let text = |text: &str| Datum::Text(text.to_owned());
            let mut first = vec![text(&line.name), text(&line.unit.name)];
            let mut second = vec![text(&format!("– {}", line.second)), text(&line.unit.name)];
            for entry in &line.entries {
                first.push(Datum::Text(entry.text(&line.unit)));
                second.push(Datum::Text(entry.tail(&line.unit).unwrap_or_else(|| "–".into())));
            }
            rows.extend([first, second]);
        }
        Sheet::plain(caption, head.map(Head::from).collect(), rows).notes(self.seen.clone())
    }

    /// Returns the table for programs: a row for each call of each system, values in the stored unit. If there are single figures, they
    /// have a separate column.
    pub fn data(&self) -> Sheet {
        let single = |entry: &CallFigures| matches!(entry, CallFigures::Single { .. });
        let singles = self.rows.iter().flat_map(|line| &line.entries).any(single);
        let mut head = vec!["call", "system", "unit", "count", "min", "mean", "p99.9", "max"];
        head.extend(singles.then_some("figure"));
        head.push("note");
        let mut rows = Vec::new();
        for line in &self.rows {
            for (column, entry) in self.columns.iter().zip(&line.entries) {
                let mut row: Vec<Datum> =
                    [&line.name, &column.name, &line.stored].map(|name| Datum::Text(name.clone())).into();
                let (count, figures, figure, note) = self.datum(line, entry);
                row.push(count);
                row.extend(figures);
                row.extend(singles.then_some(figure));
                row.push(Datum::Text(note));
                rows.push(row);
            }
        }
        Sheet::plain(self.caption.clone(), head.into_iter().map(Head::from).collect(), rows)
    }

    /// Returns a cell for programs: count, minimum, mean, p99.9, maximum, the single figure, the note.
    fn datum(&self, line: &Call, entry: &CallFigures) -> (Datum, [Datum; 4], Datum, String) {
        let nothing = || [Datum::Absent, Datum::Absent, Datum::Absent, Datum::Absent];
        match entry {
            CallFigures::Measured { min, mean, max, p999, count } => {
                let p999 = p999.map_or(Datum::TooFew, Datum::Value);
                let [min, mean, max] = [*min, *mean, *max].map(Datum::Value);
                (Datum::Count(*count), [min, mean, p999, max], Datum::Absent, String::new())
            }
            CallFigures::Published { figures, mark } => {
                let [min, mean, max] = figures.map(Datum::value);
                let note = mark.and_then(|mark| self.notes.get(mark.checked_sub(1)?));
                let note = note.map_or_else(|| "published".into(), |text| format!("published; {text}"));
                (Datum::Absent, [min, mean, Datum::Absent, max], Datum::Absent, note)
            }
            CallFigures::Single { figure, samples } => {
                let note = if samples.is_some() { "" } else { "published" };
                (samples.map_or(Datum::Absent, Datum::Count), nothing(), figure.clone(), note.into())
            }
            CallFigures::Absent | CallFigures::Unpublished => {
                (Datum::Absent, nothing(), Datum::Absent, entry.text(&line.unit))
            }
        }
    }
}

#[cfg(test)]
mod tests;
