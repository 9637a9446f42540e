//! The text of a tracer, analysed like a file.

use super::{Analysis, Lost, Names, OfCpu, Timeline, Told, longest, rows, tasks, tracers::Beside, worst};
use latido_trace::{
    calls::Machine,
    explain::explain_text,
    pairing::{Definition, Pairing},
    summary::{Of, Summary},
    text::{Header, Input, Line, Reader, Seen, Time, Trigger, clean},
};
use std::collections::BTreeMap;

/// The most tracers and triggers that latido reports for a text.
const FEW: usize = 1_000;

/// The most inputs of a report that latido analyses: each needs a pass over the text.
const INPUTS: usize = 64;

/// Returns whether the bytes start like a file of trace-cmd, complete or cut off. latido reads everything else as text.
pub fn is_file(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x17\x08\x44")
}

/// What latido has read of one input of a text.
#[derive(Default)]
struct Found {
    summary: latido_trace::text::Summary,
    triggers: BTreeMap<u64, Trigger>,
    tracers: Vec<String>,
    releases: Vec<String>,
    /// The number of lines of a graph.
    graph: u64,
    /// Whether times are not in ns but count something else.
    counted: bool,
}

impl Found {
    fn take(&mut self, header: &Header, line: &Line<'_>) {
        if let Some(trigger) = header.trigger.as_ref().filter(|_| self.triggers.len() < FEW) {
            self.triggers.entry(header.ordinal).or_insert_with(|| trigger.clone());
        }
        let keep = |all: &mut Vec<String>, one: &Option<String>| {
            if let Some(one) = one.as_ref().filter(|one| all.len() < FEW && !all.contains(*one)) {
                all.push(one.clone());
            }
        };
        keep(&mut self.tracers, &header.tracer);
        keep(&mut self.releases, &header.release);
        self.graph += u64::from(matches!(line, Line::Graph(_)));
        self.counted |= matches!(line, Line::Event(event) if matches!(event.time, Time::Count(_)));
        self.summary.take(header, line);
    }

    fn told(&self, seen: &Seen) -> Told {
        let (seen, triggers, tracers) = (seen.clone(), self.triggers.clone(), self.tracers.clone());
        let beside = Beside { seen, triggers, tracers, graph: self.graph, counted: self.counted };
        Told::of(&self.summary, &beside)
    }

    /// Returns the number of lines with output of a tracer.
    fn entries(&self) -> u64 {
        let summary = &self.summary;
        let samples = summary.timerlat.items.len() + summary.osnoise.items.len() + summary.hwlat.items.len();
        let few = summary.snapshots.items.len() + summary.bins.items.len() + summary.entries.items.len();
        summary.events.values().sum::<u64>() + self.graph + summary.calls + (samples + few) as u64
    }
}

/// The message about a file of `perf record`.
const PERF_DATA: &str =
    "a file of perf, which latido reads only as text: `perf script -i FILE >TEXT`, then `latido trace analyze TEXT`";

/// Analyses the text of a tracer: each of its inputs, if it is a report of several.
///
/// # Errors
/// It is not such a text, or latido understands nothing in it (the message quotes the first such line), or it has no entry.
pub fn analyse_text(source: &str, text: &[u8], of: &Of) -> Result<Vec<Analysis>, String> {
    if text.starts_with(b"PERFILE2") {
        return Err(PERF_DATA.into());
    }
    let text = &*clean::decoded(text);
    let (mut all, mut reader) = (Vec::<Found>::new(), Reader::default());
    reader.push(text, |header, line| {
        let at = header.source as usize;
        if all.len() <= at {
            all.resize_with(at + 1, Found::default);
        }
        all.get_mut(at).into_iter().for_each(|found| found.take(header, &line));
    });
    all.iter_mut().for_each(|found| found.summary.lost.finish());
    let seen = reader.seen();
    is_text(&all, seen)?;
    let of_input = |(at, found): (usize, &Found)| {
        let told = found.told(seen);
        let any = !found.summary.events.is_empty() || !told.is_empty();
        let name = reader.sources().get(at).cloned().unwrap_or_default();
        let at = u32::try_from(at).unwrap_or(0);
        any.then(|| analyse_input(source, name, text, at, found, told, of))
    };
    let analyses: Vec<Analysis> = all.iter().enumerate().filter_map(of_input).take(INPUTS).collect();
    if analyses.is_empty() { Err(nothing(&all, seen)) } else { Ok(analyses) }
}

