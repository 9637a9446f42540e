//! The characterisation table of a probe: rows are calls, columns systems, cells minimum, mean and maximum.

use crate::{
    input::ReportInput,
    judge::label,
    tree::{CallRow, Chapter, Curve, Datum, Head, Section, Sheet},
    words::{self, NOT_MEASURED, Unit, in_ns},
};

/// The table, the one source of its HTML, LaTeX, Markdown and CSV.
#[derive(Debug)]
pub struct Characterisation {
    /// What it shows.
    pub caption: String,
    /// Its columns: those measured, those that the plan has besides, then those that the study printed.
    pub columns: Vec<System>,
    /// Its rows.
    pub rows: Vec<Call>,
    /// What marks in the cells mean, sign and text.
    pub notes: Vec<(&'static str, String)>,
    /// The plan's systems that were not measured and have no column of their own.
    pub missing: Vec<String>,
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
        /// The sign of the note on it.
        sign: Option<&'static str>,
    },
    /// Not measured.
    Absent,
    /// Not printed by the study.
    Unpublished,
}

/// What stands for a number that the study does not print.
const NOT_PUBLISHED: &str = "not published";
/// Signs of notes; the last one stands for all further notes.
const SIGNS: [&str; 4] = ["†", "‡", "§", "¶"];
/// So many systems that were not measured still have columns of their own, in a table that is no wider than this.
const EMPTY_COLUMNS: usize = 2;
const NARROW: usize = 5;

/// The table of a chapter; none where it has one row only and nothing published to set beside it.
pub fn characterisation(chapter: &Chapter, input: &ReportInput) -> Option<Characterisation> {
    let mut notes = Vec::new();
    let columns: Vec<System> =
        chapter.systems.iter().map(|name| System { name: name.clone(), published: false }).collect();
    let mut lines: Vec<Call> = chapter.rows.iter().filter_map(|row| line(chapter, row)).collect();
    let mut table = Characterisation {
        caption: format!("{}: min / mean / max", chapter.title()),
        columns,
        rows: Vec::new(),
        notes: Vec::new(),
        missing: Vec::new(),
    };
    add_missing(&mut table, &mut lines, input);
    for published in &input.published {
        let cells: Vec<CallFigures> = chapter
            .rows
            .iter()
            .zip(&lines)
            .map(|(row, line)| printed(chapter, row, &line.stored, &published.rows, &mut notes))
            .collect();
        if cells.iter().any(|cell| *cell != CallFigures::Unpublished) {
            table.columns.push(System { name: published.system.clone(), published: true });
            lines.iter_mut().zip(cells).for_each(|(line, cell)| line.entries.push(cell));
        }
    }
    for line in &mut lines {
        line.unit = unit(&line.stored, &line.entries);
    }
    table.notes = notes;
    table.rows = lines;
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

/// A row without its unit, which the published columns may still decide.
fn line(chapter: &Chapter, row: &CallRow) -> Option<Call> {
    let section: &Section = chapter.section(row)?;
    Some(Call {
        name: row.name.clone(),
        section: row.section,
        stored: section.unit.to_owned(),
        unit: Unit::stored(section.unit),
        entries: row.series.iter().map(|series| series.map_or(CallFigures::Absent, measured)).collect(),
    })
}

fn measured(series: &Curve) -> CallFigures {
    match (series.min(), series.pooled.summary.mean, series.max()) {
        (Some(min), Some(mean), Some(max)) => {
            CallFigures::Measured { min, mean, max, p999: series.quantile("0.999"), count: series.pooled.summary.count }
        }
        _ => CallFigures::Absent,
    }
}

/// What the study printed of a row.
fn printed(
    chapter: &Chapter,
    row: &CallRow,
    stored: &str,
    rows: &[crate::study::PublishedRow],
    notes: &mut Vec<(&'static str, String)>,
) -> CallFigures {
    let Some((section, ns)) = chapter.section(row).zip(in_ns(stored)) else { return CallFigures::Unpublished };
    let options = row.series.iter().flatten().map(|s| &s.configuration.cell.probe.options).next();
    let has = |key: &String, value: &String| options.and_then(|o| o.get(key)).is_some_and(|v| label::said(v) == *value);
    let belongs = |one: &&crate::study::PublishedRow| {
        (one.probe.as_str(), one.quantity.as_str()) == (section.probe, section.quantity)
            && one.labels.iter().all(|(key, value)| section.labels.get(key) == Some(value))
            && one.options.iter().all(|(key, value)| has(key, value))
    };
    let Some(one) = rows.iter().find(belongs) else { return CallFigures::Unpublished };
    let figures = [one.min, one.mean, one.max].map(|v| v.filter(|v| v.is_finite()).map(|v| v / ns));
    if figures.iter().all(Option::is_none) {
        return CallFigures::Unpublished;
    }
    CallFigures::Published { figures, sign: one.doubt().map(|doubt| sign(notes, doubt)) }
}

/// The sign of a note, the same for the same text.
fn sign(notes: &mut Vec<(&'static str, String)>, text: String) -> &'static str {
    if let Some((sign, _)) = notes.iter().find(|(_, known)| *known == text) {
        return sign;
    }
    let sign = SIGNS.get(notes.len()).or(SIGNS.last()).copied().unwrap_or("*");
    notes.push((sign, text));
    sign
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
            _ => None,
        }));
    }
    means.sort_by(f64::total_cmp);
    Unit::of_row(stored, means.get(means.len() / 2).copied().unwrap_or(1.0))
}

