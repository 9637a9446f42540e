//! A recorded trace in words.

use super::{count, many};
use latido_model::record::TraceRecord;

/// Which events: those that were named.
pub fn traced(events: &[String]) -> String {
    if events.is_empty() { "the usual events".into() } else { events.join(", ") }
}

/// What a trace holds, what of it was lost, and what its recording did to the measured CPUs.
pub fn trace(trace: &TraceRecord) -> String {
    let mut parts = vec![many(trace.count(), "event"), format!("{:.1} MiB", trace.bytes as f64 / f64::from(1 << 20))];
    parts.push(format!("{} lost", if trace.lost() == 0 { "none".into() } else { count(trace.lost()) }));
    if let Some(caused) = &trace.caused {
        let irq_work = caused.irq_work.map_or_else(String::new, |n| format!(" and {}", many(n, "irq-work interrupt")));
        parts.push(format!("of latido itself on CPU {} {}{irq_work}", caused.cpus, many(caused.own_events, "event")));
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
        let expected = "8 events, 3.0 MiB, 3 lost, of latido itself on CPU 1 0 events and 1 irq-work interrupt, \
            it ended early: the disk is full";
        assert_eq!(text, expected);
        record.cpus.clear();
        assert!(trace(&record).contains("none lost"));
        assert_eq!(traced(&[]), "the usual events");
    }
}
