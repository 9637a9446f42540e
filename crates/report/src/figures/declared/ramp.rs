//! A statistic against a number, with error bars. The axis has a place for every level, however many there are.

use super::{
    Panel, beside,
    panels::{scale, unit, unit_of_statistics, values},
};
use crate::{
    figures::{
        axis::AxisScale,
        frame::Frame,
        svg::{Pen, Svg},
    },
    tree::declared::Entry,
    words,
};
use latido_model::plan::{Figure, Over, Statistic};

/// Half the width of an error bar's end, in pixels.
const END: f64 = 3.5;

/// Draws the curves of a panel.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, figure: &Figure, statistic: Statistic) {
    let numbers: Vec<f64> = figure.axis.iter().map(|pick| pick.name.parse().unwrap_or(0.0)).collect();
    let at = |entry: &Entry| point(entry, figure.over, statistic);
    let entries = || panel.curves.iter().flat_map(|curve| &curve.along);
    let printed = |entry: &Entry| beside::point(entry, statistic).map(|(value, sd)| (value, sd.unwrap_or(0.0)));
    let points = entries().filter_map(at).chain(entries().filter_map(printed));
    let y = scale(points.flat_map(|(value, error)| [value + error, value - error]), figure.log, frame);
    let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), n| (low.min(*n), high.max(*n)));
    let room = ((high - low) * 0.03).max(0.5);
    let x = AxisScale::linear(low - room, high + room, frame.left, frame.right);
    let ticks: Vec<_> =
        figure.axis.iter().zip(&numbers).map(|(pick, number)| (x.at(*number), pick.name.clone())).collect();
    frame.x_axis(svg, &ticks, "");
    let unit = unit_of_statistics(unit(panel));
    values(svg, frame, &y, unit);
    for (k, curve) in panel.curves.iter().enumerate() {
        // Curves are shifted sideways, so that no error bar hides another.
        let shift = 3.0 * (k as f64 - (panel.curves.len() as f64 - 1.0) / 2.0);
        let (mut line, mut bars) = (Pen::default(), Pen::default());
        let placed: Vec<(f64, f64, f64)> = numbers
            .iter()
            .zip(&curve.along)
            .filter_map(|(number, entry)| at(entry).map(|(value, error)| (x.at(*number) + shift, value, error)))
            .collect();
        svg.open_series(curve.slot);
        for (i, (x, value, error)) in placed.iter().enumerate() {
            if i == 0 {
                line.go(*x, y.at(*value))
            } else {
                line.line(*x, y.at(*value))
            }
            for end in [value - error, value + error] {
                bars.go(x - END, y.at(end));
                bars.line(x + END, y.at(end));
            }
            bars.go(*x, y.at(value - error));
            bars.line(*x, y.at(value + error));
            svg.marker(curve.slot, (*x, y.at(*value)), &format!("{}: {}", curve.name, words::value(*value, unit)));
        }
        let places: Vec<f64> = numbers.iter().map(|number| x.at(*number) + shift).collect();
        beside::draw(svg, &y, curve, statistic, &places, unit);
        svg.path("curve", &line);
        svg.path("thin", &bars);
        svg.close();
    }
}

/// Returns a value and the standard deviation between repeats.
pub fn point(entry: &Entry, over: Over, statistic: Statistic) -> Option<(f64, f64)> {
    let found = entry.found?;
    let of_one = if let Over::Each(each) = over { each } else { statistic };
    let sd = found.figure(Statistic::Sd, Over::Each(of_one)).unwrap_or(0.0);
    Some((found.figure(statistic, over)?, sd))
}
