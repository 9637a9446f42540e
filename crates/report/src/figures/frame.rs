//! The plot area of a chart: its axes with grid and labels, limit lines, and labels that do not overlap.

use super::{
    axis::{AxisScale, count_label, round_up, value_axis},
    svg::{Anchor, Pen, Svg, text_width},
};
use crate::{
    tree::{PAGE, Section},
    words,
};

/// The width of every figure of a page.
pub const WIDTH: f64 = PAGE;

/// The width in pixels below which a figure counts as a column of a paper.
pub const COLUMN: f64 = 640.0;

/// Returns whether a figure is a column of a paper: names are then above what they name, and panels are stacked.
pub fn is_narrow(width: f64) -> bool {
    width < COLUMN
}

/// The width of the variants for narrow screens.
pub const NARROW: f64 = 520.0;

/// The plot area in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Left edge.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

impl Frame {
    /// Draws one grid line per tick, all in one path.
    fn grid(&self, svg: &mut Svg, positions: impl Iterator<Item = f64>, upright: bool) {
        let mut pen = Pen::default();
        for at in positions {
            if upright {
                pen.go(at, self.top);
                pen.line(at, self.bottom);
            } else {
                pen.go(self.left, at);
                pen.line(self.right, at);
            }
        }
        svg.path("grid", &pen);
    }

    /// Draws a horizontal axis with its labels below the frame and its name below the labels.
    pub fn x_axis(&self, svg: &mut Svg, ticks: &[(f64, String)], name: &str) {
        self.grid(svg, ticks.iter().map(|t| t.0), true);
        let mut free_from = f64::MIN;
        for (at, label) in ticks {
            let half = text_width(label, 11.0) / 2.0;
            if at - half < free_from {
                continue;
            }
            free_from = at + half + 6.0;
            // The last label may extend past the end of the axis, but not past the picture.
            let at = at.min(self.right + 14.0 - half);
            svg.text("tick", (at, self.bottom + 16.0), Anchor::Middle, label);
        }
        if !name.is_empty() {
            svg.text("label", ((self.left + self.right) / 2.0, self.bottom + 36.0), Anchor::Middle, name);
        }
    }

    /// Draws a horizontal axis of values.
    pub fn value_x_axis(&self, svg: &mut Svg, scale: &AxisScale, section: &Section, name: &str) {
        self.x_axis(svg, &value_axis(scale, 12, section.unit), name);
    }

    fn y_axis(&self, svg: &mut Svg, ticks: impl Iterator<Item = (f64, String)> + Clone, name: &str) {
        self.grid(svg, ticks.clone().map(|t| t.0), false);
        for (at, label) in ticks {
            svg.text("tick", (self.left - 7.0, at + 3.9), Anchor::End, &label);
        }
        if !name.is_empty() {
            svg.upright("label", (14.0, (self.top + self.bottom) / 2.0), Anchor::Middle, name);
        }
    }

    /// Draws a vertical axis of values; `most` is the largest number of ticks.
    pub fn value_y_axis(&self, svg: &mut Svg, scale: &AxisScale, section: &Section, name: &str, most: usize) {
        self.y_axis(svg, value_axis(scale, most, section.unit).into_iter(), name);
    }

    /// Draws a vertical axis with these ticks.
    pub fn ticks_y_axis(&self, svg: &mut Svg, ticks: &[(f64, String)]) {
        self.y_axis(svg, ticks.iter().cloned(), "");
    }

    /// Draws a vertical axis of counts on a log scale, with whole decades only.
    pub fn count_y_axis(&self, svg: &mut Svg, scale: &AxisScale, name: &str) {
        let decades = (0..20).map(|d| 10f64.powi(d)).filter(|v| *v <= scale.high * 1.001);
        self.y_axis(svg, decades.map(|v| (scale.at(v), count_label(v))), name);
    }

    /// Draws a vertical axis of counts on a linear scale.
    pub fn linear_count_y_axis(&self, svg: &mut Svg, scale: &AxisScale, name: &str) {
        let ticks = scale.ticks(8);
        self.y_axis(svg, ticks.iter().map(|v| (scale.at(*v), count_label(*v))), name);
    }

    /// Draws a horizontal line for each limit inside the scale, with its name on the left if `named`.
    pub fn limits_across(&self, svg: &mut Svg, scale: &AxisScale, section: &Section, named: bool) {
        for limit in inside(section, scale) {
            let y = scale.at(limit);
            svg.line("limit", (self.left, y), (self.right, y));
            if named {
                let above = if y - self.top < 16.0 { y + 13.0 } else { y - 4.0 };
                svg.text("limit-name", (self.left + 5.0, above), Anchor::Start, &limit_name(section, limit));
            }
        }
    }

