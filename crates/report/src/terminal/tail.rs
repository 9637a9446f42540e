//! Quantiles with their limits, tails and exceedances as text: one paragraph per series, because a terminal is too narrow for a table.

use super::{
    style::{Paint, Style, fit, hang, paint},
    table,
};
use crate::{
    tables::{quantiles, tail::place},
    tree::{Estimate, Named, Section},
    words,
};
use latido_judge::extremes::tail::{Answer, Fitted, Return};

/// Returns the table of quantiles after an empty line.
pub(super) fn quantiles(section: &Section, style: Style) -> Vec<String> {
    let sheet = quantiles::sheet(section);
    sheet
        .into_iter()
        .flat_map(|sheet| sheet.pieces(style.width, 1))
        .flat_map(|piece| [vec![String::new()], table::titled(&piece, style)].concat())
        .collect()
}

/// Returns the extremes of these series of a section after an empty line.
pub(super) fn lines(section: &Section, shown: &[Named], style: Style) -> Vec<String> {
    if shown.is_empty() {
        return Vec::new();
    }
    let title = format!("{}, tails: levels under the causes observed", section.title());
    let mut lines = vec![String::new(), paint(&title, Paint::Bold, style)];
    for one in shown {
        let (tone, text) = tail(section, &one.extremes.tail);
        lines.push(paint(&fit(&format!("  {}:", place(one)), style.width), Paint::Plain, style));
        lines.extend(hang("    tail:", tone, &text, style));
        if let Some(limit) = &one.extremes.limit {
            let label = format!("    above {}:", section.value(limit.limit as f64).replace('\u{a0}', " "));
            let tone = if limit.samples.above > 0 { Paint::Warn } else { Paint::Dim };
            lines.extend(hang(&label, tone, &limit.sentence(), style));
        }
    }
    lines
}

fn tail(section: &Section, answer: &Answer) -> (Paint, String) {
    let found = match answer {
        Answer::Refused { refused, .. } => return (Paint::Dim, format!("no fit: {refused}")),
        Answer::Fitted(found) => found,
    };
    let fit = fitted(section, found);
    match found.reasons() {
        none if none.is_empty() => {
            (Paint::Good, format!("{fit}; gate {}: {}", found.verdict(), levels(section, &found.levels)))
        }
        reasons => (Paint::Warn, format!("{fit}; gate {}, no levels: {}", found.verdict(), reasons.join("; "))),
    }
}

fn fitted(section: &Section, found: &Fitted) -> String {
    let shape = Estimate { value: found.xi.value, lower: found.xi.lower, upper: found.xi.upper, without: "open" };
    let kind = if found.k == found.exceedances { section.noun() } else { "burst" };
    let u = section.value(found.u as f64);
    format!("{} above u = {u}, shape {}", words::many(found.k, kind), shape.text(words::plain))
}

/// Returns each level; levels that are refused for the same reason share a text.
fn levels(section: &Section, all: &[Return]) -> String {
    let alike = |a: &Return, b: &Return| a.level.is_none() && a.refused == b.refused;
    let told = all.chunk_by(alike).map(|some| {
        let once = some.iter().map(|one| one.once).collect::<Vec<_>>().join(", ");
        match some {
            [Return { level: Some(found), .. }, ..] => {
                let level = Estimate { value: found.value, lower: found.lower, upper: found.upper, without: "open" };
                format!("{once} {}", level.text(|v| section.value(v)))
            }
            [first, ..] => format!("{once} not given ({})", first.refused.as_deref().unwrap_or_default()),
            [] => once,
        }
    });
    told.collect::<Vec<_>>().join(", ")
}
