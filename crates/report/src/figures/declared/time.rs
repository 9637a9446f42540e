//! Samples over time, with all panels on one scale. A triangle at the edge marks a value beyond the scale.

use super::{
    Drawn, Panel,
    panels::{scale, unit, values},
};
use crate::figures::{
    axis::{AxisScale, time_axis},
    frame::Frame,
    svg::Svg,
    timeline::{OverTime, end, timeline, usual},
};
use latido_model::plan::Figure;

/// The most points of a curve; [`TRIANGLES`] is the most triangles of a curve.
const POINTS: usize = 300;
const TRIANGLES: usize = 60;

/// Draws the lines of a panel.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, all: &[Panel], figure: &Figure) {
    let curves = || all.iter().flat_map(|panel| &panel.curves).filter_map(Drawn::found);
    let end = curves().map(|found| end(std::slice::from_ref(found.curve))).fold(0.0, f64::max);
    let largest = curves().filter_map(|found| found.curve.max());
    let upto = figure.upto.map(|upto| upto.0 as f64);
    let smallest = curves().filter_map(|found| found.curve.min());
    let y = scale(largest.chain(smallest).map(|v| upto.map_or(v, |upto| v.min(upto))).chain(upto), figure.log, frame);
    let y = match (figure.log, upto) {
        (true, Some(upto)) => AxisScale::log(y.low, upto, frame.bottom, frame.top),
        (false, Some(upto)) => AxisScale::linear(0.0, upto, frame.bottom, frame.top),
        (_, None) => y,
    };
    let x = AxisScale::linear(0.0, end, frame.left, frame.right);
    let ticks: Vec<(f64, String)> = time_axis(&x);
    frame.x_axis(svg, &ticks, "time");
    values(svg, frame, &y, unit(panel));
    for curve in &panel.curves {
        let Some(found) = curve.found() else { continue };
        let one = std::slice::from_ref(found.curve);
        let line: OverTime = timeline(found.curve, end, usual(one), POINTS);
        svg.open_series(curve.slot);
        svg.path("thin", &line.steps(&x, |slice| Some(y.at(slice.max))));
        svg.path("mean", &line.steps(&x, |slice| Some(y.at(slice.mean))));
        svg.close();
        let beyond = line.columns.iter().enumerate().filter_map(|(i, slice)| Some((i, slice.as_ref()?.max)));
        for (i, max) in beyond.filter(|(_, max)| y.is_over(*max)).take(TRIANGLES) {
            let middle = (line.edge(&x, i) + line.edge(&x, i + 1)) / 2.0;
            svg.symbol("off", (middle, frame.top + 5.0), &found.section.value(max));
        }
    }
}
