//! The tracks of a series, overlaid and reduced to what a figure can show.

use super::{axis::AxisScale, svg::Pen};
use crate::tree::Curve;
use latido_model::record::Block;

/// The samples of one column of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Number of samples in the blocks that fill the column.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// A series over time. Its threads and repeats are overlaid from their first slots on.
#[derive(Debug)]
pub struct OverTime {
    /// Length of a column in seconds.
    pub step: f64,
    /// The columns from the first slot to the last block of any series; `None` where there is no sample.
    pub columns: Vec<Option<Slice>>,
    /// The number of columns in which this series was measured: a `None` before that is a gap, one after is not.
    pub own: usize,
}

/// Returns the end of the last block of these series, in seconds; 0 without blocks.
pub fn end(series: &[Curve]) -> f64 {
    let ends = blocks_of(series).map(|b| b.start_ns.saturating_add(b.length_ns));
    ends.max().unwrap_or(0) as f64 / 1e9
}

/// Returns the usual length of a block of these series in seconds: the median, because columns need not be finer. The shortest block is
/// unsuitable: the last block of a thread may be cut short.
pub fn usual(series: &[Curve]) -> f64 {
    let mut lengths: Vec<u64> = blocks_of(series).map(|b| b.length_ns.max(1)).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(1_000_000_000) as f64 / 1e9
}

fn blocks_of<'a>(series: &'a [Curve]) -> impl Iterator<Item = &'a Block> {
    series.iter().flat_map(|s| s.tracks()).flat_map(|t| &t.blocks)
}

/// Returns the length and the number of the columns over `end` seconds: at most `most`, and none shorter than the usual block.
pub fn grid(end: f64, usual: f64, most: usize) -> (f64, usize) {
    let step = usual.max(end / most.max(1) as f64).max(1e-9);
    // A last block shorter than half a column belongs to the column before.
    (step, ((end / step).round() as usize).max(1))
}

/// Returns the columns that a stretch of time fills, as first and one past the last.
pub fn filled(start: f64, length: f64, step: f64, columns: usize) -> (usize, usize) {
    // Both edges are rounded in the same way, so that adjacent blocks fill adjacent columns.
    let (first, past) = ((start / step).round() as usize, ((start + length) / step).round() as usize);
    let inside = ((start + length / 2.0) / step) as usize;
    let (first, past) = if past > first { (first, past) } else { (inside, inside + 1) };
    (first.min(columns.saturating_sub(1)), past.min(columns))
}

/// Returns the timeline in at most `most` columns over `end` seconds, none shorter than the usual block. A block counts in every column
/// that it fills, so a longer block leaves no gap.
pub fn timeline(series: &Curve, end: f64, usual: f64, most: usize) -> OverTime {
    let (step, columns) = grid(end, usual, most);
    let mut sums = vec![(0u64, 0i128, f64::NEG_INFINITY); columns];
    let mut own = 0;
    for block in series.tracks().flat_map(|t| &t.blocks) {
        let (start, length) = (block.start_ns as f64 / 1e9, block.length_ns as f64 / 1e9);
        let (first, past) = filled(start, length, step, columns);
        own = own.max(past);
        for (count, sum, max) in sums.get_mut(first..past).into_iter().flatten() {
            *count = count.saturating_add(block.count);
            *sum = sum.saturating_add(block.sum);
            *max = block.largest.first().map_or(*max, |s| max.max(s.value as f64));
        }
    }
    let column = |(count, sum, max): (u64, i128, f64)| {
        let mean = sum as f64 / count.max(1) as f64;
        (count > 0).then_some(Slice { count, mean, max: if max.is_finite() { max } else { mean } })
    };
    OverTime { step, columns: sums.into_iter().map(column).collect(), own }
}

