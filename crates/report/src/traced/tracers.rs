//! What a tracer measured, by its text or by the records of a file: longest latencies, samples, durations of functions, histograms.

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

/// What a text tells, or a file's records of tracers.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The tracers by their headers; `nop` of events alone.
    pub tracers: Vec<String>,
    /// Lines in all.
    pub lines: u64,
    /// Those that nobody understands.
    pub unknown: u64,
    /// The first of those: its number and how it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_unknown: Option<(u64, String)>,
    /// Events of a form that nobody knows.
    pub others: u64,
    /// The first of those: its line and how it stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_other: Option<(u64, String)>,
    /// Pieces of broken lines that were joined with the line before.
    pub joined: u64,
    /// Lines that were too long and were not read.
    pub cut: u64,
    /// Bytes behind the last whole line, which were not read.
    pub unfinished: u64,
    /// Whether the kernel says that its figures do not hold.
    pub tainted: bool,
    /// How many CPUs were online, by the headers that tell it; the most of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<u32>,
    /// Tracers that saw nothing above their threshold: their header says that nothing was written.
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
    /// Functions in stacks, of which latido reports those of the longest latencies.
    pub stacked: u64,
    /// Whether times count something else than ns: cycles, jiffies, events.
    pub counted: bool,
    /// Switches and wake-ups whose fields are not understood.
    pub misread: u64,
    /// The first of those: its line and how it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_misread: Option<(u64, String)>,
    /// Samples, rows and names for which there was no room.
    pub beyond: u64,
    /// The samples that have a place in time.
    #[serde(skip)]
    pub samples: Vec<Sample>,
}

/// So many functions are told to people.
const FUNCTIONS: usize = 20;

/// What a text says besides its summary; nothing of a file.
#[derive(Default)]
pub(super) struct Beside {
    pub seen: Seen,
    pub triggers: BTreeMap<u64, Trigger>,
    pub tracers: Vec<String>,
    /// Lines of a graph.
    pub graph: u64,
    /// Whether times count something else than ns.
    pub counted: bool,
}

impl Told {
    /// Of an input of a text that was read.
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

    /// With what pairing found.
    pub(super) fn paired(self, names: &Names) -> Self {
        Self { misread: names.misread, first_misread: names.first_misread.clone(), ..self }
    }

    /// Whether it tells anything.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.histograms.is_empty() && self.calls == 0 && self.clean.is_empty()
    }

    /// As tables.
    pub fn sheets(&self, most: usize) -> Vec<Sheet> {
        let kinds = [
            ("longest", "The longest latency of each snapshot", "tracer", usize::MAX),
            ("timerlat", "Timer latency by context and CPU", "context", usize::MAX),
            ("osnoise", "Noise of each period, by CPU", "CPU", usize::MAX),
            ("noise", "What interrupted, without what interrupted it in turn", "what", most.max(FUNCTIONS)),
            ("hwlat", self.gaps_title(), "gap", usize::MAX),
            ("function", "Functions by their time", "function", most.max(FUNCTIONS)),
        ];
        let tables = kinds.into_iter().filter_map(|(kind, title, first, most)| self.table(kind, title, first, most));
        let gaps = self.gaps_sheet(most);
        tables.chain(gaps).chain(self.histograms.iter().map(Histogram::sheet)).collect()
    }

    /// Nothing but the hardware stops a CPU whose interrupts are off, and non-maskable interrupts.
    fn gaps_title(&self) -> &'static str {
        if self.gaps.iter().any(Gap::interrupted) {
            "Gaps with interrupts off: the hardware's, or of non-maskable interrupts"
        } else {
            "Gaps with interrupts off: the hardware's"
        }
    }

    /// Each gap of hwlat, the longest first.
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

    /// What one must know of it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.clean.iter().map(|tracer| nothing_found(tracer)).collect();
        notes.extend(self.interrupted());
        if self.tainted {
            notes.push("the kernel says that these figures do not hold".to_owned());
        }
        notes.extend(self.not_understood());
        if self.counted {
            notes.push(
                "its times count something else than ns (cycles, jiffies, events): no latency can be told".into(),
            );
        }
        if self.joined > 0 {
            let many = words::many(self.joined, "piece");
            notes.push(format!("{many} of broken lines joined with the line before"));
        }
        if self.cut > 0 {
            notes.push(format!("{} too long to be one of the kernel, and not read", words::many(self.cut, "line")));
        }
        if self.unfinished > 0 {
            notes.push("the last line has no end and is not read: the text may be cut in it".into());
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
            notes.push(format!("{} in stacks of events, which are not told", words::many(more, "function")));
        }
        if self.beyond > 0 {
            notes.push(format!("no room for {}", words::many(self.beyond, "row")));
        }
        notes
    }

    /// That gaps of hwlat had non-maskable interrupts in them.
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

    /// Lines, events and fields that nobody understands: how many, and the first.
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
                "the fields of {many} are not understood: waits that they belong to are not told{first}"
            ));
        }
        notes
    }
}

/// The tracers that write only what is above a threshold, and wrote nothing.
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

/// That a tracer found nothing is a good result.
fn nothing_found(tracer: &str) -> String {
    match tracer {
        "hwlat" => {
            "hwlat found no gap above its threshold: no entry was written (tracing_thresh, 10 us by itself)".into()
        }
        other => format!("{other} found nothing above its threshold: no entry was written (tracing_thresh)"),
    }
}
