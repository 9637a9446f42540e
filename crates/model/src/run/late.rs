//! Which samples of a cell its trace explains. The part that keeps the trace and the part that reads it use the same choice.

use super::pool;
pub use crate::explain::{Begins, COMPLETION, Explainable, MISSED, MOST, RESPONSE, USUAL, explainable};
use crate::record::{Record, Sample, Series};
use anyhow::Result;
use std::{cmp::Reverse, collections::BTreeMap};

/// A sample to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// Which of the record's series it is in.
    pub series: usize,
    /// The measuring thread's index within the cell.
    pub thread: u32,
    /// The thread's ID in the kernel; a checkpoint does not contain it yet.
    pub tid: Option<i32>,
    /// The CPU that it was pinned to.
    pub cpu: u32,
    /// When it was taken, ns on CLOCK_MONOTONIC.
    pub end_ns: u64,
    /// When since the first slot, ns.
    pub at_ns: u64,
    /// How late it was, in ns; for a slot without a job, the time until its thread had done its next job.
    pub ns: u64,
    /// Whether it is a slot without a job.
    pub missed: bool,
    /// For a program's jobs: how many missed or late slots began during this one. They are explained together with it.
    pub also: u64,
}

/// The samples of a cell to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The largest first.
    pub samples: Vec<Late>,
    /// How many samples are above the limit in all, if the cell has one; slots without a job count too.
    pub above: Option<u64>,
}

/// Returns the largest samples of all threads of a cell and all above its limit, at most [`MOST`]. Returns none for a probe whose samples
/// are not times of a thread. For a program with a period these are the slots, and slots without a job count as above the limit. `largest`
/// reads the samples that a series kept.
///
/// # Errors
/// A list of samples cannot be read.
pub fn late(record: &Record, worst: u32, largest: impl Fn(&Series) -> Result<Vec<Sample>>) -> Result<Chosen> {
    let Some(how) = explainable(&record.cell.probe.name) else { return Ok(Chosen::default()) };
    let limit = record.cell.conditions.limit.map(|limit| i64::try_from(limit.0).unwrap_or(i64::MAX));
    let has_slots = how.begins == Begins::Job && record.series.iter().any(|series| series.quantity == COMPLETION);
    let quantities: &[&str] = if has_slots { &[COMPLETION, MISSED] } else { &[how.quantity] };
    let counts = |(_, series): &(usize, &Series)| quantities.contains(&series.quantity.as_str());
    let of_probe: Vec<(usize, &Series)> = record.series.iter().enumerate().filter(counts).collect();
    let mut samples = Vec::new();
    for (index, series) in &of_probe {
        let missed = has_slots && series.quantity == MISSED;
        samples.extend(largest(series)?.iter().map(|sample| Late {
            series: *index,
            thread: series.thread,
            tid: tid(record, series),
            cpu: series.cpu.unwrap_or(0),
            end_ns: record.anchors.monotonic_ns.saturating_add(sample.at_ns),
            at_ns: sample.at_ns,
            ns: u64::try_from(sample.value).unwrap_or(0),
            missed,
            also: 0,
        }));
    }
    let is_beyond = |one: &Late| one.missed || limit.is_some_and(|limit| one.ns > limit.max(0).cast_unsigned());
    if how.begins == Begins::Job {
        samples = incidents(samples, is_beyond);
    }
    samples.sort_by_key(|one| (!is_beyond(one), Reverse(one.ns), one.end_ns));
    let beyond = samples.partition_point(is_beyond);
    samples.truncate(beyond.max(worst as usize).min(MOST as usize));
    samples.sort_by_key(|one| (Reverse(one.ns), one.end_ns));
    let above = limit.and_then(|limit| {
        let above = |series: &Series| match has_slots && series.quantity == MISSED {
            true => Some(series.count),
            false => pool::above(&series.bands, limit),
        };
        of_probe.iter().map(|(_, series)| above(series)).try_fold(0, |sum: u64, n| Some(sum.saturating_add(n?)))
    });
    Ok(Chosen { samples, above })
}

