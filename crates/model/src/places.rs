//! Where each printed number of a study appears in its plan's declared tables and figures.

use crate::{
    plan::{Pick, Plan, Sought, Statistic},
    printed::{PrintedNumber, ROWS},
    published,
};

/// Where a printed number appears.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The number.
    pub printed: &'static PrintedNumber,
    /// For example `table 1: mutex_lock, stock`.
    pub place: String,
}

/// Returns the printed number that belongs next to a statistic that latido measured, in a table or figure that shows these tables of the
/// study. `None` if the study printed no such number, or several that the load does not distinguish.
pub fn number(study: &str, tables: &[String], sought: &Sought, statistic: Statistic) -> Option<&'static PrintedNumber> {
    let is = |wanted: &Option<String>, own: &String| wanted.as_ref() == Some(own);
    let mut found = ROWS.iter().filter(|(of, one)| {
        of == study
            && tables.contains(&one.table)
            && is(&sought.system, &one.system)
            && is(&sought.quantity, &one.quantity)
            && sought.load.as_ref().is_none_or(|load| *load == one.load)
            && published::statistic(one) == Some(statistic)
    });
    let (_, first) = found.next()?;
    found.next().is_none().then_some(first)
}

/// Returns every printed number of the plan's study that a cell of a declared table or the caption of a declared figure contains, once per
/// cell and caption.
pub fn places(plan: &Plan) -> Vec<Place> {
    let Some(published) = &plan.published else { return Vec::new() };
    let mut all = Vec::new();
    let mut place = |heading: String, tables: &[String], picks: Vec<(String, Pick)>, statistics: &[Statistic]| {
        for (name, pick) in picks {
            let sought = pick.sought(Some(published));
            for statistic in statistics {
                let printed = number(&published.study, tables, &sought, *statistic);
                all.extend(printed.map(|printed| Place { printed, place: format!("{heading}: {name}") }));
            }
        }
    };
    let heading = |kind: &str, number: &Option<String>, title: &str| match number {
        Some(number) => format!("{kind} {number}"),
        None => format!("{kind} `{title}`"),
    };
    for table in &plan.tables {
        let cell = |row: &Pick, column: &Pick| (format!("{}, {}", row.name, column.name), row.with(column));
        let cells = table.rows.iter().flat_map(|row| table.columns.iter().map(move |column| cell(row, column)));
        place(heading("table", &table.number, &table.title), &table.printed, cells.collect(), &table.statistics);
    }
    for figure in &plan.figures {
        let name = |a: &Pick, b: &Pick| {
            [&a.name, &b.name].into_iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>().join(", ")
        };
        let curve = |panel: &Pick, curve: &Pick| (name(panel, curve), panel.with(curve));
        let curves = figure.panels.iter().flat_map(|panel| figure.curves.iter().map(move |one| curve(panel, one)));
        place(heading("figure", &figure.number, &figure.title), &figure.printed, curves.collect(), &figure.captions);
    }
    all
}
