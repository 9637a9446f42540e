//! Judges a cell against its limit: the samples that count, the largest of them, and the verdict.

use super::{
    deciding::Deciding,
    reason::{ForeignBeside, Reason, WithoutJob, Worst},
    trust::period,
};
use crate::statistics::pool;
use latido_model::{
    plan::expect::NS,
    quantity::Measurand,
    record::{Between, Bin, Record, Series, Summary, quantized},
    units::Ns,
    verdict::Verdict,
};
use std::collections::BTreeSet;

/// Returns the series that limits and headlines use: times of the quantities that the probe declares as judged, each sample once.
///
/// If the limit is the deadline of a watched program's period, it applies only to the threads with slots: how long other threads work does
/// not matter.
pub(super) fn judged<'a>(record: &'a Record, measurand: &Measurand) -> Vec<&'a Series> {
    let slotted = record.series.iter().filter(|series| series.slots.is_some()).filter_map(period::thread);
    let slotted: BTreeSet<&str> = slotted.collect();
    let is_deadline = measurand.own_limit.is_some() && measurand.own_limit == record.cell.conditions.limit;
    let has_slots = |series: &&'a Series| period::thread(series).is_none_or(|name| slotted.contains(name));
    let times = record.series.iter().filter(|series| series.unit == NS);
    let judged = times.filter(|series| measurand.judges(&series.quantity) && !measurand.is_part(&series.labels));
    judged.filter(|series| !is_deadline || slotted.is_empty() || has_slots(series)).collect()
}

/// Returns the series with the largest sample, and that sample.
pub(super) fn largest<'a>(timed: &[&'a Series]) -> Option<(&'a Series, i64)> {
    timed.iter().filter_map(|series| Some((*series, series.decisive().max?))).max_by_key(|(_, max)| *max)
}

fn count<'a>(series: impl IntoIterator<Item = &'a Series>) -> u64 {
    series.into_iter().map(|series| series.decisive().count).fold(0, u64::saturating_add)
}

/// Compares the limit with the decisive distributions of the judged times, and returns the verdict with the reason. No limit applies to
/// other samples, in whatever unit: for these the reason only gives their number. `bins` contains the bins of each series, where another
/// tool counted.
pub(super) fn against(
    record: &Record,
    measurand: &Measurand,
    timed: &[&Series],
    bins: &[Vec<Bin>],
    deciding: &Deciding,
) -> (Verdict, Reason) {
    if timed.iter().any(|series| series.bounds.is_some()) {
        return coarse(record, timed, bins);
    }
    let Some((series, value_ns)) = largest(timed) else { return without_times(record, timed) };
    let (alike, others): (Vec<&Series>, Vec<&Series>) =
        timed.iter().copied().partition(|other| other.quantity == series.quantity);
    let count = count(alike.iter().copied());
    // The delay of a missed slot is not stored as a sample, so its time is not known.
    let at_ns = deciding.worst.as_ref().filter(|sample| sample.value == value_ns).map(|sample| sample.at_ns);
    let worst = Worst { value_ns, from_ns: None, quantity: series.quantity.clone(), cpu: series.cpu, at_ns };
    let Some(limit) = record.cell.conditions.limit else {
        return (Verdict::Pass, Reason::Unlimited { worst, count: Some(count) });
    };
    let limit_ns = i64::try_from(limit.0).unwrap_or(i64::MAX);
    let is_own = measurand.own_limit == Some(limit);
    let limited = Limited { record, alike, others, count, worst, limit_ns, is_own };
    if value_ns <= limit_ns { limited.within() } else { limited.above(deciding) }
}

/// Judges a cell without a judged time. One that only times batches of calls has measured nevertheless.
fn without_times(record: &Record, timed: &[&Series]) -> (Verdict, Reason) {
    let limited = record.cell.conditions.limit.is_some();
    match count(timed.iter().copied()).max(count(&record.series)) {
        0 => (Verdict::Inconclusive, Reason::NoSamples),
        count => (Verdict::Pass, Reason::Sampled { count, limited }),
    }
}

/// The judged times of a cell that has a limit.
struct Limited<'a> {
    record: &'a Record,
    /// The series of the quantity with the largest sample. latido does not count samples of different quantities together.
    alike: Vec<&'a Series>,
    /// The series of other quantities.
    others: Vec<&'a Series>,
    /// The number of samples in `alike`.
    count: u64,
    /// The largest sample.
    worst: Worst,
    limit_ns: i64,
    /// Whether the limit is the program's own period.
    is_own: bool,
}

