//! The tables that a plan declares, laid out as in its study: latido's number, below it the study's, then the ratio.

use crate::{
    tree::{
        Datum, Head, Sheet,
        declared::{Entry, Figured, Lookup, about_repeats, heading},
        percent, worth,
    },
    words::{self, NOT_MEASURED, Unit},
};
use latido_model::plan::{Layout, Over, Pick, Statistic, Table};

/// A declared table with its numbers.
#[derive(Debug)]
pub struct DeclaredTable {
    /// `Table 1. Mutex calls`.
    pub heading: String,
    /// A name for files: `table-1`.
    pub stem: String,
    /// A description of its numbers: `min / mean / max; median over 10 repeats`.
    pub about: String,
    /// The heads of its columns, and how many columns each spans.
    pub columns: Vec<(String, usize)>,
    /// The second line of heads, if figures have separate columns.
    pub statistics: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What the reader must know about it.
    pub notes: Vec<String>,
}

/// A row.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The unit of its values.
    pub unit: String,
    /// Its cells.
    pub cells: Vec<CellText>,
    /// The unrounded numbers of each column.
    pub figures: Vec<Vec<Figured>>,
}

/// A cell for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellText {
    /// latido's number.
    pub ours: String,
    /// Whether latido's number is missing.
    pub missing: bool,
    /// The study's number; empty if it printed none.
    pub printed: String,
    /// latido's number as a multiple of the study's; empty if one of them is missing.
    pub ratio: String,
}

/// Returns the declared tables.
pub fn all(lookup: Lookup) -> Vec<DeclaredTable> {
    let tables = &lookup.declared.plan.tables;
    let stem = |table: &Table, at: usize| {
        table.number.as_ref().map_or(format!("{}", at + 1), |number| number.replace(' ', "-"))
    };
    let both = |(at, table): (usize, &Table)| {
        let stem = format!("table-{}", stem(table, at));
        let entry = |row: &Pick, column| lookup.entry(&row.with(column), &table.printed, &table.statistics, table.over);
        let row = |row| table.columns.iter().map(|column| entry(row, column)).collect();
        let entries: Vec<Vec<Entry>> = table.rows.iter().map(row).collect();
        let sides: &[Side] = if is_emulated(&entries) { &[Side::Ours, Side::Study] } else { &[Side::Both] };
        sides.iter().map(|side| one(lookup, table, side.all(&entries), &stem, *side)).collect::<Vec<_>>()
    };
    tables.iter().enumerate().flat_map(both).collect()
}

/// The origin of a table's numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// latido's numbers, with the study's below them.
    Both,
    /// Only latido's numbers, because they are emulated: the study's have a separate table.
    Ours,
    /// Only the study's numbers.
    Study,
}

/// Returns whether a table has both printed numbers and emulated ones, whose ratio has no meaning.
fn is_emulated(entries: &[Vec<Entry>]) -> bool {
    let has = |of: &dyn Fn(&Figured) -> bool| entries.iter().flatten().flat_map(|entry| &entry.figures).any(of);
    has(&|one| one.emulated) && has(&|one| one.printed.is_some())
}

impl Side {
    /// Returns all entries for this kind of table.
    fn all<'r, 'a>(self, entries: &[Vec<Entry<'r, 'a>>]) -> Vec<Vec<Entry<'r, 'a>>> {
        let entry = |one: &Entry<'r, 'a>| Entry {
            figures: one.figures.iter().cloned().map(|figured| self.of(figured)).collect(),
            ..*one
        };
        entries.iter().map(|row| row.iter().map(entry).collect()).collect()
    }

    /// Returns a number for this kind of table.
    fn of(self, one: Figured) -> Figured {
        match self {
            Self::Both => one,
            Self::Ours => Figured { printed: None, doubt: String::new(), ..one },
            // The study's numbers take the place of latido's.
            Self::Study => Figured { ours: one.printed, printed: None, emulated: false, ..one },
        }
    }
}

