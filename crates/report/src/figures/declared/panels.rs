//! The layout of a declared figure: its legend, its panels side by side in pairs, and their captions.

use super::{Drawn, Panel, beside, caption};
use crate::{
    figures::{
        axis::{AxisScale, value_axis},
        frame::{Frame, is_narrow},
        svg::{Anchor, Drawing, NAME_SIZE, Svg, apart, fit, text_width},
    },
    tables::declared::{alone, printed_alone, times},
    words::{self, NOT_MEASURED},
};
use latido_model::plan::{Figure, Kind};

/// Height of a line of text.
const LINE: f64 = 15.0;

/// A figure's panels and their layout.
pub struct Panels<'p, 'r, 'a> {
    figure: &'p Figure,
    panels: &'p [Panel<'r, 'a>],
    width: f64,
    /// The number of panels side by side.
    across: usize,
    /// The height of the plot in each row of panels, in pixels: small where nothing is drawn.
    heights: Vec<f64>,
    /// The lines of each panel's caption, each with the colour index of its curve.
    captions: Vec<Vec<(usize, String)>>,
}

impl<'p, 'r, 'a> Panels<'p, 'r, 'a> {
    /// Lays out the panels of a figure of this width in pixels.
    pub fn of(figure: &'p Figure, panels: &'p [Panel<'r, 'a>], width: f64) -> Self {
        let across = if panels.len() > 1 && !is_narrow(width) { 2 } else { 1 };
        let full = match (&figure.kind, panels.len()) {
            (Kind::Moments, 1) => 300.0,
            (Kind::Moments, _) => 230.0,
            (_, 1 | 2) => 210.0,
            _ => 150.0,
        };
        let height = |row: &[Panel]| {
            if row.iter().any(|panel| is_drawn(panel, figure)) { full } else { 40.0 }
        };
        let heights = panels.chunks(across).map(height).collect();
        let captions = panels.iter().map(|panel| captions(panel, figure)).collect();
        Self { figure, panels, width, across, heights, captions }
    }

    /// Draws the picture; `plot` draws the content of a panel.
    pub fn draw(&self, title: &str, plot: impl Fn(&mut Svg, &Frame, &Panel)) -> Drawing {
        let mut svg = Svg::new(self.width, 0.0);
        let mut top = self.legend(&mut svg);
        let mut said = Vec::new();
        let names: Vec<&str> = self.panels.iter().map(|panel| panel.name.as_str()).collect();
        let names = apart(&names, NAME_SIZE, self.width / self.across as f64 - 92.0);
        for ((row, panels), height) in self.panels.chunks(self.across).enumerate().zip(&self.heights) {
            let some = panels.iter().any(|panel| is_drawn(panel, self.figure));
            let below = if some { self.room_below() } else { 8.0 };
            let named = panels.iter().any(|panel| !panel.name.is_empty());
            // Marks may be in any corner, so a remark about a panel is placed above it.
            let silent = some && panels.iter().any(|panel| !is_measured(panel));
            let above = if named { 24.0 } else { 8.0 } + if some { self.room_above() } else { 0.0 };
            let above = above + if silent { 14.0 } else { 0.0 };
            for (k, panel) in panels.iter().enumerate() {
                let width = self.width / self.across as f64;
                let left = width * k as f64 + 74.0;
                let frame =
                    Frame { left, right: left + width - 74.0 - 18.0, top: top + above, bottom: top + above + height };
                let name = names.get(row * self.across + k).map_or("", String::as_str);
                svg.text("head", (frame.left, top + 14.0), Anchor::Start, name);
                if is_drawn(panel, self.figure) {
                    plot(&mut svg, &frame, panel);
                    if !is_measured(panel) {
                        let corner = (frame.right, frame.top - 6.0);
                        svg.text("gap-name", corner, Anchor::End, NOT_MEASURED);
                    }
                } else {
                    svg.rect("frame", (frame.left, frame.top), (frame.right - frame.left, *height), "");
                    frame.nothing(&mut svg, NOT_MEASURED);
                }
                let lines = self.captions.get(row * self.across + k).into_iter().flatten();
                for (i, (slot, text)) in lines.enumerate() {
                    let y = frame.bottom + below + LINE * (i as f64 + 0.8);
                    if !text.starts_with(' ') && panel.curves.len() > 1 {
                        svg.open_series(*slot);
                        svg.marker(*slot, (frame.left + 5.0, y - 4.0), "");
                        svg.close();
                    }
                    let from = frame.left + if panel.curves.len() > 1 { 14.0 } else { 0.0 };
                    svg.text("tick", (from, y), Anchor::Start, &fit(text.trim_start(), 11.0, width - 96.0));
                    said.push(format!("{}: {}", panel.name, text.trim()));
                }
            }
            let lines = self.captions.iter().skip(row * self.across).take(self.across).map(Vec::len).max().unwrap_or(0);
            top += above + height + below + LINE * lines as f64 + 12.0;
        }
        svg.height = top + 4.0;
        svg.finish(None, title, &said.join("; ")).named()
    }

