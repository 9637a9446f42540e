//! Which samples of a cell its trace explains: one choice for who keeps the trace of them and for who reads it.

use super::pool;
pub use crate::explain::{Explainable, MOST, USUAL, explainable};
use crate::record::{Record, Sample, Series};
use anyhow::Result;
use std::cmp::Reverse;

/// A sample that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The measuring thread's index within the cell.
    pub thread: u32,
    /// Its number in the kernel; a checkpoint does not tell it yet.
    pub tid: Option<i32>,
    /// The CPU that it was pinned to.
    pub cpu: u32,
    /// When it was taken, ns on CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// When since the first slot, ns.
    pub at_ns: u64,
    /// How late it was, ns.
    pub ns: u64,
}

/// The samples of a cell that are to be explained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The largest first.
    pub samples: Vec<Late>,
    /// How many lie above the limit in all, where the cell has one.
    pub above: Option<u64>,
}

/// The largest samples of all threads of a cell and all above its limit, at most [`MOST`]; none of a probe whose samples
/// are no times of a thread. `largest` fetches those that a series kept.
///
/// # Errors
/// A list of samples cannot be had.
pub fn late(record: &Record, worst: u32, largest: impl Fn(&Series) -> Result<Vec<Sample>>) -> Result<Chosen> {
    let Some(Explainable { quantity, .. }) = explainable(&record.cell.probe.name) else { return Ok(Chosen::default()) };
    let limit = record.cell.conditions.limit.map(|limit| i64::try_from(limit.0).unwrap_or(i64::MAX));
    let of_probe: Vec<&Series> = record.series.iter().filter(|series| series.quantity == quantity).collect();
    let mut samples = Vec::new();
    for series in &of_probe {
        let thread = record.quality.threads.iter().find(|thread| thread.thread == series.thread);
        let tid = thread.and_then(|thread| thread.tid).and_then(|tid| i32::try_from(tid).ok());
        samples.extend(largest(series)?.iter().map(|sample| Late {
            thread: series.thread,
            tid,
            cpu: series.cpu.unwrap_or(0),
            end_ns: record.anchors.monotonic_ns.saturating_add(sample.at_ns),
            at_ns: sample.at_ns,
            ns: u64::try_from(sample.value).unwrap_or(0),
        }));
    }
    samples.sort_by_key(|one| (Reverse(one.ns), one.end_ns));
    let beyond = limit.map_or(0, |limit| samples.partition_point(|one| one.ns > limit.max(0).cast_unsigned()));
    samples.truncate(beyond.max(worst as usize).min(MOST as usize));
    let above = limit.and_then(|limit| {
        of_probe
            .iter()
            .map(|series| pool::above(&series.bands, limit))
            .try_fold(0, |sum: u64, n| Some(sum.saturating_add(n?)))
    });
    Ok(Chosen { samples, above })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Class, sample, units::Ns};

    /// The largest of all threads come first, all above the limit are among them, and never more than the bound.
    #[test]
    fn the_largest_and_all_above_the_limit_are_chosen() {
        let mut record = sample::record();
        record.cell.conditions.limit = Some(Ns(50));
        // As in a checkpoint: what the kernel says of threads comes at their end.
        record.quality.threads.clear();
        let series = record.series.len();
        let values = |n: u64| {
            move |_: &Series| {
                Ok((0..n).map(|at| Sample { value: 100 - at as i64, at_ns: at, class: Class::Unknown }).collect())
            }
        };
        let chosen = |n, worst| late(&record, worst, values(n)).unwrap().samples;
        assert!(series > 0);
        assert_eq!(chosen(10, 3).len(), 10 * series, "all above the limit");
        assert_eq!(chosen(60, 3).len(), 50 * series, "51 and more are above 50");
        assert_eq!(chosen(90, 80).len(), (50 * series).max(80).min(90 * series));
        assert!(chosen(90, 80).is_sorted_by_key(|one| Reverse(one.ns)));
        record.cell.probe.name = "switch".into();
        assert_eq!(late(&record, 3, values(9)).unwrap(), Chosen::default());
        record.cell.probe.name = "gap".into();
        record.series.iter_mut().for_each(|series| series.quantity = "gap".into());
        record.cell.conditions.limit = Some(Ns(0));
        let all = late(&record, 3, |_| Ok(vec![Sample { value: 9, at_ns: 1, class: Class::Unknown }; 4_096])).unwrap();
        assert_eq!(all.samples.len(), (4_096 * series).min(MOST as usize));
    }
}