impl Limited<'_> {
    /// Judges a cell without a sample above the limit.
    fn within(self) -> (Verdict, Reason) {
        let Self { record, alike, count, worst, limit_ns, is_own, .. } = self;
        // If a slot contains several jobs, the time until the last one says nothing about any of them.
        if let Some(period::Other { every_ns, .. }) = period::shorter(record) {
            return (Verdict::Inconclusive, Reason::OtherPeriod { every_ns, count, worst, limit_ns });
        }
        // A program with a period must do the job of each slot.
        if let Some(slots) = without_job(&alike).filter(|_| is_own) {
            let verdict = if slots.certain() > 0 { Verdict::Fail } else { Verdict::Inconclusive };
            return (verdict, Reason::WithoutJob { slots, count, worst, limit_ns });
        }
        match may_be_late(&alike).filter(|_| is_own) {
            None => (Verdict::Pass, Reason::Within { worst, count: Some(count), limit_ns }),
            Some(slots) => (Verdict::Inconclusive, Reason::MayBeLate { slots, count, worst, limit_ns }),
        }
    }

    /// Judges a cell with samples above the limit.
    fn above(self, deciding: &Deciding) -> (Verdict, Reason) {
        let limit_ns = self.limit_ns;
        let decisive: Vec<Summary> = self.alike.iter().map(|series| series.decisive()).collect();
        let above = pool::all_above(&decisive, limit_ns);
        let beyond = self.others.iter().filter(|other| other.decisive().max.is_some_and(|max| max > limit_ns));
        let also = beyond.map(|other| other.quantity.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let without_job = without_job(&self.alike);
        let verdict = self.verdict_above(deciding, without_job);
        let foreign = self.foreign_beside(deciding, above);
        let named = deciding.named().collect();
        let Self { count, worst, .. } = self;
        (verdict, Reason::Above { above, count: Some(count), limit_ns, worst, also, foreign, named, without_job })
    }

    /// Returns the verdict on samples above the limit.
    fn verdict_above(&self, deciding: &Deciding, without_job: Option<WithoutJob>) -> Verdict {
        // A program's slots are at least the limit apart, so what excuses the late samples cannot explain more than `covered` slots without
        // a job.
        let own_jobs = without_job.filter(|_| self.is_own).map_or(0, WithoutJob::certain);
        let spanned = u64::try_from(self.worst.value_ns / self.limit_ns.max(1)).unwrap_or(0) + 1;
        let covered = (deciding.count as u64).saturating_mul(spanned);
        let unclear = || self.alike.iter().chain(&self.others).all(|series| is_unclear(series, self.limit_ns));
        match deciding.is_foreign() {
            true if own_jobs > covered => Verdict::Fail,
            true => Verdict::Contaminated,
            false if unclear() => Verdict::Inconclusive,
            false => Verdict::Fail,
        }
    }

    /// Returns the foreign samples among those above the limit, of which there are `above`.
    ///
    /// `deciding` weighs the samples of all quantities together and contains no delays of missed slots. latido reports its count only where
    /// the reason counts the same samples.
    fn foreign_beside(&self, deciding: &Deciding, above: Option<u64>) -> Option<ForeignBeside> {
        let beside = deciding.foreign_beside().filter(|_| self.others.is_empty())?;
        // A recorded trace shows what made which sample late: latido then reports no counts from other evidence.
        let is_shown = beside.traced || self.record.quality.trace.is_none();
        let Worst { value_ns, at_ns, .. } = self.worst;
        let own_ns = if at_ns.is_some() || beside.traced { beside.own_ns } else { value_ns };
        let is_part = above.is_none_or(|above| beside.foreign < above);
        (is_shown && is_part).then_some(ForeignBeside { own_ns, ..beside })
    }
}

/// Counts the slots without a job in series whose probe reports the unclear ones; `None` where there are none.
fn without_job(series: &[&Series]) -> Option<WithoutJob> {
    let each =
        series.iter().filter_map(|one| Some((one.slots?.missed, u64::try_from(*one.facts.get("unclear")?).ok()?)));
    let both = |sum: (u64, u64), one: (u64, u64)| (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1));
    let (slots, unclear) = each.fold((0, 0), both);
    (slots > 0).then_some(WithoutJob { slots, unclear })
}

