//! The effects of the parts of a study's systems on the maxima that the study printed: one number per system, so effects have no intervals.

use super::{effects, frame::WIDTH, svg::Drawing};
use crate::{
    study::{PublishedColumn, PublishedRow},
    tree::Sheet,
    words,
};
use latido_judge::factors::{self, Valued, fit::fit, split::product};

/// The effects in one printed quantity.
#[derive(Debug)]
pub struct PrintedEffects {
    /// The quantity, and the systems that were left out.
    pub about: String,
    /// The picture.
    pub drawing: Drawing,
    /// The data behind it.
    pub table: Sheet,
}

/// Returns the effects for each printed quantity whose systems are all combinations of some parts (`rt`, `isolated`, `rt+isolated`, and one
/// without any).
pub fn of(columns: &[PublishedColumn]) -> Vec<PrintedEffects> {
    let mut rows: Vec<&PublishedRow> = Vec::new();
    for row in columns.iter().flat_map(|column| &column.rows).filter(|row| row.max.is_some()) {
        if rows.iter().all(|known| !same(known, row)) {
            rows.push(row);
        }
    }
    rows.into_iter().filter_map(|row| one(row, columns)).collect()
}

fn same(a: &PublishedRow, b: &PublishedRow) -> bool {
    (&a.probe, &a.quantity, &a.labels, &a.options) == (&b.probe, &b.quantity, &b.labels, &b.options)
}

fn one(row: &PublishedRow, columns: &[PublishedColumn]) -> Option<PrintedEffects> {
    let of_column = |column: &PublishedColumn| {
        let max = column.rows.iter().find(|other| same(row, other))?.max?;
        Some((system(&column.system).to_owned(), max))
    };
    let printed: Vec<(String, f64)> = columns.iter().filter_map(of_column).collect();
    let systems: Vec<String> = printed.iter().map(|(system, _)| system.clone()).collect();
    let found = product(&systems)?;
    let (within, without): (Vec<_>, Vec<_>) = printed.into_iter().partition(|(system, _)| found.has(system));
    let values: Vec<Valued> = within
        .into_iter()
        .map(|(system, value)| Valued { columns: vec![("system".into(), system)], block: String::new(), value })
        .collect();
    let name = [format!("{}.{}", row.probe, row.quantity), words::labels(&row.labels)];
    let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let left: Vec<String> = without.into_iter().map(|(system, _)| system).collect();
    let left = if left.is_empty() { String::new() } else { format!("; without {}", left.join(", ")) };
    let fitted = fit(&factors::of(&values));
    Some(PrintedEffects {
        about: format!("{name}: the printed maxima of {} systems{left}.", values.len()),
        drawing: effects::picture(&format!("{name}, as printed"), WIDTH, &fitted),
        table: effects::sheet(&format!("{name}, as printed"), &fitted),
    })
}

/// Returns the system of a column, without its origin: `rt+isolated` of `rt+isolated, published 2019`.
fn system(column: &str) -> &str {
    column.split(", ").next().unwrap_or(column)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A printed 2 x 2 design has two effects and their interaction; the text names a system that is not part of it.
    #[test]
    fn a_printed_factorial_is_drawn_without_intervals() {
        let column = |(system, max): (&str, f64)| PublishedColumn {
            system: format!("{system}, published 2019"),
            rows: vec![PublishedRow {
                probe: "gap".into(),
                quantity: "gap".into(),
                max: Some(max),
                ..PublishedRow::default()
            }],
        };
        let all = [("stock", 294.0), ("isolated", 136.0), ("rcu", 141.0), ("isolated+rcu", 90.0), ("other", 5.0)];
        let found = of(&all.map(column));
        let [gap] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(gap.about, "gap.gap: the printed maxima of 4 systems; without other.");
        assert_eq!(gap.table.rows.len(), 3);
        assert_eq!(gap.drawing.body.matches("<use").count(), 3);
        assert!(!gap.drawing.body.contains("class=\"solid\""), "no intervals");
        assert!(of(&all[..3].iter().copied().map(column).collect::<Vec<_>>()).is_empty());
    }
}
