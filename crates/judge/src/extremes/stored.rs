//! What a stored series knows of its largest samples: enough for a tail, although most samples are not stored.

use super::{limit::Above, tail};
use crate::repeat::Track;
use latido_model::{record::Block, run::pool};
use latido_statistics::tail::{Observed, Peak, default_k};

/// The number of largest samples that latido uses: as many as a recorder keeps.
const PEAKS: usize = 4096;

/// The largest samples of a series with their positions among all samples.
#[derive(Debug)]
pub(super) struct Stored {
    /// The samples in order of time.
    peaks: Vec<Peak>,
    count: u64,
    length_s: f64,
    block_maxima: Vec<i64>,
}

impl Stored {
    /// Reads them from a thread that was measured for `elapsed_ns`. The error is the reason why the stored data do not fit together.
    pub fn of(track: &Track, elapsed_ns: u64) -> Result<Self, String> {
        let count = track.plain.count;
        let mut largest: Vec<(i64, u64)> = track.largest.iter().map(|one| (one.value, one.at_ns)).collect();
        if largest.is_empty() && count > 0 {
            return Err("not possible: the largest samples are not stored".into());
        }
        largest.sort_unstable_by_key(|(value, at_ns)| (std::cmp::Reverse(*value), *at_ns));
        largest.truncate(PEAKS);
        if largest.len() as u64 > count {
            return Err("not possible: more samples are stored than were counted".into());
        }
        let least = largest.last().map_or(i64::MIN, |(value, _)| *value);
        largest.sort_unstable_by_key(|(_, at_ns)| *at_ns);
        let places = places(&track.blocks, count, elapsed_ns);
        let peaks = in_places(&largest, count, places);
        let block_maxima = block_maxima(&peaks, count, least);
        Ok(Self { peaks, count, length_s: elapsed_ns as f64 / 1e9, block_maxima })
    }

    /// Computes the tail above a fiftieth of the samples, or above fewer if fewer are stored.
    pub fn tail(&self) -> tail::Answer {
        let timed = self.length_s > 0.0;
        let length_s = if timed { self.length_s } else { self.count as f64 };
        let stored = self.peaks.len() as u64;
        let k = default_k(self.count, stored);
        let (peaks, block_maxima) = (self.peaks.as_slice(), self.block_maxima.as_slice());
        tail::of_observed(&Observed { peaks, count: self.count, length_s, block_maxima }, k, timed)
    }

    /// Returns what is above a limit; `None` if the stored bands do not give the count.
    pub fn above(&self, track: &Track, limit: i64) -> Option<Above> {
        let peaks: Vec<Peak> = self.peaks.iter().filter(|peak| peak.value > limit).copied().collect();
        let all = pool::above(&track.plain.bands, limit)? == peaks.len() as u64;
        Some(Above { count: pool::above(&track.summary.bands, limit)?, peaks: all.then_some(peaks) })
    }
}

/// Returns a function from a time to the position among all samples. It treats the samples as evenly spread within a block of about a
/// second, as those of a period are.
fn places(blocks: &[Block], count: u64, elapsed_ns: u64) -> impl Fn(u64) -> u64 {
    let whole = || Block { length_ns: elapsed_ns, count, ..Block::default() };
    let filled: Vec<&Block> = blocks.iter().filter(|block| block.count > 0).collect();
    let known = filled.iter().map(|block| block.count).fold(0, u64::saturating_add) == count
        && filled.is_sorted_by_key(|block| block.start_ns);
    // Start, length, count, and the number of earlier samples.
    let mut table: Vec<(u64, u64, u64, u64)> = Vec::new();
    let mut before = 0;
    let own = [whole()];
    let blocks: Vec<&Block> = if known { filled } else { own.iter().collect() };
    for block in blocks {
        table.push((block.start_ns, block.length_ns, block.count, before));
        before = block.count.saturating_add(before);
    }
    move |at_ns| {
        let behind = table.partition_point(|(start, ..)| *start <= at_ns);
        let Some((start, length, count, before)) = table.get(behind.saturating_sub(1)) else { return 0 };
        let within = u128::from(at_ns.saturating_sub(*start)) * u128::from(*count) / u128::from((*length).max(1));
        before.saturating_add(u64::try_from(within).unwrap_or(u64::MAX).min(count.saturating_sub(1)))
    }
}

/// Gives samples in order of time their positions: no two share a position, each follows the one before, and none is beyond the last.
fn in_places(ordered: &[(i64, u64)], count: u64, place: impl Fn(u64) -> u64) -> Vec<Peak> {
    let mut next = 0;
    let mut peaks = Vec::with_capacity(ordered.len());
    for (behind, (value, at_ns)) in (0..ordered.len() as u64).rev().zip(ordered) {
        let index = place(*at_ns).max(next).min(count.saturating_sub(behind + 1));
        peaks.push(Peak { index, value: *value });
        next = index + 1;
    }
    peaks
}

/// Returns the largest sample of each of equal blocks of time. A block without a stored sample has no sample above the least stored one, so
/// its maximum counts as equal to that. The tests use ranks, and ranks can handle ties.
fn block_maxima(peaks: &[Peak], count: u64, least: i64) -> Vec<i64> {
    let blocks = tail::blocks(count);
    let mut maxima = vec![least; blocks as usize];
    for peak in peaks {
        // Block b starts at b count / blocks, rounded down.
        let block = ((u128::from(peak.index) + 1) * u128::from(blocks)).saturating_sub(1) / u128::from(count.max(1));
        if let Some(largest) = maxima.get_mut(block as usize) {
            *largest = peak.value.max(*largest);
        }
    }
    maxima
}