/// Counts the slots whose jobs may have ended later than recorded; `None` where there are none.
fn may_be_late(series: &[&Series]) -> Option<u64> {
    let each = series.iter().filter_map(|one| u64::try_from(*one.facts.get("open")?).ok());
    Some(each.fold(0, u64::saturating_add)).filter(|slots| *slots > 0)
}

/// Whether everything above the limit in a series may be slots of which latido does not know whether they were missed.
fn is_unclear(series: &Series, limit_ns: i64) -> bool {
    let slots = series.slots.and_then(|_| u64::try_from(*series.facts.get("unclear")?).ok());
    let above = pool::all_above(&[series.decisive()], limit_ns);
    above.is_some_and(|above| above <= slots.unwrap_or(0))
}

/// Returns the largest sample of each series, as far as it is known. A truncated or contradictory file states no credible maximum. Where
/// its rows have samples certainly above the limit, these decide, and the maximum is at least there.
fn maxima(timed: &[&Series], bins: &[Vec<Bin>], limit: Option<Ns>) -> Vec<Option<Between>> {
    let stated = |series: &&Series| series.bounds.as_ref().and_then(|bounds| bounds.max);
    let limit_ns = limit.and_then(|limit| i64::try_from(limit.0).ok()).unwrap_or(i64::MAX);
    let with_rows = timed.iter().map(stated).zip(bins).map(|(max, bins)| {
        let row = bins.iter().filter(|bin| bin.count > 0 && bin.low > limit_ns).map(|bin| bin.low).max();
        match (max, row) {
            (Some(max), Some(low)) if low > max.0 => Some(Between(low, max.1.filter(|high| *high >= low))),
            (None, Some(low)) => Some(Between(low, None)),
            (max, _) => max,
        }
    });
    with_rows.collect()
}