/// Checks that this is the text of a tracer. In any other text, most lines are unknown; a trace in a letter has unknown lines around it.
fn is_text(all: &[Found], seen: &Seen) -> Result<(), String> {
    let entries: u64 = all.iter().map(Found::entries).sum();
    let others: u64 = all.iter().map(|found| found.summary.others).sum();
    let headed = all.iter().any(|found| !found.tracers.is_empty() || !found.triggers.is_empty());
    let blank = !headed && entries + others == 0;
    let strange = seen.unknown * 2 > seen.lines && entries.saturating_mul(10) < seen.unknown;
    if !blank && !strange {
        return Ok(());
    }
    let begin = |text: &String| text.chars().take(60).collect::<String>();
    let first = seen.first_unknown.as_ref().map(|(line, text)| format!("; line {line}: {}", begin(text)));
    Err(format!(
        "neither a trace of trace-cmd (it does not begin as these do) nor the text of a tracer{}",
        first.unwrap_or_default()
    ))
}

/// Returns the reason why the text of a tracer has no result.
fn nothing(all: &[Found], seen: &Seen) -> String {
    let tracers: Vec<&str> = all.iter().flat_map(|found| &found.tracers).map(String::as_str).collect();
    let name = if tracers.is_empty() { "a tracer".into() } else { format!("a tracer ({})", tracers.join(", ")) };
    let other = all.iter().filter_map(|found| found.summary.first_other.as_ref()).min();
    let first = seen.first_unknown.as_ref().into_iter().chain(other).min();
    let many = seen.unknown + all.iter().map(|found| found.summary.others).sum::<u64>();
    let entries = all.iter().flat_map(|found| &found.summary.entries.items).next();
    match (first, entries) {
        (Some((line, text)), _) => {
            let unknown = match (many, seen.lines) {
                (1, 1) => format!("its only line is unknown: {}", text.trim()),
                (1, lines) => format!("1 of {lines} lines is unknown, line {line}: {}", text.trim()),
                (_, lines) => format!("{many} of {lines} lines are unknown, the first is line {line}: {}", text.trim()),
            };
            format!("latido understands no entry in the text of {name}: {unknown}")
        }
        (None, Some(entries)) => format!(
            "the text of {name} has no entry: its header says that {} were written and {} are in the buffer",
            entries.written, entries.there
        ),
        (None, None) => format!("the text of {name} has a header and no entry: nothing was recorded"),
    }
}

fn analyse_input(source: &str, buffer: String, text: &[u8], at: u32, found: &Found, told: Told, of: &Of) -> Analysis {
    let mut kinds: Vec<(String, u64)> =
        found.summary.events.iter().map(|(name, count)| (name.clone(), *count)).collect();
    kinds.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    let mut first = (Summary::of(of.clone()), Timeline::default());
    let mut pairing = Pairing::of(Definition::Waking);
    let input = Input { text, source: at, gaps: &found.summary.lost };
    let (met, called) = latido_trace::text::pair(input, &mut pairing, &mut first);
    let told = told.paired(&called);
    let (summary, mut timeline) = first;
    let names = Names {
        machine: Machine::Unknown,
        calls: called.calls,
        vectors: called.vectors,
        devices: called.devices,
        tasks: &pairing,
    };
    timeline.name(|owner| names.owner(owner));
    Analysis {
        source: source.to_owned(),
        buffer,
        version: None,
        clock: None,
        system: (!found.releases.is_empty()).then(|| found.releases.join(", ")),
        recorder: None,
        packed: None,
        events: met.events,
        length_ns: met.last.saturating_sub(met.first),
        first_ns: met.first,
        kinds,
        lost: Lost::of(&met),
        rows: rows(&summary, &names),
        cpus: summary.owners().map(|(cpu, owners)| OfCpu::of(cpu, owners, &names)).collect(),
        tasks: tasks(&summary),
        worst: worst(longest(&summary), met.first, |windows| explain_text(input, windows)),
        unread: Vec::new(),
        told: Some(told),
        timeline,
    }
}
