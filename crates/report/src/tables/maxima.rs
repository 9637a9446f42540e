//! The longest duration of each second, as a table.

use crate::{
    tree::{Datum, Head, Sheet},
    words,
};
use latido_judge::maxima::{Longest, Maxima};

/// The number of rows, the longest first; the file next to the record contains all.
const SHOWN: usize = 20;

/// Returns a row for each second, or the reason why there is no table.
///
/// # Errors
/// Reading the file failed: the message is that of the file.
pub fn sheet(of: &Maxima) -> Result<Sheet, &str> {
    let lines = of.found.as_deref().map_err(String::as_str)?;
    let text = |text: &str| if text.is_empty() { Datum::Absent } else { Datum::Text(text.to_owned()) };
    let row = |line: &Longest| {
        let [begin, end] = &line.functions;
        let since = Datum::Text(format!("{:.0} s", line.begin_s));
        vec![since, Datum::Value(line.ns), text(&line.cpu), text(begin), text(end), text(&line.task)]
    };
    let head: Vec<Head> = ["from", "longest", "CPU", "begun in", "ended in", "task"].map(Head::from).into();
    let typical: Vec<f64> = lines.iter().map(|line| line.ns).collect();
    let title = match lines.len() > SHOWN {
        true => format!("{}: the {SHOWN} longest of {}", of.cell, words::many(lines.len() as u64, "second")),
        false => format!("{}: the longest of each second", of.cell),
    };
    Ok(Sheet::new(title, head, lines.iter().take(SHOWN).map(row).collect(), "ns", &typical))
}
