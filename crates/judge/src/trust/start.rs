//! Threads that share their slots but did not start together: no count contains the slots before a thread's first one.

use super::checks::{Graded, ok};
use crate::{
    deciding::Deciding,
    finding::Grade::Note,
    span::{Span, spans},
};
use latido_model::record::{Record, Series};

/// Returns the series whose thread started last, its delay after the first thread in ns, and how many slots passed meanwhile. `None` if all
/// threads started within one slot, or were meant to start apart.
pub(super) fn latest(record: &Record) -> Option<(&Series, u64, u64)> {
    let options = &record.cell.probe.options;
    let apart = |name: &str, common: &str| options.get(name).is_some_and(|value| value.as_str() != Some(common));
    if apart("align", "common") || apart("distance", "0ns") {
        return None;
    }
    let late = |series: &'_ Series| u64::try_from(*series.facts.get("first_slot_ns")?).ok();
    let slotted = record.series.iter().filter_map(|one| Some((one, one.slots?, late(one)?)));
    let (series, slots, late_ns) = slotted.max_by_key(|(.., ns)| *ns)?;
    let counted = u128::from(slots.met) + u128::from(slots.late) + u128::from(slots.missed);
    // Each thread has a whole number of slots: their share of the time gives the length of a slot.
    let passed = (counted * u128::from(late_ns)).checked_div(u128::from(record.elapsed_ns.checked_sub(late_ns)?))?;
    let passed = u64::try_from(passed).ok().filter(|passed| *passed > 0)?;
    Some((series, late_ns, passed))
}

pub(super) fn late(record: &Record, _: &Deciding) -> Graded {
    let Some((series, late_ns, passed)) = latest(record) else { return ok("together") };
    let place = series.cpu.map(|cpu| spans![" on ", Span::Where(format!("CPU {cpu}"))]).unwrap_or_default();
    let slots = if passed == 1 { " slot before" } else { " slots before" };
    let state = spans![
        " began ",
        Span::time(late_ns),
        " after the first one; the counts lack the ",
        Span::Count(passed),
        slots,
        " it started"
    ];
    (Note, [spans!["a thread"], place, state].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample::{Fixture, cell, quiet};

    /// There are 10,000 slots in 10 s, and one thread started 5 ms after the other: 5 slots are lost, unless the threads start apart on
    /// purpose.
    #[test]
    fn slots_before_a_late_start_are_told() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let record = fixture.record(1);
        assert_eq!(latest(record), None);
        record.series.iter_mut().zip([0, 5_000_000]).for_each(|(series, late)| {
            series.facts.insert("first_slot_ns".into(), late);
        });
        let (series, late_ns, passed) = latest(record).unwrap();
        assert_eq!((series.cpu, late_ns), (Some(1), 5_000_000));
        assert_eq!(passed, 5, "of {:?} in {} ns", series.slots, record.elapsed_ns);
        record.cell.probe.options.insert("align".into(), "free".into());
        assert_eq!(latest(record), None);
    }
}
