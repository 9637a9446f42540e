//! The study's printed values for the points of a figure: hollow marks next to latido's values, or alone where nothing was measured.

use super::Drawn;
use crate::{
    figures::{
        axis::AxisScale,
        svg::{Anchor, Pen, Svg},
    },
    tree::declared::{Entry, Lookup},
    words,
};
use latido_model::plan::{Figure, Kind, Statistic};

/// Half the width of a mark, pixels.
const HALF: f64 = 4.5;
/// Their name in the legend.
pub const PUBLISHED: &str = "published";

/// Returns the statistics to look up for each point: the drawn statistic, and the standard deviation over the study's repeats. A figure
/// with captions needs those of the captions instead.
pub fn statistics(figure: &Figure) -> Vec<Statistic> {
    match figure.kind {
        Kind::Bars(statistic) | Kind::Ramp(statistic) if figure.captions.is_empty() => vec![statistic, Statistic::Sd],
        _ => figure.captions.clone(),
    }
}

/// Returns the study's tables to search: those that the figure names. For a bar or ramp figure that names none, those of the plan's tables.
pub fn tables(lookup: Lookup, figure: &Figure) -> Vec<String> {
    if !figure.printed.is_empty() || !matches!(figure.kind, Kind::Bars(_) | Kind::Ramp(_)) {
        return figure.printed.clone();
    }
    let mut all: Vec<String> = lookup.declared.plan.tables.iter().flat_map(|table| table.printed.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns a printed value and, if the study gives it, the printed standard deviation, in the unit of latido's value. Returns nothing next
/// to emulated values, because those are not times.
pub fn point(entry: &Entry, statistic: Statistic) -> Option<(f64, Option<f64>)> {
    let of = |wanted| entry.figures.iter().find(|one| one.statistic == wanted && !one.emulated)?.printed;
    Some((of(statistic)?, of(Statistic::Sd)))
}

/// Returns the statistic whose printed values are drawn next to the measured ones, if figures of this kind have them.
pub fn drawn(kind: &Kind) -> Option<Statistic> {
    match kind {
        Kind::Bars(statistic) | Kind::Ramp(statistic) => Some(*statistic),
        _ => None,
    }
}

/// Draws the printed values of a curve at these places along the axis.
pub fn draw(svg: &mut Svg, y: &AxisScale, curve: &Drawn, statistic: Statistic, places: &[f64], unit: &str) {
    for (entry, x) in curve.along.iter().zip(places) {
        let Some((value, sd)) = point(entry, statistic) else { continue };
        if let Some(sd) = sd {
            svg.line("lead", (*x, y.at(value - sd)), (*x, y.at(value + sd)));
        }
        mark(svg, (*x, y.at(value)));
        let tip = format!("{}, {PUBLISHED}: {}", curve.name, words::value(value, unit));
        svg.rect("none", (x - HALF, y.at(value) - HALF), (2.0 * HALF, 2.0 * HALF), &tip);
    }
}

/// Draws a hollow diamond.
fn mark(svg: &mut Svg, (x, y): (f64, f64)) {
    let mut pen = Pen::default();
    pen.go(x - HALF, y);
    pen.line(x, y - HALF);
    pen.line(x + HALF, y);
    pen.line(x, y + HALF);
    pen.close();
    svg.path("thin", &pen);
}

/// Draws the mark in the legend and its name next to it.
pub fn legend(svg: &mut Svg, (x, y): (f64, f64)) {
    mark(svg, (x + 14.0, y - 4.0));
    svg.text("tick", (x + 34.0, y), Anchor::Start, PUBLISHED);
}
