//! The text of a tracer, analysed as a file is.

use super::{Analysis, Lost, Names, OfCpu, Timeline, Told, longest, rows, tasks, worst};
use latido_trace::{
    calls::Machine,
    explain::explain_text,
    pairing::{Definition, Pairing},
    summary::Summary,
    text::{Line, Reader, Time},
};
use std::collections::BTreeMap;

/// Whether bytes begin as trace-cmd's files do, whole or cut; everything else is read as text.
pub fn is_file(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x17\x08\x44")
}

/// Analyses the text of a tracer; none where it is none, or holds nothing.
///
/// # Errors
/// It is no such text: which line nobody understands.
pub fn analyse_text(source: &str, text: &[u8]) -> Result<Analysis, String> {
    let (mut told, mut reader) = (latido_trace::text::Summary::default(), Reader::default());
    let (mut triggers, mut tracers, mut graph, mut counted) = (BTreeMap::new(), Vec::new(), 0, false);
    reader.push(text, |header, line| {
        if let Some(trigger) = header.trigger.as_ref().filter(|_| triggers.len() < FEW) {
            triggers.entry(header.ordinal).or_insert_with(|| trigger.text.clone());
        }
        if let Some(tracer) = header.tracer.as_ref().filter(|tracer| tracers.len() < FEW && !tracers.contains(*tracer))
        {
            tracers.push(tracer.clone());
        }
        graph += u64::from(matches!(line, Line::Graph(_)));
        counted |= matches!(&line, Line::Event(event) if matches!(event.time, Time::Count(_)));
        told.take(header, &line);
    });
    let seen = reader.seen();
    // One in two lines of a text that is cut or mixed with others may be strange, of any other text all are.
    let blank = tracers.is_empty() && triggers.is_empty() && told.events.is_empty() && graph == 0;
    if blank || seen.unknown * 2 > seen.lines {
        let begin = |text: &String| text.chars().take(60).collect::<String>();
        let first = seen.first_unknown.as_ref().map(|(line, text)| format!("; line {line}: {}", begin(text)));
        return Err(format!(
            "neither a trace of trace-cmd (it does not begin as these do) nor the text of a tracer{}",
            first.unwrap_or_default()
        ));
    }
    let mut kinds: Vec<(String, u64)> = told.events.iter().map(|(name, count)| (name.clone(), *count)).collect();
    kinds.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let mut told = Told::of(&told, &reader, &triggers, tracers).with(graph, counted);
    let mut first = (Summary::default(), Timeline::default());
    let mut pairing = Pairing::of(Definition::Waking);
    let (met, called) = latido_trace::text::pair(text, &mut pairing, &mut first);
    if kinds.is_empty() && told.is_empty() {
        return Err(format!("the text of a tracer ({}) without anything in it", told.tracers.join(", ")));
    }
    told.misread = called.misread;
    let (summary, mut timeline) = first;
    let names = Names {
        machine: Machine::Unknown,
        calls: Vec::new(),
        vectors: called.vectors,
        devices: called.devices,
        tasks: &pairing,
    };
    timeline.name(|owner| names.owner(owner));
    Ok(Analysis {
        source: source.to_owned(),
        buffer: String::new(),
        version: None,
        clock: None,
        system: reader.header().release.clone(),
        events: met.events,
        length_ns: met.last.saturating_sub(met.first),
        first_ns: met.first,
        kinds,
        lost: Lost::of(&met),
        rows: rows(&summary, &names),
        cpus: summary.owners().map(|(cpu, owners)| OfCpu::of(cpu, owners, &names)).collect(),
        tasks: tasks(&summary),
        worst: worst(longest(&summary), met.first, |windows| explain_text(text, windows)),
        unread: Vec::new(),
        told: Some(told),
        timeline,
    })
}

/// So many tracers and triggers of a text are told.
const FEW: usize = 1_000;
