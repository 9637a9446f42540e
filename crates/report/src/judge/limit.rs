//! A cell against its limit: the samples that count, the largest of them, and what follows.

use super::{
    deciding::Deciding,
    reason::{Reason, Worst},
};
use crate::statistics::pool;
use latido_model::{
    plan::expect::NS,
    quantity::Measurand,
    record::{Record, Series, Summary},
    verdict::Verdict,
};
use std::collections::BTreeSet;

/// The series that limits and headlines look at: times of the quantities that the probe declares as judged.
pub(super) fn judged<'a>(record: &'a Record, measurand: &Measurand) -> Vec<&'a Series> {
    let times = record.series.iter().filter(|series| series.unit == NS);
    times.filter(|series| measurand.judges(&series.quantity)).collect()
}

/// The series with the largest sample, and that sample.
pub(super) fn largest<'a>(timed: &[&'a Series]) -> Option<(&'a Series, i64)> {
    timed.iter().filter_map(|series| Some((*series, series.decisive().max?))).max_by_key(|(_, max)| *max)
}

fn count<'a>(series: impl IntoIterator<Item = &'a Series>) -> u64 {
    series.into_iter().map(|series| series.decisive().count).fold(0, u64::saturating_add)
}

/// The limit against the decisive distributions of the judged times, and why. What else was sampled, in whatever unit,
/// has no limit: that it is there is all that can be said of it.
pub(super) fn against(record: &Record, timed: &[&Series], deciding: &Deciding) -> (Verdict, Reason) {
    let limit = record.cell.conditions.limit;
    let Some((series, value_ns)) = largest(timed) else {
        // A cell that times its calls in batches alone has no judged time, and yet it has measured.
        let limited = limit.is_some();
        return match count(timed.iter().copied()).max(count(&record.series)) {
            0 => (Verdict::Inconclusive, Reason::NoSamples),
            count => (Verdict::Pass, Reason::Sampled { count, limited }),
        };
    };
    // A sample of another quantity is another thing: they are not counted together.
    let (alike, others): (Vec<&Series>, Vec<&Series>) =
        timed.iter().copied().partition(|other| other.quantity == series.quantity);
    let count = count(alike.iter().copied());
    // The delay of a missed slot is no stored sample.
    let at_ns = deciding.worst.as_ref().filter(|sample| sample.value == value_ns).map(|sample| sample.at_ns);
    let worst = Worst { value_ns, quantity: series.quantity.clone(), cpu: series.cpu, at_ns };
    let Some(limit) = limit else { return (Verdict::Pass, Reason::Unlimited { worst, count }) };
    let limit_ns = i64::try_from(limit.0).unwrap_or(i64::MAX);
    if value_ns <= limit_ns {
        return (Verdict::Pass, Reason::Within { worst, count, limit_ns });
    }
    let decisive: Vec<Summary> = alike.iter().map(|series| series.decisive()).collect();
    let above = pool::all_above(&decisive, limit_ns);
    let beyond = others.iter().filter(|other| other.decisive().max.is_some_and(|max| max > limit_ns));
    let also = beyond.map(|other| other.quantity.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let verdict = if deciding.is_foreign() { Verdict::Contaminated } else { Verdict::Fail };
    let named = deciding.named().collect();
    (verdict, Reason::Above { above, count, limit_ns, worst, also, named })
}
