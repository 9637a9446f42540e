//! The tracks of a series laid over each other and thinned to what a figure can show.

use crate::{record::Block, report::section::Series};

/// What happened in one column of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// Number of samples.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
}

/// A series over time, its threads and repeats laid over each other from their first slots on.
#[derive(Debug)]
pub struct Timeline {
    /// Length of a column in seconds.
    pub step: f64,
    /// The columns from the first slot on; `None` where nothing was measured.
    pub columns: Vec<Option<Column>>,
}

/// When the last block of these series ends, in seconds; 0 without blocks.
pub fn end(series: &[Series]) -> f64 {
    let ends = blocks_of(series).map(|b| b.start_ns.saturating_add(b.length_ns));
    ends.max().unwrap_or(0) as f64 / 1e9
}

/// The shortest block of these series in seconds: columns need not be finer.
pub fn finest(series: &[Series]) -> f64 {
    blocks_of(series).map(|b| b.length_ns.max(1)).min().unwrap_or(1_000_000_000) as f64 / 1e9
}

fn blocks_of<'a>(series: &'a [Series]) -> impl Iterator<Item = &'a Block> {
    series.iter().flat_map(|s| &s.pooled.tracks).flat_map(|t| &t.blocks)
}

/// The timeline in at most `most` columns over `end` seconds, none shorter than a block.
pub fn timeline(series: &Series, end: f64, finest: f64, most: usize) -> Timeline {
    let columns = ((end / finest).round() as usize).clamp(1, most.max(1));
    let step = (end / columns as f64).max(1e-9);
    let mut sums = vec![(0u64, 0i128, f64::NEG_INFINITY); columns];
    for block in series.pooled.tracks.iter().flat_map(|t| &t.blocks) {
        let middle = (block.start_ns as f64 + block.length_ns as f64 / 2.0) / 1e9;
        let index = ((middle / step) as usize).min(columns - 1);
        if let Some((count, sum, max)) = sums.get_mut(index) {
            *count = count.saturating_add(block.count);
            *sum = sum.saturating_add(block.sum);
            *max = block.largest.first().map_or(*max, |s| max.max(s.value as f64));
        }
    }
    let column = |(count, sum, max): (u64, i128, f64)| {
        let mean = sum as f64 / count.max(1) as f64;
        (count > 0).then_some(Column { count, mean, max: if max.is_finite() { max } else { mean } })
    };
    Timeline { step, columns: sums.into_iter().map(column).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{sample, section::sections};

    #[test]
    fn thinning_keeps_maxima_and_counts() {
        let all = sample::configurations(3);
        for section in sections(&all) {
            let (end, finest) = (end(&section.series), finest(&section.series));
            for series in &section.series {
                let line = timeline(series, end, finest, 7);
                let columns: Vec<_> = line.columns.iter().flatten().collect();
                let max = columns.iter().map(|c| c.max).fold(0.0, f64::max);
                assert!(columns.len() <= 7 && Some(max) == series.max());
                let counted: u64 = series.pooled.tracks.iter().flat_map(|t| &t.blocks).map(|b| b.count).sum();
                assert_eq!(columns.iter().map(|c| c.count).sum::<u64>(), counted);
            }
        }
    }
}
