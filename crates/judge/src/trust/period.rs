//! Whether the period that the user gave for a watched program is the program's own.

use super::checks::{Graded, ok};
use crate::{
    deciding::Deciding,
    finding::Grade::Note,
    span::{Span, spans},
};
use latido_model::{
    record::{Record, Series},
    units::Ns,
};

/// A period of a program that differs from the one that the user gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Other<'a> {
    /// The period that the user gave, ns.
    pub asked_ns: u64,
    /// The interval at which the kernel woke a thread of the program, ns.
    pub every_ns: u64,
    /// The name of the thread.
    pub task: &'a str,
}

/// Returns the thread of a watched program that a series belongs to; `None` where its probe names none.
pub(crate) fn thread(series: &Series) -> Option<&str> {
    series.labels.get("task").map(String::as_str)
}

/// Returns each thread that the kernel woke regularly at another period than the user's, by more than 1 %.
fn others(record: &Record) -> impl Iterator<Item = Other<'_>> {
    let text = record.cell.probe.options.get("period").and_then(|period| period.as_str());
    let asked = text.and_then(|text| text.parse::<Ns>().ok()).map(|period| period.0);
    let slotted = record.series.iter().filter(|series| series.slots.is_some());
    let each = slotted.filter_map(move |series| {
        let every_ns = u64::try_from(*series.facts.get("woken_every")?).ok()?;
        Some(Other { asked_ns: asked?, every_ns, task: thread(series).unwrap_or_default() })
    });
    each.filter(|one| one.every_ns.abs_diff(one.asked_ns) > one.asked_ns / 100)
}

/// Returns the thread whose period differs most.
pub(super) fn other(record: &Record) -> Option<Other<'_>> {
    others(record).max_by_key(|one| one.every_ns.abs_diff(one.asked_ns))
}

/// Returns a thread with several jobs per slot.
pub(crate) fn shorter(record: &Record) -> Option<Other<'_>> {
    others(record).find(|one| one.every_ns < one.asked_ns)
}

pub(super) fn period(record: &Record, _: &Deciding) -> Graded {
    let Some(Other { asked_ns, every_ns, task }) = other(record) else { return ok("as requested") };
    let state = spans![
        format!("the kernel woke `{task}` every "),
        Span::time(every_ns),
        ", but latido counted slots of ",
        Span::time(asked_ns),
        "; if ",
        Span::time(every_ns),
        " is its period, the late and missed slots say nothing about it"
    ];
    (Note, state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample::{Fixture, cell, quiet};

    #[test]
    fn a_period_that_is_not_the_program_s_is_named() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let record = fixture.record(1);
        record.cell.probe.options.insert("period".into(), "25ms".into());
        assert_eq!(other(record), None, "nothing is known of the program's own");
        record.series.iter_mut().zip([("slow", 25_200_000), ("fast", 20_000_000)]).for_each(
            |(series, (task, every))| {
                series.labels.insert("task".into(), task.into());
                series.facts.insert("woken_every".into(), every);
            },
        );
        let fast = Other { asked_ns: 25_000_000, every_ns: 20_000_000, task: "fast" };
        assert_eq!((other(record), shorter(record)), (Some(fast), Some(fast)));
        record.series[0].facts.insert("woken_every".into(), 50_000_000);
        assert_eq!(other(record).map(|one| one.task), Some("slow"), "it differs most");
        assert_eq!(shorter(record), Some(fast), "and the other one is shorter all the same");
        record.series[0].facts.insert("woken_every".into(), 25_200_000);
        let (grade, state) = period(record, &Deciding::default());
        let told = crate::span::plain(&state);
        assert_eq!(grade, Note);
        assert!(
            told.starts_with("the kernel woke `fast` every 20.0 ms, but latido counted slots of 25.0 ms"),
            "{told}"
        );
        record.series[1].facts.insert("woken_every".into(), 25_200_000);
        assert_eq!(other(record), None, "they agree to 1 %");
    }

    /// Three jobs in each slot are done in time, but nothing is known about a single job. A program that is slower than its slots is
    /// judged.
    #[test]
    fn a_limit_that_slots_of_several_jobs_keep_is_undecided() {
        use crate::judging::of_cell;
        use latido_model::verdict::Verdict;
        let verdict = |every: i64| {
            let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)])]);
            let record = fixture.record(1);
            record.cell.probe.options.insert("period".into(), "2100us".into());
            record.cell.conditions.limit = Some(Ns(10_000_000_000));
            record.series[0].facts.insert("woken_every".into(), every);
            of_cell(&fixture.run.cells[0], &fixture).verdict
        };
        assert_eq!(
            (verdict(700_000), verdict(2_100_000), verdict(2_300_000)),
            (Verdict::Inconclusive, Verdict::Pass, Verdict::Pass)
        );
    }
}