    /// Writes a text into a frame without data.
    pub fn nothing(&self, svg: &mut Svg, text: &str) {
        let middle = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        svg.text("label", middle, Anchor::Middle, text);
    }
}

/// Returns the limits inside a scale.
pub fn inside(section: &Section, scale: &AxisScale) -> Vec<f64> {
    section.limits().into_iter().filter(|limit| (scale.low..=scale.high).contains(limit)).collect()
}

/// Returns the name of a limit: `limit 100 µs`.
pub fn limit_name(section: &Section, limit: f64) -> String {
    format!("limit {}", words::round_value(limit, section.unit))
}

/// Returns the scale of counts: from half a sample, so that a single sample is visible, to a round number.
pub fn count_scale(most: u64, bottom: f64, top: f64) -> AxisScale {
    AxisScale::log(0.5, round_up(most.max(9) as f64 * 1.1), bottom, top)
}

/// A flag: its pole is on the axis, and its text is next to the top of the pole.
#[derive(Clone, Copy, Debug)]
pub struct FlagReach {
    /// The position of the pole.
    pub pole: f64,
    /// The range that pole and text cover.
    pub reach: (f64, f64),
}

impl FlagReach {
    fn covers(&self, at: f64) -> bool {
        (self.reach.0..=self.reach.1).contains(&at)
    }
}

/// Assigns each flag, in the given order, a row above the plot. No two flags overlap. Where possible, no pole crosses the text of another
/// flag: a text is placed above the flags whose poles it covers.
pub fn rows(flags: &[FlagReach]) -> Vec<usize> {
    let mut rows: Vec<usize> = Vec::with_capacity(flags.len());
    for flag in flags {
        let placed = || flags.iter().zip(&rows);
        let free = |row: usize| {
            placed().all(|(other, r)| *r != row || flag.reach.1 < other.reach.0 || flag.reach.0 > other.reach.1)
        };
        let uncrossed = |row: usize| {
            placed().all(|(other, r)| (!flag.covers(other.pole) || row > *r) && (!other.covers(flag.pole) || row < *r))
        };
        let most = flags.len();
        let row = (0..most).find(|row| free(*row) && uncrossed(*row)).or_else(|| (0..most).find(|row| free(*row)));
        rows.push(row.unwrap_or(most));
    }
    rows
}

/// Moves positions until they are `gap` apart. Their order stays, and they stay within `top..bottom` if there is room.
pub fn spread(positions: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    let at = |i: &usize| positions.get(*i).copied().unwrap_or(top);
    order.sort_by(|a, b| at(a).total_cmp(&at(b)));
    let mut placed: Vec<f64> = order.iter().map(at).collect();
    let mut floor = top;
    for y in &mut placed {
        *y = y.max(floor);
        floor = *y + gap;
    }
    let mut ceiling = bottom;
    for y in placed.iter_mut().rev() {
        *y = y.min(ceiling);
        ceiling = *y - gap;
    }
    let mut out = vec![0.0; positions.len()];
    for (i, y) in order.into_iter().zip(placed) {
        if let Some(slot) = out.get_mut(i) {
            *slot = y;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn spread_labels_keep_their_distance(ys in proptest::collection::vec(0.0f64..300.0, 0..9)) {
            let mut placed = spread(&ys, 14.0, 0.0, 300.0);
            placed.sort_by(f64::total_cmp);
            prop_assert!(placed.windows(2).all(|p| p[1] - p[0] > 13.99), "{placed:?}");
            prop_assert!(placed.iter().all(|y| (-0.01..=300.01).contains(y)), "{placed:?}");
        }

        #[test]
        fn flags_of_a_row_do_not_overlap(starts in proptest::collection::vec((0.0f64..100.0, 1.0f64..50.0), 0..9)) {
            let flags: Vec<_> = starts.into_iter().map(|(at, width)| FlagReach { pole: at, reach: (at, at + width) }).collect();
            let rows = rows(&flags);
            for i in 0..rows.len() {
                for j in 0..i {
                    let (a, b) = (flags[i].reach, flags[j].reach);
                    prop_assert!(rows[i] != rows[j] || a.1 < b.0 || a.0 > b.1);
                }
            }
        }
    }

    #[test]
    fn texts_are_above_the_poles_they_cover() {
        let flag = |at: f64| FlagReach { pole: at, reach: (at, at + 50.0) };
        assert_eq!(rows(&[flag(40.0), flag(20.0), flag(0.0)]), [0, 1, 2]);
        assert_eq!(rows(&[flag(200.0), flag(20.0), flag(0.0)]), [0, 0, 1]);
    }
}
