//! Samples in the order of their instances: which rows of a chapter have them, and the grid of panels in which they are drawn.

use super::{
    axis::{AxisScale, count_label},
    frame::{Frame, is_narrow},
    svg::{Anchor, NAME_SIZE, Svg, apart},
};
use crate::tree::{CallRow, Chapter, Curve, SHOWN, Section};

/// Returns whether a chapter has ordered samples. The pendulum's motion does not count: it has a separate figure.
pub fn any(chapter: &Chapter) -> bool {
    !super::pendulum::fits(chapter) && !forms(chapter).is_empty()
}

/// Returns the quantities with ordered samples and the rows of each: a figure has a variant per quantity and a panel per row.
pub fn forms<'c, 's, 'a>(chapter: &'c Chapter<'s, 'a>) -> Vec<(&'a str, Vec<&'c CallRow<'s, 'a>>)> {
    let mut forms: Vec<(&str, Vec<&CallRow>)> = Vec::new();
    for row in &chapter.rows {
        let Some(section) = chapter.section(row) else { continue };
        if !row.series.iter().flatten().any(|series| values(series).next().is_some()) {
            continue;
        }
        match forms.iter_mut().find(|(quantity, _)| *quantity == section.quantity) {
            Some((_, rows)) => rows.push(row),
            None => forms.push((section.quantity, vec![row])),
        }
    }
    forms.iter_mut().for_each(|(_, rows)| rows.truncate(SHOWN));
    forms
}

/// Returns the name of these rows' quantity.
pub fn name(chapter: &Chapter, rows: &[&CallRow]) -> String {
    rows.first().and_then(|row| chapter.section(row)).map(Section::short_name).unwrap_or_default()
}

/// Returns the number of series that are drawn, over all variants and panels.
pub fn drawn(chapter: &Chapter) -> usize {
    forms(chapter).iter().flat_map(|(_, rows)| rows).map(|row| shown(row).count()).sum::<usize>().max(1)
}

/// Returns the series of a row that figures show, with the index of their system.
pub fn shown<'r, 's, 'a>(row: &'r CallRow<'s, 'a>) -> Box<dyn Iterator<Item = (usize, &'s Curve<'a>)> + 'r> {
    Box::new(row.series.iter().take(SHOWN).enumerate().filter_map(|(slot, series)| Some((slot, (*series)?))))
}

/// Returns the samples of a series, thread by thread and repeat after repeat.
pub fn values<'s>(series: &'s Curve) -> Box<dyn Iterator<Item = i64> + 's> {
    Box::new(series.tracks().flat_map(|track| &track.samples).map(|point| point.value))
}

/// Returns the largest number of samples in a series of these rows.
pub fn longest(rows: &[&CallRow]) -> usize {
    let length = |series: &Curve| series.tracks().map(|track| track.samples.len()).sum();
    rows.iter().flat_map(|row| shown(row)).map(|(_, series)| length(series)).max().unwrap_or(0)
}

/// A grid of panels: two side by side if there are several and the width allows it.
pub struct Grid {
    width: f64,
    across: usize,
    height: f64,
    pitch: f64,
}

impl Grid {
    /// Lays out this number of panels, with `height` pixels between a panel's name and its axis labels.
    pub fn new(chapter: &Chapter, panels: usize, height: f64) -> Self {
        let width = chapter.width();
        Self { width, across: if panels > 1 && !is_narrow(width) { 2 } else { 1 }, height, pitch: height + 58.0 }
    }

    /// Returns an empty picture with room for the panels.
    pub fn svg(&self, panels: usize) -> Svg {
        Svg::new(self.width, self.pitch * panels.div_ceil(self.across).max(1) as f64 + 14.0)
    }

    /// Returns the plot area of a panel; the value labels are to its left.
    pub fn frame(&self, panel: usize) -> Frame {
        let gap = 18.0;
        let width = (self.width - gap * (self.across as f64 - 1.0)) / self.across as f64;
        let left = (panel % self.across) as f64 * (width + gap) + 74.0;
        let top = (panel / self.across) as f64 * self.pitch + 24.0;
        Frame { left, right: left + width - 74.0 - 14.0, top, bottom: top + self.height }
    }

    /// Returns whether no other panel is below this one.
    pub fn is_last(&self, panel: usize, panels: usize) -> bool {
        panel + self.across >= panels
    }

    /// Returns the names of the panels, each short enough for its panel.
    pub fn names(&self, names: &[&str]) -> Vec<String> {
        let frame = self.frame(0);
        apart(names, NAME_SIZE, frame.right - frame.left)
    }

    /// Writes the name above a panel.
    pub fn name(&self, svg: &mut Svg, frame: &Frame, name: &str) {
        svg.text("head", (frame.left, frame.top - 8.0), Anchor::Start, name);
    }
}

/// Draws the axis of instances from 1 to the last.
pub fn instance_axis(svg: &mut Svg, frame: &Frame, last: usize, name: &str) -> AxisScale {
    let x = AxisScale::linear(0.0, last.max(1) as f64, frame.left, frame.right);
    let ticks: Vec<_> = x.ticks(8).into_iter().map(|v| (x.at(v), count_label(v))).collect();
    frame.x_axis(svg, &ticks, name);
    x
}
