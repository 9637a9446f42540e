//! A statistic as bars, grouped along the axis, a bar for each curve.

use super::{
    Panel,
    panels::{scale, unit, values},
};
use crate::{
    figures::{
        axis::AxisScale,
        frame::Frame,
        svg::{Anchor, Svg, fit},
    },
    words,
};
use latido_model::plan::{Figure, Statistic};

/// Draws the groups of a panel.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, figure: &Figure, statistic: Statistic) {
    let of = |entry: &crate::tree::declared::Entry| entry.found.and_then(|found| found.figure(statistic, figure.over));
    let all = panel.curves.iter().flat_map(|curve| &curve.along).filter_map(of);
    let mut y = scale(all, figure.log, frame);
    if figure.log {
        // The smallest too is a bar, not a line on the ground.
        y = AxisScale::log(y.low / 2.0, y.high, frame.bottom, frame.top);
    }
    values(svg, frame, &y, unit(panel));
    let pitch = (frame.right - frame.left) / figure.axis.len().max(1) as f64;
    let bar = ((pitch - 14.0) / panel.curves.len().max(1) as f64).clamp(2.0, 44.0);
    for (at, group) in figure.axis.iter().enumerate() {
        let (middle, name) = (frame.left + pitch * (at as f64 + 0.5), group.heading());
        svg.text("tick", (middle, frame.bottom + 16.0), Anchor::Middle, &fit(&name, 11.0, pitch - 4.0));
        for (k, curve) in panel.curves.iter().enumerate() {
            let Some(value) = curve.along.get(at).and_then(of) else { continue };
            let x = middle - bar * panel.curves.len() as f64 / 2.0 + bar * k as f64;
            let (top, said) = (y.at(value), words::value(value, "ns"));
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
}
