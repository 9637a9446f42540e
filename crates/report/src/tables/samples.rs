//! The largest samples of a section: when, where and, if known, why.

use crate::{
    tree::{Datum, Head, Section, Sheet},
    words,
};
use latido_model::record::Class;

/// The most samples of all configurations together, except that each configuration has at least two.
const ROWS: usize = 16;

/// Returns the largest samples, the same number for each configuration.
pub fn sheet(section: &Section) -> Sheet {
    let each = (ROWS / section.series.len().max(1)).clamp(2, 10);
    let mut rows = Vec::new();
    for series in &section.series {
        for kept in series.kept().iter().take(each) {
            let value = kept.sample.value as f64;
            let row = vec![
                Datum::Text(series.name.clone()),
                if series.limit().is_some_and(|limit| value > limit) {
                    Datum::Over(value)
                } else {
                    Datum::Value(value)
                },
                Datum::Text(words::clock(kept.sample.at_ns)),
                kept.cpu.map_or_else(|| Datum::Text("not pinned".into()), |cpu| Datum::Count(cpu.into())),
                Datum::Count(kept.repeat.into()),
                match kept.sample.class {
                    Class::Unknown => Datum::Absent,
                    class => Datum::Text(class.name().into()),
                },
            ];
            rows.push((kept.sample.value, row));
        }
    }
    rows.sort_by_key(|(value, _)| std::cmp::Reverse(*value));
    let typical: Vec<f64> = rows.iter().map(|(value, _)| *value as f64).collect();
    let head = ["configuration", "value", "at", "CPU", "repeat", "cause"].map(Head::from).into();
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Sheet::new(format!("The {each} largest samples of each configuration"), head, rows, section.unit, &typical)
}
