//! The trust checks of the kernel's own tracing: a trace without a request, and a trace that `stop_on` froze.

use super::checks::Graded;
use crate::{
    deciding::Deciding,
    finding::Grade::{Note, Ok, Unknown},
    span::{Span, spans},
};
use latido_model::record::{Freeze, Record, Tracer, Tracing};

/// Checks which traces were active during the measurement: each sample contains their cost, even if the user requested them.
pub(super) fn tracing(record: &Record, _: &Deciding) -> Graded {
    let active = match &record.quality.tracing {
        None => return (Unknown, spans!["not measured"]),
        Some(Tracing::Unseen { why }) => return (Unknown, spans!["not measured: ", why.as_str()]),
        Some(Tracing::Seen { active }) if active.is_empty() => {
            return (Ok, spans!["none seen, checked once per second"]);
        }
        Some(Tracing::Seen { active }) => active.iter().map(what).collect::<Vec<_>>().join(", "),
    };
    let conditions = &record.cell.conditions;
    // The stamps of a probe are its own trace, and `trace=off` exists to show what they cost.
    let asked = conditions.stop_on.is_some() || conditions.recorded().is_some() || record.quality.stamps.is_some();
    let grade = if asked { Ok } else { Note };
    (grade, spans![format!("the kernel traces: {active}; each sample includes the cost of that")])
}

/// Returns `function and events`, or `in the instance mine events`.
fn what(trace: &Tracer) -> String {
    let tracer = Some(trace.tracer.as_str()).filter(|tracer| !matches!(*tracer, "" | "nop"));
    let parts: Vec<&str> = tracer.into_iter().chain(trace.events.then_some("events")).collect();
    match trace.instance.as_str() {
        "" => parts.join(" and "),
        instance => format!("in the instance {instance} {}", parts.join(" and ")),
    }
}

/// The facts about samples from events: events that were lost, samples that the loss may have spoilt, and switches that the kernel did not
/// record.
const EVENTS: [(&str, &str); 3] = [
    ("lost", "events lost"),
    ("voided", "samples void because events were lost"),
    ("unseen", "without a switch, which the kernel did not record"),
];

/// Whether samples come from events.
pub(super) fn from_events(record: &Record) -> bool {
    EVENTS.iter().any(|(name, _)| record.series.iter().any(|series| series.facts.contains_key(*name)))
}

/// Checks which samples from events are missing: they may be the worst ones, or ordinary ones.
pub(super) fn events(record: &Record, _: &Deciding) -> Graded {
    let most =
        |name: &str| record.series.iter().filter_map(|series| series.facts.get(name)).max().copied().unwrap_or(0);
    let missing = EVENTS.iter().map(|(name, what)| (most(name), what)).filter(|(count, _)| *count > 0);
    let cut = record.quality.trace.as_ref().and_then(|trace| trace.cut.as_ref());
    let cut = cut.map(|why| format!("the recording ended early ({why})"));
    let missing: Vec<String> = missing.map(|(count, what)| format!("{count} {what}")).chain(cut).collect();
    match missing.is_empty() {
        true => (Ok, spans!["none is missing"]),
        false => {
            let missing = missing.join(", ");
            (Note, spans![format!("{missing}: the missing samples may be the worst, and may differ from the others")])
        }
    }
}

/// Says what happened to the trace that `stop_on` freezes.
pub(super) fn frozen_trace(record: &Record, _: &Deciding) -> Graded {
    match &record.quality.freeze {
        None => (Unknown, spans!["not measured"]),
        Some(Freeze::Impossible { why }) => {
            (Note, spans!["latido could not freeze the kernel's trace: ", why.as_str()])
        }
        Some(Freeze::Off) => (Ok, spans!["tracing was off: nothing to freeze"]),
        Some(Freeze::Armed) => (Ok, spans!["ready, and not needed: no sample was above stop_on"]),
        Some(Freeze::Frozen { switches, value_ns, cpu, failed, .. }) => {
            let cpu = cpu.map(|cpu| spans![", ", Span::Where(format!("CPU {cpu}"))]).unwrap_or_default();
            let done = [spans!["marked and switched off at a sample of ", Span::Time(*value_ns)], cpu].concat();
            let failed = failed.as_ref().map(|why| format!(" (not all of it: {why})")).unwrap_or_default();
            let on: Vec<String> = switches.iter().map(|switch| format!("`echo 1 > {switch}`")).collect();
            // The cell's own trace no longer exists after the cell.
            let until = if on.is_empty() { String::new() } else { format!("; it stays off until {}", on.join(", ")) };
            let after = format!("{failed}, as stop_on requests{until}");
            (Note, [done, spans![after]].concat())
        }
    }
}
