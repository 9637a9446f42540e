//! A statistic as bars, grouped along the axis, one bar per curve.

use super::{
    Panel, beside,
    panels::{scale, unit, unit_of_statistics, values},
};
use crate::{
    figures::{
        axis::AxisScale,
        frame::Frame,
        svg::{Anchor, Svg, apart},
    },
    words,
};
use latido_model::plan::{Figure, Statistic};

/// Draws the groups of a panel.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, figure: &Figure, statistic: Statistic) {
    let of = |entry: &crate::tree::declared::Entry| entry.found.and_then(|found| found.figure(statistic, figure.over));
    let entries = || panel.curves.iter().flat_map(|curve| &curve.along);
    let printed = |entry: &crate::tree::declared::Entry| beside::point(entry, statistic).map(|(value, _)| value);
    let all = entries().filter_map(of).chain(entries().filter_map(printed));
    let mut y = scale(all, figure.log, frame);
    if figure.log {
        // The smallest value is a bar too, not a line on the axis.
        y = AxisScale::log(y.low / 2.0, y.high, frame.bottom, frame.top);
    }
    let unit = unit_of_statistics(unit(panel));
    values(svg, frame, &y, unit);
    let pitch = (frame.right - frame.left) / figure.axis.len().max(1) as f64;
    let middle = |at: usize| frame.left + pitch * (at as f64 + 0.5);
    let bar = ((pitch - 14.0) / panel.curves.len().max(1) as f64).clamp(2.0, 44.0);
    let names: Vec<String> = figure.axis.iter().map(latido_model::plan::Pick::heading).collect();
    let short = apart(&names.iter().map(String::as_str).collect::<Vec<_>>(), 11.0, pitch - 4.0);
    for (at, (name, short)) in names.iter().zip(&short).enumerate() {
        let middle = middle(at);
        svg.text("tick", (middle, frame.bottom + 16.0), Anchor::Middle, short);
        for (k, curve) in panel.curves.iter().enumerate() {
            let Some(value) = curve.along.get(at).and_then(of) else { continue };
            let x = middle - bar * panel.curves.len() as f64 / 2.0 + bar * k as f64;
            let (top, said) = (y.at(value), words::value(value, unit));
            svg.open_series(curve.slot);
            svg.rect(
                "bar",
                (x + 0.5, top),
                (bar - 1.0, frame.bottom - top),
                &format!("{name}, {}: {said}", curve.name),
            );
            if bar < 40.0 {
                svg.upright("small", (x + bar / 2.0 + 3.5, top - 4.0), Anchor::Start, &said);
            } else {
                svg.text("small", (x + bar / 2.0, top - 5.0), Anchor::Middle, &said);
            }
            svg.close();
        }
    }
    let offset = |k: usize| bar * (k as f64 + 0.5 - panel.curves.len() as f64 / 2.0);
    for (k, curve) in panel.curves.iter().enumerate() {
        let places: Vec<f64> = (0..figure.axis.len()).map(|at| middle(at) + offset(k)).collect();
        svg.open_series(curve.slot);
        beside::draw(svg, &y, curve, statistic, &places, unit);
        svg.close();
    }
}