impl OverTime {
    /// Returns the stretches with samples or, if `gaps`, those without, as first and one past the last column.
    pub fn stretches(&self, gaps: bool) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        for i in (0..self.own).filter(|i| self.columns.get(*i).is_some_and(|c| c.is_none() == gaps)) {
            match found.last_mut() {
                Some((_, past)) if *past == i => *past = i + 1,
                _ => found.push((i, i + 1)),
            }
        }
        found
    }

    /// Draws a line in steps as long as the columns, with a break where there is no sample or `y` returns `None`.
    pub fn steps(&self, x: &AxisScale, y: impl Fn(&Slice) -> Option<f64>) -> Pen {
        let mut pen = Pen::default();
        let mut open = false;
        for (i, column) in self.columns.iter().enumerate() {
            let height = column.as_ref().and_then(&y);
            if let Some(height) = height {
                let from = self.edge(x, i);
                if open {
                    pen.line(from, height)
                } else {
                    pen.go(from, height)
                }
                pen.line(self.edge(x, i + 1), height);
            }
            open = height.is_some();
        }
        pen
    }

    /// Returns the start of a column, in whole pixels, so that the file stays small. The end of the last column is the end of the axis,
    /// even if its block was cut short.
    pub fn edge(&self, x: &AxisScale, column: usize) -> f64 {
        let seconds = if column < self.columns.len() { column as f64 * self.step } else { x.high };
        x.at(seconds).round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};
    use latido_judge::configuration::Configuration;

    #[test]
    fn thinning_keeps_maxima_and_counts() {
        let all = sample::configurations(3);
        for section in sections(&all) {
            let (end, usual) = (end(&section.series), usual(&section.series));
            for series in &section.series {
                let line = timeline(series, end, usual, 7);
                let columns: Vec<_> = line.columns.iter().flatten().collect();
                let max = columns.iter().map(|c| c.max).fold(0.0, f64::max);
                assert!(columns.len() <= 7 && Some(max) == series.max());
                let counted: u64 = series.tracks().flat_map(|t| &t.blocks).map(|b| b.count).sum();
                assert_eq!(columns.iter().map(|c| c.count).sum::<u64>(), counted);
            }
        }
    }

    /// Returns one thread with blocks of these starts and lengths (in ms) and counts.
    fn blocks(list: &[(u64, u64, u64)]) -> Configuration {
        let mut configuration = sample::of("x", &[1_000], None);
        let block = |&(start, length, count): &(u64, u64, u64)| Block {
            start_ns: start * 1_000_000,
            length_ns: length * 1_000_000,
            count,
            ..Block::default()
        };
        configuration.repeats[0].quantities[0].tracks[0].blocks = list.iter().map(block).collect();
        configuration
    }

    fn drawn(configuration: Configuration, most: usize) -> OverTime {
        let all = [configuration];
        let sections = sections(&all);
        let series = &sections[0].series;
        timeline(&series[0], end(series), usual(series), most)
    }

    #[test]
    fn blocks_of_uneven_length_leave_no_gap() {
        let mut list: Vec<(u64, u64, u64)> = (0..5).map(|i| (i * 1_000, 1_000, 10)).collect();
        // A starved thread ends its block late; the last block is cut short.
        list.extend([(5_000, 2_600, 3), (7_600, 1_000, 10), (8_600, 1_000, 10), (9_600, 130, 1)]);
        let line = drawn(blocks(&list), 600);
        assert_eq!((line.step, line.columns.len(), line.own), (1.0, 10, 10));
        assert_eq!(line.stretches(true), []);
        assert_eq!(line.stretches(false), [(0, 10)]);
        for most in [1, 3, 4, 7, 9] {
            let line = drawn(blocks(&list), most);
            assert!(line.step >= 1.0 && line.columns.len() <= most && line.stretches(true).is_empty(), "{line:?}");
        }
    }

    #[test]
    fn a_missing_block_and_one_without_samples_are_gaps() {
        let list = [(0, 1_000, 10), (1_000, 1_000, 0), (2_000, 1_000, 10), (4_000, 1_000, 10)];
        let line = drawn(blocks(&list), 600);
        assert_eq!(line.stretches(true), [(1, 2), (3, 4)]);
        assert_eq!(line.stretches(false), [(0, 1), (2, 3), (4, 5)]);
    }

    #[test]
    fn what_ended_early_has_no_gap_after_its_end() {
        let all = [blocks(&[(0, 1_000, 10)]), blocks(&[(0, 1_000, 10), (1_000, 1_000, 10)])];
        let sections = sections(&all);
        let series = &sections[0].series;
        let short = timeline(&series[0], end(series), usual(series), 600);
        assert_eq!((short.columns.len(), short.own, short.stretches(true)), (2, 1, vec![]));
    }
}
