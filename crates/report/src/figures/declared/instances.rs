//! Each sample in the order of its instance, with the curves overlaid.

use super::{
    Drawn, Panel,
    panels::{scale, unit, values},
};
use crate::{
    figures::{
        axis::AxisScale,
        frame::Frame,
        ordered::{self, instance_axis},
        svg::{Anchor, Svg},
        thin::{Envelope, range},
    },
    tree::Curve,
};
use latido_model::plan::Figure;

/// The most columns of all curves together: more would only make the file large.
const ALL_COLUMNS: usize = 4_500;

/// Draws the lines of a panel. All panels share a logarithmic scale; a linear scale is separate for each panel and starts at 0.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, all: &[Panel], figure: &Figure) {
    let found = |panels: &mut dyn Iterator<Item = &Panel>| -> Vec<f64> {
        let curves = panels.flat_map(|panel| &panel.curves).filter_map(Drawn::found);
        curves.filter_map(|found| extremes(found.curve)).flat_map(|(low, high)| [low, high]).collect()
    };
    let y = match figure.log {
        true => AxisScale::log_over(found(&mut all.iter()).into_iter(), frame.bottom, frame.top),
        false => scale(found(&mut std::iter::once(panel)).into_iter(), false, frame),
    };
    let curves = || all.iter().flat_map(|panel| &panel.curves).filter_map(Drawn::found);
    let last = curves().map(|found| ordered::values(found.curve).count()).max().unwrap_or(0);
    let columns = (ALL_COLUMNS / curves().count().max(1)).clamp(40, 480);
    let x = instance_axis(svg, frame, last, "instance");
    values(svg, frame, &y, unit(panel));
    let shown: Vec<&Drawn> = panel.curves.iter().filter(|curve| curve.is_measured()).collect();
    let middle = |curve: &&Drawn| y.at(curve.found().and_then(|one| one.curve.quantile("0.5")).unwrap_or(1.0)) - 4.0;
    let places: Vec<f64> = shown.iter().map(middle).collect();
    // Where the lines overlap, only the legend names them.
    let apart = |(i, a): (usize, &f64)| places.iter().take(i).all(|b| (a - b).abs() >= 10.0);
    let named = places.len() > 1 && places.iter().enumerate().all(apart);
    for (curve, place) in shown.iter().zip(&places) {
        let Some(found) = curve.found() else { continue };
        let points = ordered::values(found.curve).zip(1u32..).map(|(value, i)| (f64::from(i), value as f64));
        svg.open_series(curve.slot);
        Envelope::of(points, 1.0, last.max(2) as f64, columns).draw(svg, &x, &y);
        if named {
            svg.text("name", (frame.right - 3.0, *place), Anchor::End, &curve.name);
        }
        svg.close();
    }
}

fn extremes(curve: &Curve) -> Option<(f64, f64)> {
    range(ordered::values(curve).map(|value| value as f64))
}