/// Judges what another tool counted: a range that contains the limit decides nothing.
fn coarse(record: &Record, timed: &[&Series], bins: &[Vec<Bin>]) -> (Verdict, Reason) {
    let limit = record.cell.conditions.limit;
    let maxima = maxima(timed, bins, limit);
    let total = count(timed.iter().copied());
    // Takes the series with the highest upper end; among series without an upper end, the one with the highest lower end.
    let reaches = timed.iter().zip(&maxima).filter_map(|(series, max)| Some((*series, (*max)?)));
    let far = |max: &Between| (max.1.unwrap_or(i64::MAX), max.0);
    let Some((series, max)) = reaches.max_by_key(|(_, max)| far(max)) else {
        return match total {
            0 => (Verdict::Inconclusive, Reason::NoSamples),
            count => {
                let verdict = if limit.is_some() { Verdict::Inconclusive } else { Verdict::Pass };
                (verdict, Reason::NoMaximum { count })
            }
        };
    };
    let alike: Vec<(&Series, &Vec<Bin>)> =
        timed.iter().copied().zip(bins).filter(|(other, _)| other.quantity == series.quantity).collect();
    let uncounted = |(series, _): &(&Series, &Vec<Bin>)| series.bounds.as_ref().is_some_and(|bounds| bounds.uncounted);
    let counted = !alike.iter().any(uncounted);
    let count = counted.then(|| count(alike.iter().map(|(series, _)| *series)));
    let worst = Worst {
        value_ns: max.1.unwrap_or(max.0),
        from_ns: (!max.is_exact()).then_some(max.0),
        quantity: series.quantity.clone(),
        cpu: series.cpu,
        at_ns: None,
    };
    let Some(limit) = limit else { return (Verdict::Pass, Reason::Unlimited { worst, count }) };
    let limit_ns = i64::try_from(limit.0).unwrap_or(i64::MAX);
    // A thread without a known maximum may have exceeded the limit.
    let unknown = timed.iter().zip(&maxima).any(|(series, max)| series.count > 0 && max.is_none());
    let decided: Vec<Option<bool>> = maxima.iter().flatten().map(|max| max.within(limit_ns)).collect();
    if decided.contains(&Some(false)) {
        let counts = |(series, bins): &(&Series, &Vec<Bin>)| {
            let (least, most) = quantized::above(bins, limit_ns);
            (least == most && quantized::counted(bins) == series.count).then_some(least)
        };
        let above = alike.iter().map(counts).try_fold(0u64, |sum, one| Some(sum.saturating_add(one?)));
        let is_beyond = |max: &Option<Between>| max.is_some_and(|max| max.within(limit_ns) == Some(false));
        let beyond = timed.iter().zip(&maxima).filter(|(_, max)| is_beyond(max));
        let also = beyond.map(|(other, _)| other.quantity.clone()).filter(|name| *name != series.quantity);
        let also = also.collect::<BTreeSet<_>>().into_iter().collect();
        return (
            Verdict::Fail,
            Reason::Above { above, count, limit_ns, worst, also, foreign: None, named: Vec::new(), without_job: None },
        );
    }
    if unknown || decided.contains(&None) {
        return (Verdict::Inconclusive, Reason::Coarse { worst, limit_ns, open: max.1.is_none() || unknown });
    }
    (Verdict::Pass, Reason::Within { worst, count, limit_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        quantity::Quantity,
        sample::{Fixture, cell, quiet, with_spike},
    };

    /// A sample that is exactly as long as the limit keeps it; one that is a nanosecond longer does not.
    #[test]
    fn the_limit_itself_is_kept() {
        for (largest, verdict) in [(99_999, Verdict::Pass), (100_000, Verdict::Pass), (100_001, Verdict::Fail)] {
            let mut fixture = Fixture::new(vec![(cell(), vec![with_spike(0, 3_000, largest)])]);
            fixture.record(1).cell.conditions.limit = Some(Ns(100_000));
            fixture.run.cells[0].cell.conditions.limit = Some(Ns(100_000));
            assert_eq!(crate::judging::of_run(&fixture.run, &fixture).verdict, verdict, "{largest}");
        }
    }

    /// The main thread of a program prepares for longer than the period of the thread that it starts: the deadline applies only to that
    /// thread.
    #[test]
    fn a_deadline_is_that_of_threads_with_slots() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let record = fixture.record(1);
        for (series, name) in record.series.iter_mut().zip(["main", "control"]) {
            series.labels.insert("task".into(), name.into());
        }
        record.series[0].slots = None;
        let limit = record.cell.conditions.limit.insert(latido_model::units::Ns(1_000_000));
        let names = |record: &Record, measurand: &Measurand| -> Vec<String> {
            judged(record, measurand).iter().map(|series| series.labels["task"].clone()).collect()
        };
        let measurand = Measurand { own_limit: Some(*limit), ..Measurand::new("jobs", []) };
        assert_eq!(names(record, &measurand), ["control"]);
        // A limit from the user applies to all threads.
        let asked = Measurand::new("jobs", []);
        assert_eq!(names(record, &asked), ["main", "control"]);
        record.series[1].slots = None;
        assert_eq!(names(record, &measurand), ["main", "control"]);
    }

    /// The series of single tasks repeat the samples of their class: each sample counts once.
    #[test]
    fn samples_that_two_series_hold_count_once() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let record = fixture.record(1);
        let name = record.series[0].quantity.clone();
        record.series[1].labels.insert("task".into(), "hog".into());
        let measurand = Measurand::new("waits", [Quantity { name: name.into(), ..Quantity::time("wait", "Wait") }]);
        let counted = |measurand: &Measurand| count(judged(record, measurand));
        let both = counted(&measurand);
        assert_eq!((counted(&measurand.parts_by("task")), both), (10_000, 20_000));
    }

    /// In a truncated file the rows decide where they are certainly above the limit, and state no more than they know.
    #[test]
    fn rows_above_a_limit_decide_where_no_largest_is_known() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
        let series = &mut fixture.record(1).series[0];
        let bounds = |max| Some(quantized::Bounds { max, ..Default::default() });
        let bins = vec![vec![
            Bin { low: 0, high: Some(999), count: 13 },
            Bin { low: 30_000, high: Some(30_999), count: 1 },
            Bin { low: 40_000, high: Some(40_999), count: 0 },
        ]];
        for (stated, limit, told) in [
            (None, 20_000, Some(Between(30_000, None))),
            (None, 30_500, None),
            (Some(Between(2_000, Some(2_999))), 20_000, Some(Between(30_000, None))),
            (Some(Between(31_000, Some(31_999))), 20_000, Some(Between(31_000, Some(31_999)))),
            (Some(Between(2_000, Some(50_000))), 20_000, Some(Between(30_000, Some(50_000)))),
        ] {
            series.bounds = bounds(stated);
            assert_eq!(maxima(&[series], &bins, Some(Ns(limit))), [told], "{stated:?} and {limit}");
        }
        series.bounds = bounds(None);
        assert_eq!(maxima(&[series], &bins, None), [None]);
    }
}
