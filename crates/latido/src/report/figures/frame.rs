//! The plot area of a chart: its axes with grid and labels, limit lines, and labels that keep out of each other's way.

use super::{
    axis::{Scale, count_label, value_label},
    svg::{Anchor, Pen, Svg, text_width},
};
use crate::report::section::Section;

/// The width of every figure.
pub const WIDTH: f64 = 1080.0;

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
    /// One grid line per tick, all in one path.
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

    /// A horizontal axis with its labels below the frame and its name below them.
    pub fn x_axis(&self, svg: &mut Svg, ticks: &[(f64, String)], name: &str) {
        self.grid(svg, ticks.iter().map(|t| t.0), true);
        let mut free_from = f64::MIN;
        for (at, label) in ticks {
            let half = text_width(label, 11.0) / 2.0;
            if at - half < free_from {
                continue;
            }
            free_from = at + half + 6.0;
            svg.text("tick", (*at, self.bottom + 16.0), Anchor::Middle, label);
        }
        if !name.is_empty() {
            svg.text("label", ((self.left + self.right) / 2.0, self.bottom + 36.0), Anchor::Middle, name);
        }
    }

    /// A horizontal axis of values.
    pub fn value_x_axis(&self, svg: &mut Svg, scale: &Scale, section: &Section, name: &str) {
        let ticks: Vec<_> = scale.ticks(12).into_iter().map(|v| (scale.at(v), value_label(v, section.unit))).collect();
        self.x_axis(svg, &ticks, name);
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

    /// A vertical axis of values; `most` is the largest number of ticks.
    pub fn value_y_axis(&self, svg: &mut Svg, scale: &Scale, section: &Section, name: &str, most: usize) {
        let ticks = scale.ticks(most);
        self.y_axis(svg, ticks.iter().map(|v| (scale.at(*v), value_label(*v, section.unit))), name);
    }

    /// A vertical axis of counts on a log scale, whole decades only.
    pub fn count_y_axis(&self, svg: &mut Svg, scale: &Scale, name: &str) {
        let decades = (0..20).map(|d| 10f64.powi(d)).filter(|v| *v <= scale.high * 1.001);
        self.y_axis(svg, decades.map(|v| (scale.at(v), count_label(v))), name);
    }

    /// The horizontal line of each limit inside the scale, named at the left.
    pub fn limits_across(&self, svg: &mut Svg, scale: &Scale, section: &Section, named: bool) {
        for limit in inside(section, scale) {
            let y = scale.at(limit);
            svg.line("limit", (self.left, y), (self.right, y));
            if named {
                let above = if y - self.top < 16.0 { y + 13.0 } else { y - 4.0 };
                svg.text("limit-name", (self.left + 5.0, above), Anchor::Start, &limit_name(section, limit));
            }
        }
    }

    /// What stands in a frame without data.
    pub fn nothing(&self, svg: &mut Svg, text: &str) {
        let middle = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        svg.text("label", middle, Anchor::Middle, text);
    }
}

/// The limits that a scale shows.
pub fn inside(section: &Section, scale: &Scale) -> Vec<f64> {
    section.limits().into_iter().filter(|limit| (scale.low..=scale.high).contains(limit)).collect()
}

/// `limit 100 µs`.
pub fn limit_name(section: &Section, limit: f64) -> String {
    format!("limit {}", value_label(limit, section.unit))
}

/// The scale of counts: from half a sample, so that a single one is seen, to a whole decade.
pub fn count_scale(most: u64, bottom: f64, top: f64) -> Scale {
    let decades = (most.max(9) as f64).log10().ceil();
    Scale::log(0.5, 10f64.powf(decades), bottom, top)
}

/// The first free row for each of these intervals, taken in their order, so that none overlaps another in its row.
pub fn rows(intervals: &[(f64, f64)]) -> Vec<usize> {
    let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut rows = Vec::with_capacity(intervals.len());
    for &(from, to) in intervals {
        let free = taken.iter().position(|row| row.iter().all(|&(a, b)| to < a || from > b));
        let row = free.unwrap_or(taken.len());
        if row == taken.len() {
            taken.push(Vec::new());
        }
        if let Some(row) = taken.get_mut(row) {
            row.push((from, to));
        }
        rows.push(row);
    }
    rows
}

/// Moves positions apart until they are `gap` apart, in order, within `top..bottom` if there is room.
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
        fn intervals_of_a_row_do_not_overlap(starts in proptest::collection::vec((0.0f64..100.0, 1.0f64..50.0), 0..9)) {
            let intervals: Vec<_> = starts.into_iter().map(|(at, width)| (at, at + width)).collect();
            let rows = rows(&intervals);
            for i in 0..rows.len() {
                for j in 0..i {
                    let apart = intervals[i].1 < intervals[j].0 || intervals[i].0 > intervals[j].1;
                    prop_assert!(rows[i] != rows[j] || apart);
                }
            }
        }
    }
}