/// Merges the slots of one stall, which makes many slots of a thread late or missed: slots that begin during a larger one are explained
/// with it. Among those, slots that are neither late nor missed are not counted.
fn incidents(mut samples: Vec<Late>, is_beyond: impl Fn(&Late) -> bool) -> Vec<Late> {
    samples.sort_by_key(|one| (Reverse(one.ns), one.end_ns));
    // Keyed by thread and by the start of the slot.
    let mut chosen: BTreeMap<(u32, Option<i32>, u64), Late> = BTreeMap::new();
    for one in samples {
        let begin = one.end_ns.saturating_sub(one.ns);
        let place = (one.thread, one.tid, begin);
        let before = chosen.range_mut((one.thread, one.tid, 0)..=place).next_back();
        match before.filter(|(_, larger)| begin < larger.end_ns) {
            Some((_, larger)) => larger.also += u64::from(is_beyond(&one)),
            None => {
                chosen.insert(place, one);
            }
        }
    }
    chosen.into_values().collect()
}

/// Returns the thread ID of a series' thread: a measuring one's, or a watched one's.
fn tid(record: &Record, series: &Series) -> Option<i32> {
    if let Some(tid) = series.facts.get("tid") {
        return i32::try_from(*tid).ok();
    }
    let measuring = || record.quality.threads.iter().find(|thread| thread.thread == series.thread)?.tid;
    let tid = match series.labels.get("task") {
        Some(task) => record.quality.watched.iter().find(|thread| thread.task == *task).map(|thread| thread.tid),
        None => measuring(),
    };
    i32::try_from(tid?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Class, sample, units::Ns};

    /// The result has the largest samples of all threads first and all that are above the limit, and never exceeds the bound.
    #[test]
    fn the_largest_and_all_above_the_limit_are_chosen() {
        let mut record = sample::record();
        record.cell.conditions.limit = Some(Ns(50));
        // As in a checkpoint: the kernel's data on threads is read at their end.
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

    /// For a program with a period, all slots without a job are chosen, whatever the limit is, and the largest of the other slots. The
    /// thread is the watched one.
    #[test]
    fn slots_without_a_job_are_chosen_first() {
        use crate::record::{Standing, WatchedThread};
        let mut record = sample::record();
        record.cell.probe.name = "task".into();
        record.cell.conditions.limit = Some(Ns(50));
        record.series.truncate(1);
        let mut slots = record.series.remove(0);
        slots.labels.insert("task".into(), "control".into());
        let standing = Standing { policy: "fifo 70".into(), cpus: None, locked_kib: None };
        record.quality.watched =
            vec![WatchedThread { task: "control".into(), tid: 77, standing, before: Vec::new(), held_back: None }];
        let named = |name: &str| Series { quantity: name.into(), count: 2, ..slots.clone() };
        record.series = vec![named("running"), named(RESPONSE), named(COMPLETION), named(MISSED)];
        let values = |series: &Series| {
            let values: &[i64] = if series.quantity == MISSED { &[30, 20] } else { &[60, 40] };
            Ok(values.iter().map(|value| Sample { value: *value, at_ns: 100, class: Class::Unknown }).collect())
        };
        let chosen = late(&record, 1, values).unwrap();
        // All end at the same time, 100: the smaller ones are within the largest, and the one of 40 is neither late nor missed.
        let told: Vec<_> = chosen.samples.iter().map(|one| (one.ns, one.also, one.tid, one.series)).collect();
        assert_eq!(told, [(60, 2, Some(77), 2)]);
        let apart = |series: &Series| {
            let at = |number: usize, value: i64| Sample { value, at_ns: 1_000 * number as u64, class: Class::Unknown };
            let values: &[i64] = if series.quantity == MISSED { &[30, 20] } else { &[60, 40] };
            Ok(values
                .iter()
                .enumerate()
                .map(|(number, value)| at(2 * number + usize::from(series.quantity == MISSED) + 1, *value))
                .collect())
        };
        let told: Vec<_> = late(&record, 1, apart).unwrap().samples.iter().map(|one| (one.ns, one.missed)).collect();
        assert_eq!(told, [(60, false), (30, true), (20, true)]);
        // Without a period, the responses are chosen.
        record.series.truncate(2);
        let chosen = late(&record, 1, values).unwrap().samples;
        assert_eq!(chosen.iter().map(|one| (one.series, one.ns, one.missed)).collect::<Vec<_>>(), [(1, 60, false)]);
    }
}
