//! A recorded trace in words.

use super::{count, many};
use latido_model::record::TraceRecord;

/// Names the recorded events: the requested ones, and whether the events that explain late samples are among them.
pub fn traced((events, explained): (&[String], bool)) -> String {
    match (events, explained) {
        ([], false) => "the usual events".into(),
        ([], true) => "to explain late samples".into(),
        (events, false) => events.join(", "),
        (events, true) => format!("to explain late samples, {}", events.join(", ")),
    }
}

/// Words what a trace contains, what of it was lost, and what its recording did to the measured CPUs.
pub fn trace(trace: &TraceRecord) -> String {
    let mut parts = vec![many(trace.count(), "event"), format!("{:.1} MiB", trace.bytes as f64 / f64::from(1 << 20))];
    parts.extend(trace.kept.map(|kept| {
        let pages = count(kept.pages.saturating_add(kept.dropped));
        format!("{} of {pages} pages kept, around {}", count(kept.pages), many(kept.samples, "sample"))
    }));
    parts.push(format!("{} lost", if trace.lost() == 0 { "none".into() } else { count(trace.lost()) }));
    if let Some(caused) = &trace.caused {
        let irq_work = caused.irq_work.map_or_else(String::new, |n| format!(" and {}", many(n, "irq-work interrupt")));
        parts.push(format!(
            "on CPU {} latido itself caused {}{irq_work}",
            caused.cpus,
            many(caused.own_events, "event")
        ));
    }
    parts.extend(trace.cut.iter().map(|why| format!("it ended early: {why}")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::sample;

    #[test]
    fn losses_and_what_was_caused_are_told() {
        let mut record = sample::trace();
        let text = trace(&record);
        let expected = "8 events, 3.0 MiB, 300 of 4\u{202f}300 pages kept, around 20 samples, 3 lost, on CPU 1 latido itself caused 0 events and 1 irq-work interrupt, \
            it ended early: the disk is full";
        assert_eq!(text, expected);
        record.cpus.clear();
        assert!(trace(&record).contains("none lost"));
        assert_eq!(traced((&[], false)), "the usual events");
    }
}