impl CallFigures {
    /// `56 / 61 / 812`, with the sign of a note; what is not there is said.
    pub fn text(&self, unit: &Unit) -> String {
        let join = |figures: [String; 3]| figures.join(" / ");
        match self {
            Self::Measured { min, mean, max, .. } => join([*min, *mean, *max].map(|v| unit.text(v))),
            Self::Published { figures, sign } => {
                let text = join(figures.map(|v| v.map_or_else(|| "–".into(), |v| unit.text(v))));
                sign.map_or_else(|| text.clone(), |sign| format!("{text} {sign}"))
            }
            Self::Absent => NOT_MEASURED.into(),
            Self::Unpublished => NOT_PUBLISHED.into(),
        }
    }

    /// `88 (1 000 000)`: p99.9 and how many samples there were.
    pub fn tail(&self, unit: &Unit) -> Option<String> {
        match self {
            Self::Measured { p999, count, .. } => {
                let p999 = p999.map_or_else(|| "too few".into(), |v| unit.text(v));
                Some(format!("{p999} ({})", words::count(*count)))
            }
            _ => None,
        }
    }
}

impl Characterisation {
    /// The table for print: two lines a call, values in the row's unit.
    pub fn sheet(&self) -> Sheet {
        let mut caption = format!("{}; second line p99.9 (samples)", self.caption);
        for (sign, text) in &self.notes {
            caption.push_str(&format!("; {sign} {text}"));
        }
        if !self.missing.is_empty() {
            caption.push_str(&format!("; not measured: {}", self.missing.join(", ")));
        }
        let head = ["call", "unit"].into_iter().map(String::from).chain(self.columns.iter().map(|c| c.name.clone()));
        let mut rows = Vec::new();
        for line in &self.rows {
            let text = |text: &str| Datum::Text(text.to_owned());
            let mut first = vec![text(&line.name), text(&line.unit.name)];
            let mut second = vec![text("– p99.9"), text(&line.unit.name)];
            for entry in &line.entries {
                first.push(Datum::Text(entry.text(&line.unit)));
                second.push(Datum::Text(entry.tail(&line.unit).unwrap_or_else(|| "–".into())));
            }
            rows.extend([first, second]);
        }
        Sheet::plain(caption, head.map(Head::from).collect(), rows)
    }

    /// The table for programs: a row for each call of each system, values in the stored unit.
    pub fn data(&self) -> Sheet {
        let head = ["call", "system", "unit", "count", "min", "mean", "p99.9", "max", "note"];
        let mut rows = Vec::new();
        for line in &self.rows {
            for (column, entry) in self.columns.iter().zip(&line.entries) {
                let (count, figures, note) = match entry {
                    CallFigures::Measured { min, mean, max, p999, count } => {
                        let p999 = p999.map_or(Datum::TooFew, Datum::Value);
                        let [min, mean, max] = [*min, *mean, *max].map(Datum::Value);
                        (Datum::Count(*count), [min, mean, p999, max], String::new())
                    }
                    CallFigures::Published { figures, sign } => {
                        let [min, mean, max] = figures.map(Datum::value);
                        let note = self.notes.iter().find(|(known, _)| Some(*known) == *sign);
                        let note = note.map_or_else(|| "published".into(), |(_, text)| format!("published; {text}"));
                        (Datum::Absent, [min, mean, Datum::Absent, max], note)
                    }
                    CallFigures::Absent | CallFigures::Unpublished => {
                        let nothing = [Datum::Absent, Datum::Absent, Datum::Absent, Datum::Absent];
                        (Datum::Absent, nothing, entry.text(&line.unit))
                    }
                };
                let names = [&line.name, &column.name, &line.stored].map(|name| Datum::Text(name.clone()));
                rows.push(names.into_iter().chain([count]).chain(figures).chain([Datum::Text(note)]).collect());
            }
        }
        Sheet::plain(self.caption.clone(), head.map(Head::from).into(), rows)
    }
}

#[cfg(test)]
mod tests;