fn one(lookup: Lookup, table: &Table, entries: Vec<Vec<Entry>>, stem: &str, side: Side) -> DeclaredTable {
    let mut notes: Vec<String> = table.note.iter().cloned().collect();
    notes.extend((side == Side::Ours).then(|| NO_TIMES.to_owned()));
    for (row, entries) in table.rows.iter().zip(&entries) {
        for (column, entry) in table.columns.iter().zip(entries) {
            let doubts = entry.figures.iter().filter(|one| !one.doubt.is_empty());
            for doubt in doubts.map(|one| format!("{}, {}: {}", row.heading(), column.heading(), one.doubt)) {
                if !notes.contains(&doubt) {
                    notes.push(doubt);
                }
            }
        }
    }
    let every: Vec<&Entry> = entries.iter().flatten().collect();
    let measured_here = side != Side::Study;
    if measured_here && every.iter().any(|entry| entry.fitting > 1) {
        notes.push("Several configurations belong to a cell: the first is shown.".into());
    }
    if measured_here && table.statistics.contains(&Statistic::Max) {
        let measured = every.iter().filter_map(|entry| entry.found.as_ref());
        notes.extend(worth(measured.map(|found| found.curve)).into_iter().map(|text| text + "."));
    }
    let printed = every.iter().flat_map(|entry| &entry.figures).any(|figured| figured.printed.is_some());
    let apart = table.layout == Layout::Apart;
    let names: Vec<String> = table.statistics.iter().map(|one| statistic_name(*one, table.over)).collect();
    let shape = if apart || names.is_empty() { String::new() } else { names.join(" / ") };
    let below = printed.then(|| "below: the study's, and ours as a multiple of it".to_owned());
    let shape = Some(shape).filter(|shape| !shape.is_empty());
    let ours = measured_here.then(|| [about_repeats(&every, table.over), scaled(lookup), below]);
    let about = [shape].into_iter().chain(ours.into_iter().flatten());
    let (suffix, title) = match side {
        Side::Study => ("-published", format!("{}, as the study printed it", table.title)),
        Side::Both | Side::Ours => ("", table.title.clone()),
    };
    DeclaredTable {
        heading: heading("Table", table.number.as_deref(), &title),
        stem: format!("{stem}{suffix}"),
        about: about.flatten().collect::<Vec<_>>().join("; "),
        columns: table
            .columns
            .iter()
            .map(|column| (column.heading(), if apart { table.statistics.len().max(1) } else { 1 }))
            .collect(),
        statistics: if apart { names } else { Vec::new() },
        rows: rows(table, entries, side),
        notes,
    }
}

/// Returns which share of the published size was measured, if it was not all: rare events are then missing.
pub fn scaled(lookup: Lookup) -> Option<String> {
    let share = words::share_of_size(lookup.declared.plan.scaled?);
    Some(format!("at {share} of the published size"))
}

/// Returns the name of a statistic: `max`, `above 100 µs`, `up to 1 µs`.
pub fn statistic_name(statistic: Statistic, over: Over) -> String {
    match (statistic, over) {
        (Statistic::Above(edge), _) => format!("above {}", words::round_value(edge as f64, "ns")),
        (Statistic::Share(edge), _) => format!("up to {}", words::round_value(edge as f64, "ns")),
        (Statistic::Mean, Over::Each(_)) => "avg".into(),
        (Statistic::Variance, _) => "variance (unit²)".into(),
        (statistic, _) => statistic.to_string(),
    }
}

/// Above this ratio of the largest to the smallest value, each row of a table has its unit.
const MOST_OF_ONE_UNIT: f64 = 1e4;

