//! The pieces of a section: tables, figures with their forms, the legend, spikes and slots.

use crate::{figures::{Figure, Overview, svg::Drawing}, tree::{Chapter, Datum, Section, Series, Sheet, percent}, words::{self, NOT_MEASURED}};

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
    pub summary: Table,
    pub latex: String,
    pub markdown: String,
    pub range_heading: String,
    pub ranges: Vec<String>,
    pub legend: Vec<LegendEntry>,
    pub hidden: usize,
    pub figures: Vec<Picture>,
    pub spikes: Table,
    pub slots: Option<Table>,
}

/// A table as the template reads it.
pub struct Table {
    pub caption: String,
    pub head: Vec<String>,
    /// The row's name and its cells.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A cell of a table.
pub struct Cell {
    pub text: String,
    /// `""`, `text` or `missing`.
    pub class: &'static str,
}

impl Table {
    /// The table of a sheet.
    pub fn of(sheet: &Sheet) -> Self {
        let cell = |datum: &Datum| {
            let class = if datum.is_missing() {
                "missing"
            } else if datum.is_text() {
                "text"
            } else {
                ""
            };
            Cell { text: datum.text(&sheet.unit), class }
        };
        let row = |row: &Vec<Datum>| match &row[..] {
            [name, cells @ ..] => (name.text(&sheet.unit), cells.iter().map(cell).collect()),
            [] => (String::new(), Vec::new()),
        };
        Self { caption: sheet.caption.clone(), head: sheet.head.clone(), rows: sheet.rows.iter().map(row).collect() }
    }
}

/// A figure with its forms and the table behind it.
pub struct Picture {
    pub name: &'static str,
    pub title: &'static str,
    pub about: String,
    /// Name of the form (empty when there is one only) and the drawing.
    pub forms: Vec<(String, String)>,
    pub table: Table,
}

impl Picture {
    /// Draws a figure of a section.
    pub fn of(section: &Section, figure: &Figure) -> Self {
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
        Self { name, title, about, forms, table: Table::of(table) }
    }
}

/// An entry of the legend, which also switches its series.
pub struct LegendEntry {
    pub slot: usize,
    pub name: String,
}

/// The legend of the series that figures show.
pub fn legend(section: &Section) -> Vec<LegendEntry> {
    let entry = |(slot, series): (usize, &Series)| LegendEntry { slot, name: series.name.clone() };
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

const SPIKES: usize = 16;

/// The largest samples, the same number of each configuration.
pub fn spikes(section: &Section) -> Table {
    let each = (SPIKES / section.series.len().max(1)).clamp(2, 10);
    let text = |text: String, class| Cell { text, class };
    let mut rows = Vec::new();
    for series in &section.series {
        for kept in series.kept().iter().take(each) {
            let class = if kept.sample.class.is_empty() { NOT_MEASURED } else { &kept.sample.class };
            let over = series.limit().is_some_and(|l| kept.sample.value as f64 > l);
            rows.push((
                kept.sample.value,
                (
                    series.name.clone(),
                    vec![
                        text(section.value(kept.sample.value as f64), if over { "over" } else { "" }),
                        text(words::clock(kept.sample.at_ns), ""),
                        text(kept.cpu.map_or("not pinned".into(), |cpu| cpu.to_string()), ""),
                        text(kept.repeat.to_string(), ""),
                        text(class.into(), if kept.sample.class.is_empty() { "text missing" } else { "text" }),
                    ],
                ),
            ));
        }
    }
    rows.sort_by_key(|(value, _)| std::cmp::Reverse(*value));
    Table {
        caption: format!("The {each} largest samples of each configuration"),
        head: ["configuration", "value", "at", "CPU", "repeat", "cause"].map(String::from).into(),
        rows: rows.into_iter().map(|(_, row)| row).collect(),
    }
}

/// What became of the periods; nothing for a probe without them.
pub fn slots(section: &Section) -> Option<Table> {
    section.series.iter().find(|s| s.pooled.slots.is_some())?;
    let number = |text: String| Cell { text, class: "" };
    let missing = || Cell { text: NOT_MEASURED.into(), class: "missing" };
    let row = |series: &Series| {
        let cells = match series.pooled.slots {
            None => std::iter::repeat_with(missing).take(5).collect(),
            Some(slots) => {
                let elapsed = slots.met.saturating_add(slots.late).saturating_add(slots.missed);
                let lost = slots.late.saturating_add(slots.missed);
                let share = if elapsed == 0 { NOT_MEASURED.into() } else { percent(lost as f64 / elapsed as f64) };
                let counts = [elapsed, slots.met, slots.late, slots.missed].map(words::count);
                counts.into_iter().chain([share]).map(number).collect()
            }
        };
        (series.name.clone(), cells)
    };
    Some(Table {
        caption: "Met: the thread ran for the slot in time; late: it ran for it later; missed: the slot passed unarmed"
            .into(),
        head: ["configuration", "slots", "met", "late", "missed", "late or missed"].map(String::from).into(),
        rows: section.series.iter().map(row).collect(),
    })
}
