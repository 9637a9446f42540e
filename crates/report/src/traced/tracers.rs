//! The measurements of a tracer, from its text or from the records of a file: longest latencies, samples, durations of functions,
//! histograms.

use super::{
    histograms::{Histogram, histograms},
    readings::{Gap, OfTracer, Sample, functions, gaps, hwlat, longest, noises, osnoise, samples, timerlat},
    sheets::left_out,
};
use crate::{
    tree::{Datum, Head, Sheet},
    words,
};
use latido_trace::text::{Entries, Names, Seen, Summary, Trigger};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a text, or the records of tracers in a file, report.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The tracers according to their headers; `nop` for events only.
    pub tracers: Vec<String>,
    /// The number of lines.
    pub lines: u64,
    /// The number of lines that latido does not understand.
    pub unknown: u64,
    /// The first of those: its number and its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_unknown: Option<(u64, String)>,
    /// The number of events in an unknown form.
    pub others: u64,
    /// The first of those: its line number and its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_other: Option<(u64, String)>,
    /// Pieces of broken lines that were joined with the line before.
    pub joined: u64,
    /// Lines that were too long and were not read.
    pub cut: u64,
    /// Bytes after the last complete line, which were not read.
    pub unfinished: u64,
    /// Whether the kernel reports that its figures are not valid.
    pub tainted: bool,
    /// The largest number of online CPUs that a header states.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<u32>,
    /// Tracers that saw nothing above their threshold: according to their header, no entry was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clean: Vec<String>,
    /// Latencies, one row each.
    pub rows: Vec<OfTracer>,
    /// The gaps of hwlat one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Histograms.
    pub histograms: Vec<Histogram>,
    /// Function calls without durations.
    pub calls: u64,
    /// Interrupts among the calls of a graph.
    pub interrupts: u64,
    /// Functions in stacks; latido reports only those of the longest latencies.
    pub stacked: u64,
    /// Whether times are not in ns but count something else: cycles, jiffies, events.
    pub counted: bool,
    /// Switches and wake-ups with fields that latido does not understand.
    pub misread: u64,
    /// The first of those: its line number and its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_misread: Option<(u64, String)>,
    /// Samples, rows and names for which there was no room.
    pub beyond: u64,
    /// The samples that have a position in time.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// People see at least this number of functions and of interruptions.
const FUNCTIONS: usize = 20;

/// What a text states in addition to its summary; empty for a file.
#[derive(Default)]
pub(super) struct Beside {
    pub seen: Seen,
    pub triggers: BTreeMap<u64, Trigger>,
    pub tracers: Vec<String>,
    /// The number of lines of a graph.
    pub graph: u64,
    /// Whether times are not in ns but count something else.
    pub counted: bool,
}

impl Told {
    /// Returns what latido read in one input of a text.
    pub(super) fn of(summary: &Summary, beside: &Beside) -> Self {
        let (seen, gaps) = (&beside.seen, gaps(summary));
        let mut rows = longest(summary);
        rows.extend(timerlat(summary));
        rows.extend(osnoise(summary));
        rows.extend(noises(summary));
        rows.extend(hwlat(&gaps));
        let functions = functions(&summary.durations);
        let undone = if functions.is_empty() { beside.graph } else { 0 };
        rows.extend(functions);
        let beyond = summary.timerlat.beyond + summary.osnoise.beyond + summary.hwlat.beyond + summary.bins.beyond;
        let beyond =
            beyond + summary.snapshots.beyond + summary.saved.beyond + summary.totals.beyond + summary.noises.beyond;
        Self {
            tracers: beside.tracers.clone(),
            lines: seen.lines,
            unknown: seen.unknown,
            first_unknown: seen.first_unknown.clone(),
            others: summary.others,
            first_other: summary.first_other.clone(),
            joined: seen.joined,
            cut: seen.cut,
            unfinished: seen.unfinished,
            tainted: summary.tainted,
            online: summary.entries.items.iter().filter_map(|entries| entries.cpus).max(),
            clean: clean(summary, &rows),
            rows,
            gaps,
            histograms: histograms(summary, &beside.triggers),
            calls: summary.calls + undone,
            interrupts: summary.interrupts,
            stacked: summary.stacked,
            counted: beside.counted,
            misread: 0,
            first_misread: None,
            beyond: beyond + summary.more_events + summary.entries.beyond,
            samples: samples(summary),
        }
    }

