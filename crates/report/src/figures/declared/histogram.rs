//! How often each value occurred, with the curves overlaid on log scales.

use super::{Drawn, Panel, panels::unit};
use crate::{
    figures::{
        axis::{AxisScale, value_axis},
        frame::{Frame, count_scale},
        svg::{Pen, Svg},
    },
    tree::declared::Found,
};
use latido_model::{plan::Distribution, run::packed::Packed, summary::Counted};

const PER_DECADE: f64 = 20.0;

/// Draws the outlines of a panel. All panels share one value axis.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, all: &[Panel]) {
    let curves = |panels: &[&Panel]| -> Vec<f64> {
        let found = panels.iter().flat_map(|panel| &panel.curves).filter_map(Drawn::found);
        found.flat_map(|found| [found.curve.min(), found.curve.max()]).flatten().collect()
    };
    let every: Vec<&Panel> = all.iter().collect();
    let x = AxisScale::log_over(curves(&every).into_iter(), frame.left, frame.right);
    let shown: Vec<(&Drawn, Vec<(usize, u64)>)> =
        panel.curves.iter().filter_map(|curve| Some((curve, binned(&curve.found()?)))).collect();
    let most = shown.iter().flat_map(|(_, bins)| bins).map(|(_, n)| *n).max().unwrap_or(0);
    let y = count_scale(most, frame.bottom, frame.top);
    frame.x_axis(svg, &value_axis(&x, 8, unit(panel)), "");
    frame.count_y_axis(svg, &y, "");
    let edge = |bin: usize| x.at(10f64.powf(bin as f64 / PER_DECADE));
    for (curve, bins) in shown {
        let mut pen = Pen::default();
        let mut last = None;
        for (bin, n) in bins {
            if last != Some(bin) {
                if let Some(last) = last {
                    pen.line(edge(last), frame.bottom);
                }
                pen.go(edge(bin), frame.bottom);
            }
            pen.line(edge(bin), y.at(n as f64));
            pen.line(edge(bin + 1), y.at(n as f64));
            last = Some(bin + 1);
        }
        if let Some(last) = last {
            pen.line(edge(last), frame.bottom);
        }
        svg.open_series(curve.slot);
        svg.path("curve", &pen);
        svg.close();
    }
}

/// Returns the start of each bin, in the stored unit, and the number of samples in it: from the first to the last bin with samples, then
/// one empty bin.
pub fn by_decade(found: &Found) -> Vec<(f64, u64)> {
    let bins = binned(found);
    let (Some((first, _)), Some((last, _))) = (bins.first(), bins.last()) else { return Vec::new() };
    let count = |bin: usize| bins.iter().find(|(other, _)| *other == bin).map_or(0, |(_, count)| *count);
    (*first..=*last + 1).map(|bin| (10f64.powf(bin as f64 / PER_DECADE), count(bin))).collect()
}

/// Returns the occupied bins, 20 per decade.
fn binned(found: &Found) -> Vec<(usize, u64)> {
    let pooled = found.curve.pooled;
    let histogram = match found.of {
        Distribution::Plain => &pooled.woken,
        Distribution::Corrected => &pooled.histogram,
    };
    let mut bins: Vec<(usize, u64)> = Vec::new();
    for (end, count) in histogram.steps() {
        let value = Packed::middle(end) as f64;
        let bin = ((value.max(1.0).log10() * PER_DECADE) + 1e-9).floor().max(0.0) as usize;
        match bins.last_mut() {
            Some((last, sum)) if *last == bin => *sum = sum.saturating_add(count),
            _ => bins.push((bin, count)),
        }
    }
    bins
}
