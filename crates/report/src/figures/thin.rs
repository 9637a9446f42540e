//! Ordered samples reduced to what a figure can show: their envelope, column by column.

use super::{
    axis::AxisScale,
    svg::{Pen, Svg},
};

/// The smallest and largest value of each column that has values.
#[derive(Debug)]
pub struct Envelope {
    columns: Vec<Option<(f64, f64)>>,
    low: f64,
    high: f64,
    /// The points themselves, if there are no more points than columns.
    few: Option<Vec<(f64, f64)>>,
}

impl Envelope {
    /// Computes the envelope of points with `low <= x <= high`, in this many columns.
    pub fn of(points: impl Iterator<Item = (f64, f64)>, low: f64, high: f64, columns: usize) -> Self {
        let columns = columns.max(1);
        let mut all: Vec<Option<(f64, f64)>> = vec![None; columns];
        let mut few = Some(Vec::new());
        let width = (high - low).max(f64::MIN_POSITIVE);
        for (x, y) in points {
            let column = ((x - low) / width * columns as f64) as usize;
            if let Some(slot) = all.get_mut(column.min(columns - 1)) {
                let (least, most) = slot.unwrap_or((y, y));
                *slot = Some((least.min(y), most.max(y)));
            }
            few = few.filter(|points| points.len() < columns);
            if let Some(points) = &mut few {
                points.push((x, y));
            }
        }
        Self { columns: all, low, high, few }
    }

    /// Returns the smallest and largest value of each column that has values.
    pub fn columns(&self) -> &[Option<(f64, f64)>] {
        &self.columns
    }

    /// Draws the points as a line if they are few, else the envelope as a band, which breaks where there are no values for long.
    pub fn draw(&self, svg: &mut Svg, x: &AxisScale, y: &AxisScale) {
        if let Some(points) = &self.few {
            let mut pen = Pen::default();
            for (i, (at, value)) in points.iter().enumerate() {
                let (px, py) = (x.at(*at), y.at(*value).round());
                if i == 0 { pen.go(px, py) } else { pen.line(px, py) }
            }
            svg.path("fine", &pen);
            return;
        }
        let step = (self.high - self.low) / self.columns.len() as f64;
        let middle = |i: usize| x.at(self.low + (i as f64 + 0.5) * step);
        let mut pen = Pen::default();
        for stretch in self.stretches() {
            let upper = stretch.iter().map(|(i, (_, most))| (middle(*i), y.at(*most)));
            let lower = stretch.iter().rev().map(|(i, (least, _))| (middle(*i), y.at(*least)));
            for (k, (px, py)) in upper.chain(lower).enumerate() {
                // Finer steps than whole pixels are not visible in a band, and whole pixels keep the file small.
                let (px, py) = (px.round(), py.round());
                if k == 0 { pen.go(px, py) } else { pen.line(px, py) }
            }
            pen.close();
        }
        svg.path("band", &pen);
    }

    /// Returns runs of columns that have values. A few missed samples do not break a run, a longer gap does.
    fn stretches(&self) -> Vec<Vec<(usize, (f64, f64))>> {
        let mut found: Vec<Vec<(usize, (f64, f64))>> = Vec::new();
        let bridged = self.columns.len() / 40;
        for (i, range) in self.columns.iter().enumerate().filter_map(|(i, column)| Some((i, (*column)?))) {
            let near =
                |run: &&mut Vec<(usize, (f64, f64))>| run.last().is_some_and(|(last, _)| i - last <= 1 + bridged);
            match found.last_mut().filter(near) {
                Some(run) => run.push((i, range)),
                None => found.push(vec![(i, range)]),
            }
        }
        found
    }
}

/// The largest distance between the drawn line and a point that it leaves out, in pixels.
const UNSEEN: f64 = 0.35;