fn rows(table: &Table, entries: Vec<Vec<Entry>>, side: Side) -> Vec<Row> {
    let typical: Vec<Option<(f64, &'static str)>> = entries.iter().map(|row| typical(row)).collect();
    let mut values: Vec<f64> = typical.iter().flatten().map(|(value, _)| *value).filter(|value| *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let near = values.first().zip(values.last()).is_some_and(|(low, high)| *high <= low * MOST_OF_ONE_UNIT);
    let middle = values.get(values.len() / 2).copied().filter(|_| near);
    let unit =
        |own: &Option<(f64, &'static str)>| own.map(|(value, stored)| Unit::of_row(stored, middle.unwrap_or(value)));
    let apart = table.layout == Layout::Apart;
    let each = table.rows.iter().zip(&typical).zip(entries);
    each.map(|((row, own), entries)| row_of(row.heading(), unit(own), entries, (apart, side))).collect()
}

/// Returns the typical value of a row and its stored unit, preferably from latido's numbers.
fn typical(row: &[Entry]) -> Option<(f64, &'static str)> {
    let valued = || {
        row.iter()
            .flat_map(|entry| &entry.figures)
            .filter(|one| !one.unit.is_empty() && one.statistic != Statistic::Variance)
    };
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let stored = valued().next()?.unit;
    let ours = middle(valued().filter_map(|one| one.ours).collect());
    let typical = ours.or_else(|| middle(valued().filter_map(|one| one.printed).collect()));
    Some((typical.unwrap_or(1.0), stored))
}

fn row_of(name: String, unit: Option<Unit>, entries: Vec<Entry>, (apart, side): (bool, Side)) -> Row {
    let measured: Vec<bool> = entries.iter().map(|entry| side == Side::Study || entry.found.is_some()).collect();
    let nothing = if side == Side::Study { "–" } else { TOO_FEW };
    let figures: Vec<Vec<Figured>> = entries.into_iter().map(|entry| entry.figures).collect();
    let cell = |all: &[Figured], measured: bool| {
        let printed = all.iter().any(|one| one.printed.is_some());
        let ratio = all.iter().any(|one| one.ratio().is_some());
        let join = |text: &dyn Fn(&Figured) -> Option<String>, nothing: &str| {
            all.iter().map(|one| text(one).unwrap_or_else(|| nothing.into())).collect::<Vec<_>>().join(" / ")
        };
        let ours = |one: &Figured| one.ours.map(|value| text(one, value, unit.as_ref(), words::plain, percent));
        let theirs = |one: &Figured| one.printed.map(|value| text(one, value, unit.as_ref(), whole, whole_percent));
        CellText {
            ours: if measured { join(&ours, nothing) } else { NOT_MEASURED.into() },
            missing: !measured,
            printed: if printed { join(&theirs, "–") } else { String::new() },
            ratio: if ratio { join(&|one| one.ratio().map(times), "–") } else { String::new() },
        }
    };
    let columns = figures.iter().zip(measured);
    let cells = match apart {
        true => columns
            .flat_map(|(all, there)| all.iter().map(move |one| (one, there)))
            .map(|(one, there)| cell(std::slice::from_ref(one), there))
            .collect(),
        false => columns.map(|(all, there)| cell(all, there)).collect(),
    };
    Row { name, unit: unit.map(|unit| unit.name).unwrap_or_default(), cells, figures }
}

/// The note below a table of emulated numbers.
const NO_TIMES: &str =
    "Emulated instructions are not microseconds of the study's machine: compare their order and sign, not their size.";

/// The text for a figure that the samples or the repeats do not determine.
const TOO_FEW: &str = "too few";

/// Returns the ratio of latido's number to the study's: `×1.02`.
pub fn times(ratio: f64) -> String {
    let text = if ratio > 0.0 && ratio < 0.001 { format!("{ratio:.1e}") } else { words::plain(ratio) };
    format!("×{text}")
}

/// Formats a printed number with all its digits.
fn whole(value: f64) -> String {
    let text = format!("{value:.6}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), words::count);
    match part.trim_end_matches('0') {
        "" => whole,
        part => format!("{whole}.{part}"),
    }
}

/// Formats a printed share with all its digits.
fn whole_percent(share: f64) -> String {
    format!("{} %", whole(share * 100.0))
}

/// A way to write a number.
type Digits = fn(f64) -> String;

/// Formats a number for people; a value is in the row's unit. `digits` writes values, and `percent` writes shares.
fn text(figured: &Figured, value: f64, unit: Option<&Unit>, digits: Digits, percent: Digits) -> String {
    match (figured.statistic, unit) {
        (Statistic::Share(_), _) => percent(value),
        _ if figured.unit.is_empty() => words::trimmed(value),
        (Statistic::Variance, Some(unit)) => digits(value / unit.per / unit.per),
        // Whole nanoseconds keep all their digits.
        (_, Some(unit)) if unit.per == 1.0 && value.fract() == 0.0 => unit.text(value),
        (_, Some(unit)) => digits(value / unit.per),
        (_, None) => digits(value),
    }
}

/// Formats a number of latido with its unit, for a caption.
pub fn alone(figured: &Figured, value: f64) -> String {
    match figured.statistic {
        Statistic::Share(_) => percent(value),
        _ if figured.unit.is_empty() => words::trimmed(value),
        Statistic::Variance => {
            let unit = Unit::at(value.max(0.0).sqrt(), figured.unit);
            format!("{}\u{a0}{}²", words::plain(value / unit.per / unit.per), unit.name)
        }
        _ => words::value(value, figured.unit),
    }
}

/// Formats a printed number with its unit and all its digits, for a caption.
pub fn printed_alone(figured: &Figured, value: f64) -> String {
    match figured.statistic {
        Statistic::Share(_) => whole_percent(value),
        _ if figured.unit.is_empty() => words::trimmed(value),
        _ => {
            let unit = Unit::at(value, figured.unit);
            format!("{}\u{a0}{}", whole(value / unit.per), unit.name)
        }
    }
}

impl DeclaredTable {
    /// Returns the table for print: a line for latido's numbers, one for the study's and one for the ratio.
    pub fn sheet(&self) -> Sheet {
        let mut title = format!("{}: {}", self.heading, self.about);
        for note in &self.notes {
            title.push_str(&format!("; {}", note.trim_end_matches('.')));
        }
        let named = |(name, span): &(String, usize)| match self.statistics.as_slice() {
            [] => vec![Head::from(name.clone())],
            statistics => statistics.iter().take(*span).map(|one| Head::from(one.as_str()).of(name)).collect(),
        };
        let head = ["", "unit"].map(Head::from).into_iter().chain(self.columns.iter().flat_map(named));
        let mut rows = Vec::new();
        for row in &self.rows {
            let mut line = |name: &str, of: &dyn Fn(&CellText) -> &str| {
                let cells = row.cells.iter().map(|cell| match of(cell) {
                    "" => Datum::Text("–".into()),
                    NOT_MEASURED => Datum::Absent,
                    text => Datum::Text(text.into()),
                });
                rows.push([name, &row.unit].into_iter().map(|text| Datum::Text(text.into())).chain(cells).collect());
            };
            line(&row.name, &|cell| &cell.ours);
            if row.cells.iter().any(|cell| !cell.printed.is_empty()) {
                line("– published", &|cell| &cell.printed);
            }
            if row.cells.iter().any(|cell| !cell.ratio.is_empty()) {
                line("– ratio", &|cell| &cell.ratio);
            }
        }
        Sheet::plain(title, head.collect(), rows).leading(2)
    }

    /// Returns the table for programs: a row for each number, times in ns, shares from 0 to 1.
    pub fn data(&self) -> Sheet {
        let head = ["row", "column", "statistic", "unit", "ours", "published", "ratio", "note"];
        let mut rows = Vec::new();
        for row in &self.rows {
            for ((column, _), figures) in self.columns.iter().zip(&row.figures) {
                for one in figures {
                    let texts = [&row.name, column, &one.statistic.to_string(), &one.unit.to_string()];
                    let numbers = [one.ours, one.printed, one.ratio()].map(Datum::value);
                    let doubt = Datum::Text(one.doubt.clone());
                    let texts = texts.map(|text| Datum::Text(text.clone())).into_iter();
                    rows.push(texts.chain(numbers).chain([doubt]).collect());
                }
            }
        }
        Sheet::plain(self.heading.clone(), head.into_iter().map(Head::from).collect(), rows)
    }
}

#[cfg(test)]
mod tests;
