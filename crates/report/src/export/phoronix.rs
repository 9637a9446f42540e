//! Lines for a result parser of the Phoronix Test Suite, which finds them with an OutputTemplate: one stable line per figure.

use super::{
    format::{Export, Exported, Writer, Written},
    text::{self, Names},
    trend::{Point, points},
    units,
};
use anyhow::Result;

/// The list entry.
pub const EXPORT: Export = Export {
    name: "phoronix",
    ending: "txt",
    needs: None,
    about: "one line per figure (microseconds), for an OutputTemplate of the Phoronix Test Suite",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let (points, left_out) = points(exported);
    let mut names = Names::default();
    let text: String = points.iter().map(|point| line(point, &mut names)).collect();
    Ok(Written { bytes: text.into_bytes(), left_out })
}

/// Returns a line such as `wakeup, busy latency max cpu 0: 420.181 us`.
fn line(point: &Point, names: &mut Names) -> String {
    let unit = units::micro(&point.unit);
    let parts = [&point.title, &point.quantity, &point.key, &point.place].map(|part| part.as_str());
    let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    // The parser takes the text after the first colon as the value.
    let name = names.unique(text::line(&name).replace(':', " "));
    let line = format!("{name}: {} {}", unit.of(point.value), text::line(&unit.name));
    format!("{}\n", line.trim_end())
}
