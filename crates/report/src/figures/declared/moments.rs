//! The running mean and variance (1/n) of each instance and all before it, with the curves overlaid.

use super::{
    Drawn, Panel,
    panels::{unit, values},
};
use crate::{
    figures::{
        axis::AxisScale,
        frame::Frame,
        moments::running,
        ordered::{self, instance_axis},
        svg::{Anchor, Pen, Svg},
        thin::{line_scale, range},
    },
    words::{self, Unit},
};

/// The number of points of a curve.
const POINTS: usize = 240;

/// Draws the means in the upper half and the variances in the lower half.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel) {
    let middle = (frame.top + frame.bottom) / 2.0;
    let (above, below) = (Frame { bottom: middle - 8.0, ..*frame }, Frame { top: middle + 10.0, ..*frame });
    let found = || panel.curves.iter().filter_map(|curve| Some((curve, curve.found()?)));
    let last = found().map(|(_, found)| ordered::values(found.curve).count()).max().unwrap_or(0);
    let lines: Vec<(&Drawn, Vec<_>)> = found().map(|(curve, found)| (curve, running(found.curve, POINTS))).collect();
    let all = || lines.iter().flat_map(|(_, line)| line);
    let mean = line_scale(range(all().map(|point| point.1)), above.bottom, above.top);
    // The variance of the first instance is 0 by definition: it carries no information and has no place on a log scale.
    let variance = line_scale(range(all().filter(|point| point.0 > 1).map(|point| point.2)), below.bottom, below.top);
    let x = instance_axis(svg, &below, last, "instance");
    let ticks: Vec<_> = x.ticks(8).into_iter().map(|v| (x.at(v), String::new())).collect();
    above.x_axis(svg, &ticks, "");
    values(svg, &above, &mean, unit(panel));
    squares(svg, &below, &variance, unit(panel));
    svg.text("tick", (above.right, above.top - 5.0), Anchor::End, "running mean");
    svg.text("tick", (below.right, below.top - 4.0), Anchor::End, "running variance");
    for (curve, line) in &lines {
        svg.open_series(curve.slot);
        path(svg, line.iter().map(|point| (x.at(point.0 as f64), mean.at(point.1))));
        path(svg, line.iter().filter(|point| point.0 > 1).map(|point| (x.at(point.0 as f64), variance.at(point.2))));
        svg.close();
    }
}

fn path(svg: &mut Svg, points: impl Iterator<Item = (f64, f64)>) {
    let mut pen = Pen::default();
    for (i, (x, y)) in points.enumerate() {
        if i == 0 { pen.go(x, y) } else { pen.line(x, y) }
    }
    svg.path("curve", &pen);
}

/// Draws the axis of squares, in the square of the unit that fits its middle.
fn squares(svg: &mut Svg, frame: &Frame, scale: &AxisScale, unit: &str) {
    let Unit { name, per } = Unit::at(scale.middle().max(0.0).sqrt(), unit);
    let label = |v: f64| match v / per / per {
        0.0 => "0".to_owned(),
        // A long row of zeros does not fit next to the axis.
        v if !(1e-3..1e5).contains(&v) => format!("{v:.0e} {name}²"),
        v => format!("{} {name}²", words::trimmed(v)),
    };
    let ticks: Vec<_> = scale.ticks(5).into_iter().map(|v| (scale.at(v), label(v))).collect();
    frame.ticks_y_axis(svg, &ticks);
}
