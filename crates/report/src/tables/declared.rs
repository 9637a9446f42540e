//! The tables that a plan declares, as its study lays them out: ours above, the study's number under it, then the ratio.

use crate::{
    tree::{
        Datum, Head, Sheet,
        declared::{Entry, Figured, Lookup, about_repeats, heading},
        percent,
    },
    words::{self, NOT_MEASURED, Unit},
};
use latido_model::plan::{Layout, Over, Statistic, Table};

/// A declared table with its numbers.
#[derive(Debug)]
pub struct DeclaredTable {
    /// `Table 1. Mutex calls`.
    pub heading: String,
    /// A name for files: `table-1`.
    pub stem: String,
    /// What its numbers are: `min / mean / max; median over 10 repeats`.
    pub about: String,
    /// The heads of its columns, and how many columns each spans.
    pub columns: Vec<(String, usize)>,
    /// The heads below them, where figures have columns of their own.
    pub statistics: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// What must be known of it.
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
    /// The numbers of each column in whole.
    pub figures: Vec<Vec<Figured>>,
}

/// A cell as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellText {
    /// Ours.
    pub ours: String,
    /// Whether ours is missing.
    pub missing: bool,
    /// The study's; empty where it printed none.
    pub printed: String,
    /// Ours as a multiple of the study's; empty where one is missing.
    pub ratio: String,
}

/// The declared tables.
pub fn all(lookup: Lookup) -> Vec<DeclaredTable> {
    let tables = &lookup.declared.plan.tables;
    let stem = |table: &Table, at: usize| table.number.as_ref().map_or(format!("{}", at + 1), |number| number.replace(' ', "-"));
    tables.iter().enumerate().map(|(at, table)| one(lookup, table, format!("table-{}", stem(table, at)))).collect()
}

fn one(lookup: Lookup, table: &Table, stem: String) -> DeclaredTable {
    let mut notes: Vec<String> = table.note.iter().cloned().collect();
    let mut entries: Vec<Vec<Entry>> = Vec::new();
    for row in &table.rows {
        let cell = |column| lookup.entry(&row.with(column), &table.printed, &table.statistics, table.over);
        entries.push(table.columns.iter().map(cell).collect());
    }
    for figured in entries.iter().flatten().flat_map(|entry| &entry.figures) {
        if !figured.doubt.is_empty() && !notes.contains(&figured.doubt) {
            notes.push(figured.doubt.clone());
        }
    }
    let every: Vec<&Entry> = entries.iter().flatten().collect();
    if every.iter().any(|entry| entry.fitting > 1) {
        notes.push("Several configurations belong to a cell: the first is shown.".into());
    }
    let printed = every.iter().flat_map(|entry| &entry.figures).any(|figured| figured.printed.is_some());
    let apart = table.layout == Layout::Apart;
    let names: Vec<String> = table.statistics.iter().map(|one| statistic_name(*one, table.over)).collect();
    let shape = if apart || names.is_empty() { String::new() } else { names.join(" / ") };
    let below = printed.then(|| "below: the study's, and ours as a multiple of it".to_owned());
    let about = [Some(shape).filter(|shape| !shape.is_empty()), about_repeats(&every, table.over), below];
    DeclaredTable {
        heading: heading("Table", table.number.as_deref(), &table.title),
        stem,
        about: about.into_iter().flatten().collect::<Vec<_>>().join("; "),
        columns: table
            .columns
            .iter()
            .map(|column| (column.heading(), if apart { table.statistics.len().max(1) } else { 1 }))
            .collect(),
        statistics: if apart { names } else { Vec::new() },
        rows: table.rows.iter().zip(entries).map(|(row, entries)| row_of(row.heading(), entries, apart)).collect(),
        notes,
    }
}

/// `max`, `above 100 µs`, `up to 1 µs`.
pub fn statistic_name(statistic: Statistic, over: Over) -> String {
    match (statistic, over) {
        (Statistic::Above(edge), _) => format!("above {}", words::round_value(edge as f64, "ns")),
        (Statistic::Share(edge), _) => format!("up to {}", words::round_value(edge as f64, "ns")),
        (Statistic::Mean, Over::Each(_)) => "avg".into(),
        (statistic, _) => statistic.to_string(),
    }
}

fn row_of(name: String, entries: Vec<Entry>, apart: bool) -> Row {
    let figures: Vec<Vec<Figured>> = entries.into_iter().map(|entry| entry.figures).collect();
    let unit = row_unit(figures.iter().flatten());
    let cell = |all: &[Figured]| {
        let ours = all.iter().any(|one| one.ours.is_some());
        let printed = all.iter().any(|one| one.printed.is_some());
        let ratio = all.iter().any(|one| one.ratio().is_some());
        let join = |text: &dyn Fn(&Figured) -> Option<String>| {
            all.iter().map(|one| text(one).unwrap_or_else(|| "–".into())).collect::<Vec<_>>().join(" / ")
        };
        let number = |value: Option<f64>, one: &Figured| value.map(|value| text(one, value, unit.as_ref()));
        CellText {
            ours: if ours { join(&|one| number(one.ours, one)) } else { NOT_MEASURED.into() },
            missing: !ours,
            printed: if printed { join(&|one| number(one.printed, one)) } else { String::new() },
            ratio: if ratio { join(&|one| one.ratio().map(times)) } else { String::new() },
        }
    };
    let cells = match apart {
        true => figures.iter().flatten().map(|one| cell(std::slice::from_ref(one))).collect(),
        false => figures.iter().map(|all| cell(all)).collect(),
    };
    Row { name, unit: unit.map(|unit| unit.name).unwrap_or_default(), cells, figures }
}

/// `×1.02`, of ours and the study's.
fn times(ratio: f64) -> String {
    let text = if ratio < 0.001 { format!("{ratio:.1e}") } else { words::plain(ratio) };
    format!("×{text}")
}

/// The unit that suits a row: that of its typical value, ours first.
fn row_unit<'f>(figures: impl Iterator<Item = &'f Figured> + Clone) -> Option<Unit> {
    let valued = figures.filter(|one| !one.unit.is_empty());
    let stored = valued.clone().next()?.unit;
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let ours = sorted(valued.clone().filter_map(|one| one.ours).collect());
    let typical = ours.or_else(|| sorted(valued.filter_map(|one| one.printed).collect()));
    Some(Unit::of_row(stored, typical.unwrap_or(1.0)))
}

/// A number as people read it, in the row's unit where it is a value.
fn text(figured: &Figured, value: f64, unit: Option<&Unit>) -> String {
    match figured.statistic {
        Statistic::Share(_) => percent(value),
        _ if figured.unit.is_empty() => words::trimmed(value),
        _ => unit.map_or_else(|| words::plain(value), |unit| unit.text(value)),
    }
}

/// A number with its own unit, for a caption.
pub fn alone(figured: &Figured, value: f64) -> String {
    match figured.statistic {
        Statistic::Share(_) => percent(value),
        _ if figured.unit.is_empty() => words::trimmed(value),
        _ => words::value(value, figured.unit),
    }
}

impl DeclaredTable {
    /// The table for print: a line for ours, one for the study's and one for the ratio.
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

    /// The table for programs: a row for each number, times in ns, shares from 0 to 1.
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