    /// Adds the results of pairing.
    pub(super) fn paired(self, names: &Names) -> Self {
        Self { misread: names.misread, first_misread: names.first_misread.clone(), ..self }
    }

    /// Returns whether it has no results.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.histograms.is_empty() && self.calls == 0 && self.clean.is_empty()
    }

    /// Returns it as tables.
    pub fn sheets(&self, most: usize) -> Vec<Sheet> {
        let kinds = [
            ("longest", "The longest latency of each snapshot", "tracer", usize::MAX),
            ("timerlat", "Timer latency by context and CPU", "context", usize::MAX),
            ("osnoise", "Noise of each period, by CPU", "CPU", usize::MAX),
            ("noise", "Interruptions, without the interruptions inside them", "what", most.max(FUNCTIONS)),
            ("hwlat", self.gaps_title(), "gap", usize::MAX),
            ("function", "Functions by their time", "function", most.max(FUNCTIONS)),
        ];
        let tables = kinds.into_iter().filter_map(|(kind, title, first, most)| self.table(kind, title, first, most));
        let gaps = self.gaps_sheet(most);
        tables.chain(gaps).chain(self.histograms.iter().map(Histogram::sheet)).collect()
    }

    /// Returns the title for the gaps. A CPU with interrupts off is stopped only by the hardware and by non-maskable interrupts.
    fn gaps_title(&self) -> &'static str {
        if self.gaps.iter().any(Gap::interrupted) {
            "Gaps with interrupts off: the hardware's, or of non-maskable interrupts"
        } else {
            "Gaps with interrupts off: the hardware's"
        }
    }

    /// Returns each gap of hwlat, the longest first.
    fn gaps_sheet(&self, most: usize) -> Option<Sheet> {
        let mut gaps: Vec<&Gap> = self.gaps.iter().collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.inner_us.max(gap.outer_us)));
        let head = [
            "sample",
            "CPU",
            "written at",
            "in a loop, us",
            "between loops, us",
            "above threshold",
            "NMIs",
            "NMI time, us",
        ];
        let mut head: Vec<Head> = head.into_iter().map(Head::from).collect();
        head.push(Head::from("wall clock, s").spare(1));
        let some = |count: Option<u64>| count.map_or(Datum::Absent, Datum::Count);
        let seconds = |ns: u64| Datum::Text(format!("{:.6} s", ns as f64 / 1e9));
        let row = |gap: &&Gap| {
            vec![
                Datum::Text(format!("#{}", gap.sample)),
                Datum::Count(u64::from(gap.cpu)),
                gap.written_ns.map_or(Datum::Absent, seconds),
                Datum::Count(gap.inner_us),
                Datum::Count(gap.outer_us),
                some(gap.above),
                some(gap.nmi_count),
                some(gap.nmi_us),
                Datum::Text(format!("{}.{:09}", gap.at_ns / 1_000_000_000, gap.at_ns % 1_000_000_000)),
            ]
        };
        let rows: Vec<Vec<Datum>> = gaps.iter().take(most).map(row).collect();
        let title = format!("The gaps one by one{}", left_out(gaps.len(), most, "gaps"));
        (!gaps.is_empty()).then(|| Sheet::plain(title, head, rows))
    }

    fn table(&self, kind: &str, title: &str, first: &str, most: usize) -> Option<Sheet> {
        let of: Vec<&OfTracer> = self.rows.iter().filter(|row| row.kind == kind).collect();
        let whose = of.iter().any(|row| !row.of.is_empty());
        let mut head: Vec<Head> =
            vec![first.into(), "count".into(), "min".into(), "mean".into(), "max".into(), "in all".into()];
        head.extend(whose.then(|| Head::from("of")));
        let row = |row: &&OfTracer| {
            let mut cells = vec![
                Datum::Text(row.name.clone()),
                Datum::Count(row.count),
                Datum::Value(row.min_ns as f64),
                Datum::Value(row.mean_ns),
                Datum::Value(row.max_ns as f64),
                Datum::Value(row.sum_ns as f64),
            ];
            cells.extend(whose.then(|| Datum::Text(row.of.clone())));
            cells
        };
        let typical: Vec<f64> = of.iter().map(|row| row.max_ns as f64).collect();
        let rows: Vec<Vec<Datum>> = of.iter().take(most).map(row).collect();
        let sheet = Sheet::new(title.into(), head, rows, "ns", &typical).remark(left_out(of.len(), most, first));
        (!of.is_empty()).then_some(sheet)
    }

    /// Returns what the reader must know about it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.clean.iter().map(|tracer| nothing_found(tracer)).collect();
        notes.extend(self.interrupted());
        if self.tainted {
            notes.push("the kernel reports that these figures are not valid".to_owned());
        }
        notes.extend(self.not_understood());
        if self.counted {
            notes.push(
                "its times are not in ns (but in cycles, jiffies or events), so latido reports no latency".into(),
            );
        }
        if self.joined > 0 {
            let many = words::many(self.joined, "piece");
            notes.push(format!("{many} of broken lines joined with the line before"));
        }
        if self.cut > 0 {
            notes.push(format!("{} skipped, too long to come from the kernel", words::many(self.cut, "line")));
        }
        if self.unfinished > 0 {
            notes.push("the last line has no end, so latido skipped it: the text may be cut off there".into());
        }
        if self.calls > 0 {
            notes.push(format!("{} without durations", words::many(self.calls, "function call")));
        }
        if self.interrupts > 0 {
            notes.push(format!(
                "{} among the calls, whose functions count as any other",
                words::many(self.interrupts, "interrupt")
            ));
        }
        let shown: u64 = self.rows.iter().map(|row| row.stack.len() as u64).sum();
        if let Some(more) = self.stacked.checked_sub(shown).filter(|more| *more > 0) {
            notes.push(format!("{} in stacks of events, which are left out", words::many(more, "function")));
        }
        if self.beyond > 0 {
            notes.push(format!("no room for {}", words::many(self.beyond, "row")));
        }
        notes
    }

    /// Returns the remark on gaps of hwlat with non-maskable interrupts in them.
    fn interrupted(&self) -> Option<String> {
        let with = self.gaps.iter().filter(|gap| gap.interrupted());
        let (count, us) =
            with.fold((0u64, 0u64), |(count, us), gap| (count + 1, us.saturating_add(gap.nmi_us.unwrap_or(0))));
        let whose = if count == 1 { "that one is" } else { "these are" };
        (count > 0).then(|| {
            format!(
                "{} of {} had a non-maskable interrupt in it ({} µs in all): {whose} not the hardware's alone",
                words::count(count),
                words::many(self.gaps.len() as u64, "gap"),
                words::count(us)
            )
        })
    }

    /// Returns remarks on the lines, events and fields that latido does not understand: how many, and the first.
    fn not_understood(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some((line, text)) = &self.first_unknown {
            let many = words::many(self.unknown, "line");
            let lines = words::count(self.lines);
            notes.push(format!("{many} of {lines} not understood, the first is line {line}: {text}"));
        }
        if let Some((line, text)) = &self.first_other {
            let many = words::many(self.others, "event");
            notes.push(format!("{many} of a form that is not known, the first is line {line}: {text}"));
        }
        if self.misread > 0 {
            let many = words::many(self.misread, "scheduling event");
            let first = self.first_misread.as_ref().map(|(line, text)| format!("; the first is line {line}: {text}"));
            let first = first.unwrap_or_default();
            notes.push(format!(
                "latido does not understand the fields of {many}, so it does not report their waits{first}"
            ));
        }
        notes
    }
}

/// Returns the tracers that write only what is above a threshold, and wrote nothing.
fn clean(summary: &Summary, rows: &[OfTracer]) -> Vec<String> {
    let clean = |entries: &&Entries| {
        entries.written == 0 && entries.tracer.as_deref().is_some_and(|tracer| ABOVE.contains(&tracer))
    };
    let found = |tracer: &str| rows.iter().any(|row| row.kind == tracer || row.name == tracer);
    let mut names: Vec<String> =
        summary.entries.items.iter().filter(clean).filter_map(|entries| entries.tracer.clone()).collect();
    names.dedup();
    names.retain(|tracer| !found(tracer));
    names
}

/// Tracers that write only what is above their threshold.
const ABOVE: [&str; 4] = ["hwlat", "irqsoff", "preemptoff", "preemptirqsoff"];

/// Returns the remark for a tracer that found nothing, which is a good result.
fn nothing_found(tracer: &str) -> String {
    match tracer {
        "hwlat" => {
            "hwlat found no gap above its threshold: no entry was written (tracing_thresh, 10 us by default)".into()
        }
        other => format!("{other} found nothing above its threshold: no entry was written (tracing_thresh)"),
    }
}
