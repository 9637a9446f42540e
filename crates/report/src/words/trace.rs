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
    use latido_model::record::{Caused, TracedCpu};

    #[test]
    fn losses_and_what_was_caused_are_told() {
        let cpus = vec![TracedCpu { cpu: 0, events: 1, lost: 2 }];
        let caused = Caused { cpus: "0".parse().unwrap(), own_events: 0, irq_work: Some(1) };
        let record = TraceRecord {
            events: Vec::new(),
            missing: Vec::new(),
            clock: "mono".into(),
            ring_bytes: 4096,
            sub_buffer_bytes: 4096,
            recorded_ns: 1,
            cpus,
            read_on: None,
            cut: None,
            caused: Some(caused),
            bytes: 1 << 19,
        };
        let text = trace(&record);
        assert_eq!(text, "1 event, 0.5 MiB, 2 lost, of latido itself on CPU 0 0 events and 1 irq-work interrupt");
        assert!(trace_of_nothing_lost(record).contains("none lost"));
    }

    fn trace_of_nothing_lost(mut record: TraceRecord) -> String {
        record.cpus.clear();
        trace(&record)
    }
}
