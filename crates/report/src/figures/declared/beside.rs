//! What the study printed of a figure's points: hollow marks beside ours, and all there is where nothing was measured.

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
/// What the legend calls them.
pub const PUBLISHED: &str = "published";

/// What is looked up of each point: the statistic that is drawn and how far the study's repeats scattered.
pub fn statistics(figure: &Figure) -> Vec<Statistic> {
    match figure.kind {
        Kind::Bars(statistic) | Kind::Ramp(statistic) if figure.captions.is_empty() => vec![statistic, Statistic::Sd],
        _ => figure.captions.clone(),
    }
}

/// In which of the study's tables: those that the figure holds; of a figure that draws the numbers of tables, theirs.
pub fn tables(lookup: Lookup, figure: &Figure) -> Vec<String> {
    if !figure.printed.is_empty() || !matches!(figure.kind, Kind::Bars(_) | Kind::Ramp(_)) {
        return figure.printed.clone();
    }
    let mut all: Vec<String> = lookup.declared.plan.tables.iter().flat_map(|table| table.printed.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// A printed value, and the printed standard deviation where there is one; in the unit of ours. Nothing beside emulated ones: they are
/// no times.
pub fn point(entry: &Entry, statistic: Statistic) -> Option<(f64, Option<f64>)> {
    let of = |wanted| entry.figures.iter().find(|one| one.statistic == wanted && !one.emulated)?.printed;
    Some((of(statistic)?, of(Statistic::Sd)))
}

/// What is drawn of a figure of this kind beside its measured values.
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

/// A hollow diamond.
fn mark(svg: &mut Svg, (x, y): (f64, f64)) {
    let mut pen = Pen::default();
    pen.go(x - HALF, y);
    pen.line(x, y - HALF);
    pen.line(x + HALF, y);
    pen.line(x, y + HALF);
    pen.close();
    svg.path("thin", &pen);
}

/// The mark in the legend, its name beside it.
pub fn legend(svg: &mut Svg, (x, y): (f64, f64)) {
    mark(svg, (x + 14.0, y - 4.0));
    svg.text("tick", (x + 34.0, y), Anchor::Start, PUBLISHED);
}