/// Removes the points of a line, ascending in x, that are not visible: each removed point is within `UNSEEN` of the remaining line (the
/// swinging-door algorithm of process recorders, E. H. Bristol, 1990).
pub fn seen(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let (mut last, mut door) = (None::<(f64, f64)>, (f64::NEG_INFINITY, f64::INFINITY));
    for (x, y) in points {
        let Some(&(from, base)) = kept.last() else {
            kept.push((x, y));
            continue;
        };
        let slope = |(from, base): (f64, f64), up: f64| (y + up - base) / (x - from);
        let through = slope((from, base), 0.0);
        let open = x > from && (door.0..=door.1).contains(&through);
        let at = match last {
            Some(hinge) if !open || hinge.0 <= from => {
                kept.push(hinge);
                door = (f64::NEG_INFINITY, f64::INFINITY);
                hinge
            }
            _ => (from, base),
        };
        if x > at.0 {
            door = (door.0.max(slope(at, -UNSEEN)), door.1.min(slope(at, UNSEEN)));
        }
        last = Some((x, y));
    }
    kept.extend(last);
    kept
}

/// Returns the smallest and the largest of some values.
pub fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |found: Option<(f64, f64)>, v| {
        let (low, high) = found.unwrap_or((v, v));
        Some((low.min(v), high.max(v)))
    })
}

/// Returns a scale for lines: linear around the values, or logarithmic where they are far apart.
pub fn line_scale(range: Option<(f64, f64)>, from: f64, to: f64) -> AxisScale {
    match range {
        Some((low, high)) if low > 0.0 && high > low * 8.0 => AxisScale::log_over([low, high].into_iter(), from, to),
        Some((low, high)) => {
            let room = ((high - low) * 0.06).max(high.abs() * 1e-3);
            let low = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
            AxisScale::linear(low, high + room, from, to)
        }
        None => AxisScale::linear(0.0, 1.0, from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the number of points, the envelope keeps every extreme and adds none.
        #[test]
        fn extremes_survive(values in proptest::collection::vec(-1e9f64..1e9, 1..2_000), columns in 1usize..300) {
            let points = values.iter().enumerate().map(|(i, v)| (i as f64, *v));
            let envelope = Envelope::of(points, 0.0, values.len() as f64 - 1.0, columns);
            let kept = range(envelope.columns.iter().flatten().flat_map(|(low, high)| [*low, *high]));
            prop_assert_eq!(kept, range(values.iter().copied()));
            prop_assert_eq!(envelope.few.is_some(), values.len() <= columns);
        }
    }

    proptest! {
        /// Whatever the shape of a line, all its points are within the visible tolerance of the drawn line, and its ends stay.
        #[test]
        fn a_thinned_line_passes_by_every_point(ys in proptest::collection::vec(0.0f64..6.0, 2..200)) {
            let points: Vec<(f64, f64)> = ys.iter().enumerate().map(|(i, y)| (i as f64 * 0.7, *y)).collect();
            let kept = seen(points.iter().copied());
            prop_assert_eq!((kept.first(), kept.last()), (points.first(), points.last()));
            for (x, y) in &points {
                let near = kept.windows(2).any(|pair| {
                    let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                    (x0..=x1).contains(x) && (y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y).abs() <= UNSEEN + 1e-9
                });
                prop_assert!(near, "{x}, {y} is far from {kept:?}");
            }
        }
    }

    #[test]
    fn a_straight_line_is_two_points() {
        assert_eq!(seen((0..500).map(|i| (f64::from(i), f64::from(i) * 0.3))).len(), 2);
        assert_eq!(seen([(1.0, 1.0)].into_iter()), [(1.0, 1.0)]);
        assert_eq!(seen([(1.0, 1.0), (1.0, 9.0), (2.0, 9.0)].into_iter()).len(), 3, "upright steps stay");
    }

    #[test]
    fn a_hole_breaks_the_band() {
        let points = (0..1_000).filter(|i| !(400..500).contains(i)).map(|i| (f64::from(i), f64::from(i % 7)));
        let envelope = Envelope::of(points, 0.0, 1_000.0, 100);
        assert_eq!(envelope.stretches().iter().map(Vec::len).collect::<Vec<_>>(), [40, 50]);
    }
}