    /// Returns the space above a plot: numbers are drawn upright over narrow bars.
    fn room_above(&self) -> f64 {
        if matches!(self.figure.kind, Kind::Bands(_) | Kind::Bars(_)) { 34.0 } else { 0.0 }
    }

    /// Returns the space below a plot: for the labels of the axis, and its name.
    fn room_below(&self) -> f64 {
        match self.figure.kind {
            Kind::Bands(_) | Kind::Bars(_) => 24.0,
            _ => 42.0,
        }
    }

    /// Draws the curves with their names. Returns the height that this took.
    fn legend(&self, svg: &mut Svg) -> f64 {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let published = curves.clone().any(|curve| curve.is_published(&self.figure.kind));
        let several = self.panels.first().filter(|panel| panel.curves.len() > 1);
        if several.is_none() && !published {
            return 4.0;
        }
        let (mut x, mut y) = (10.0, 18.0);
        for (i, curve) in several.iter().flat_map(|first| &first.curves).enumerate() {
            let measured = self.panels.iter().filter_map(|panel| panel.curves.get(i)).any(Drawn::is_measured);
            let name = if measured { curve.name.clone() } else { format!("{} ({NOT_MEASURED})", curve.name) };
            let name = fit(&name, 12.0, self.width - 80.0);
            let width = text_width(&name, 12.0) + 52.0;
            if x + width > self.width && x > 10.0 {
                (x, y) = (10.0, y + 20.0);
            }
            svg.open_series(curve.slot);
            svg.line("curve", (x, y - 4.0), (x + 28.0, y - 4.0));
            svg.marker(curve.slot, (x + 14.0, y - 4.0), "");
            svg.text("name", (x + 34.0, y), Anchor::Start, &name);
            svg.close();
            x += width;
        }
        if published {
            if x + text_width(beside::PUBLISHED, 11.0) + 52.0 > self.width {
                (x, y) = (10.0, y + 20.0);
            }
            beside::legend(svg, (x, y));
        }
        y + 10.0
    }
}

fn is_measured(panel: &Panel) -> bool {
    panel.curves.iter().any(Drawn::is_measured)
}

/// Returns whether a panel has anything to draw: measured values, or the study's values.
fn is_drawn(panel: &Panel, figure: &Figure) -> bool {
    is_measured(panel) || panel.curves.iter().any(|curve| curve.is_published(&figure.kind))
}

/// Returns the lines below a panel: for each curve latido's numbers, then the study's.
fn captions(panel: &Panel, figure: &Figure) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for curve in panel.curves.iter().filter(|_| !figure.captions.is_empty()) {
        let Some(entry) = curve.along.first() else { continue };
        let ours = caption(&entry.figures, figure.over, |one| Some(alone(one, one.ours?)));
        let printed = caption(&entry.figures, figure.over, |one| Some(printed_alone(one, one.printed?)));
        let name = if panel.curves.len() > 1 { format!("{}: ", curve.name) } else { String::new() };
        lines.push((curve.slot, format!("{name}{}", ours.unwrap_or_else(|| NOT_MEASURED.into()))));
        let ratios: Vec<String> = entry.figures.iter().filter_map(|one| Some(times(one.ratio()?))).collect();
        let ratios = if ratios.is_empty() { String::new() } else { format!(" (ours {})", ratios.join(", ")) };
        lines.extend(printed.map(|text| (curve.slot, format!(" published: {text}{ratios}"))));
    }
    lines
}

/// Returns the unit of statistics of values with this stored unit: a statistic of times is in ns.
pub fn unit_of_statistics(stored: &str) -> &str {
    if words::in_ns(stored).is_some() { "ns" } else { stored }
}

/// Returns the stored unit of the values in a panel.
pub fn unit<'s>(panel: &Panel<'_, 's>) -> &'s str {
    panel
        .curves
        .iter()
        .flat_map(|curve| &curve.along)
        .find_map(|entry| entry.found)
        .map_or("ns", |one| one.section.unit)
}

/// Draws the value axis.
pub fn values(svg: &mut Svg, frame: &Frame, scale: &AxisScale, unit: &str) {
    frame.ticks_y_axis(svg, &value_axis(scale, 7, unit));
}

/// Returns a scale for these values; a linear scale starts at 0.
pub fn scale(values: impl Iterator<Item = f64>, log: bool, frame: &Frame) -> AxisScale {
    if log {
        return AxisScale::log_over(values, frame.bottom, frame.top);
    }
    let high = values.fold(0.0, f64::max);
    AxisScale::linear(0.0, if high > 0.0 { high * 1.06 } else { 1.0 }, frame.bottom, frame.top)
}
