//! The characterisation table of a probe: rows are calls, columns systems, cells minimum, mean and maximum.

mod lines;

use crate::{
    input::ReportInput,
    tree::{Chapter, Datum, Head, Sheet, worth},
    words::{self, NOT_MEASURED, Unit},
};
use lines::Line;

/// The table, the one source of its HTML, LaTeX, Markdown and CSV.
#[derive(Debug)]
pub struct Characterisation {
    /// What it shows.
    pub caption: String,
    /// Its columns: those measured, those that the plan has besides, then those that the study printed.
    pub columns: Vec<System>,
    /// Its rows.
    pub rows: Vec<Call>,
    /// What the marks in the cells mean: `[1]` the first of them.
    pub notes: Vec<String>,
    /// The plan's systems that were not measured and have no column of their own.
    pub missing: Vec<String>,
    /// What stands beside its maxima.
    pub seen: Vec<String>,
}

/// A system.
#[derive(Debug)]
pub struct System {
    /// Its name.
    pub name: String,
    /// Whether its numbers are printed ones of a study.
    pub published: bool,
}

/// A call.
#[derive(Debug)]
pub struct Call {
    /// `lock, inherit`.
    pub name: String,
    /// The section with its details, by its number in the chapter.
    pub section: usize,
    /// What the second line of its cells is: `p99.9`, with the number of samples.
    pub second: &'static str,
    /// The unit of the measured values.
    pub stored: String,
    /// The unit that the row is written in.
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
        /// Of 1,000 samples the largest but one; absent where there are fewer.
        p999: Option<f64>,
        /// How many.
        count: u64,
    },
    /// Printed by the study; values in the stored unit.
    Published {
        /// Smallest, mean and largest.
        figures: [Option<f64>; 3],
        /// The number of the note on it.
        mark: Option<usize>,
    },
    /// One figure, of a row that is about it alone: a share, a count, a standard deviation in the stored unit.
    Single {
        /// The figure.
        figure: Datum,
        /// Of how many samples measured here; `None` where the study printed it.
        samples: Option<u64>,
    },
    /// Not measured.
    Absent,
    /// Not printed by the study.
    Unpublished,
}

/// What stands for a number that the study does not print.
const NOT_PUBLISHED: &str = "not published";
/// So many systems that were not measured still have columns of their own, in a table that is no wider than this.
const EMPTY_COLUMNS: usize = 2;
const NARROW: usize = 5;

/// The table of a chapter; none where it has one row only and nothing published to set beside it.
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

/// Adds the systems that the plan has besides: as columns where they are few, else by name.
fn add_missing(table: &mut Characterisation, lines: &mut [Call], input: &ReportInput) {
    let mut absent: Vec<&str> = Vec::new();
    for one in &input.not_measured {
        if !absent.contains(&one.label.as_str()) {
            absent.push(&one.label);
        }
    }
    // What was measured in part shows its gaps in the rows.
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

/// The unit that suits the means of a row, measured ones first.
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
    /// `56 / 61 / 812`, with the number of a note; what is not there is said.
    pub fn text(&self, unit: &Unit) -> String {
        let (lead, max) = self.parts(unit);
        lead + &max
    }

    /// The same in two parts: what stands before the largest value measured here, and that value.
    pub fn parts(&self, unit: &Unit) -> (String, String) {
        let lead = match self {
            Self::Measured { min, mean, max, .. } => {
                return (format!("{} / {} / ", unit.text(*min), unit.text(*mean)), unit.text(*max));
            }
            Self::Published { figures, mark } => {
                let text = figures.map(|v| v.map_or_else(|| "–".into(), |v| unit.text(v))).join(" / ");
                mark.map_or_else(|| text.clone(), |mark| format!("{text} [{mark}]"))
            }
            // The unit has a column of its own.
            Self::Single { figure, samples } => {
                let text = figure.text(Some(unit));
                let text = text.trim_end_matches(" %");
                // What was printed has no more digits than were printed.
                let printed = samples.is_none() && text.contains('.');
                if printed { text.trim_end_matches('0').trim_end_matches('.') } else { text }.to_owned()
            }
            Self::Absent => NOT_MEASURED.into(),
            Self::Unpublished => NOT_PUBLISHED.into(),
        };
        (lead, String::new())
    }

    /// The second line. `88 (1 000 000)`: p99.9 and how many samples there were; of a single figure the samples alone.
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
    /// The table for print: two lines a call, values in the row's unit.
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

    /// The table for programs: a row for each call of each system, values in the stored unit. The single figures of
    /// rows that are about one alone have a column where there are any.
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

    /// A cell for programs: count, minimum, mean, p99.9, maximum, the single figure, the note.
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
