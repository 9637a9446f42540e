//! What the text of a tracer tells of its own: longest latencies, samples, durations of functions, histograms.

use crate::{
    tree::{Datum, Head, Sheet},
    words,
};
use latido_trace::text::{Context, Durations, Key, Latency, Reader, Summary, Tally, Total, Value};
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};

/// What a text tells.
#[derive(Debug, Serialize)]
pub struct Told {
    /// The tracers by their headers; `nop` of events alone.
    pub tracers: Vec<String>,
    /// Lines in all, and those that nobody understands.
    pub lines: u64,
    /// Those that nobody understands.
    pub unknown: u64,
    /// The first of those: its number and how it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_unknown: Option<(u64, String)>,
    /// Whether the kernel says that its figures do not hold.
    pub tainted: bool,
    /// Latencies, one row each.
    pub rows: Vec<OfTracer>,
    /// Histograms.
    pub histograms: Vec<Histogram>,
    /// Function calls without durations.
    pub calls: u64,
    /// Whether times count something else than ns: cycles, jiffies, events.
    pub counted: bool,
    /// Switches and wake-ups whose fields are not understood.
    pub misread: u64,
    /// Samples, rows and names for which there was no room.
    pub beyond: u64,
}

/// A latency that a tracer tells.
#[derive(Clone, Debug, Serialize)]
pub struct OfTracer {
    /// Which: `longest`, `timerlat`, `osnoise`, `hwlat`, `function`.
    pub kind: &'static str,
    /// Of which.
    pub name: String,
    /// How many.
    pub count: u64,
    /// The least, ns.
    pub min_ns: u64,
    /// The mean, ns.
    pub mean_ns: f64,
    /// The greatest, ns.
    pub max_ns: u64,
    /// All together, ns.
    pub sum_ns: u64,
    /// Whose the greatest was, or between which functions.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
}

/// A histogram trigger's rows.
#[derive(Clone, Debug, Serialize)]
pub struct Histogram {
    /// How it was asked for.
    pub trigger: String,
    /// Its rows: the keys as text, and the values by name.
    pub rows: Vec<(String, Vec<(String, u64)>)>,
    /// Events counted, rows, events without room.
    pub totals: Vec<(&'static str, u64)>,
}

/// So many functions are told to people.
const FUNCTIONS: usize = 20;

impl Told {
    /// Of a text that was read.
    pub fn of(summary: &Summary, reader: &Reader, triggers: &BTreeMap<u64, String>, tracers: Vec<String>) -> Self {
        let seen = reader.seen();
        let mut rows = longest(summary);
        rows.extend(summary.timerlat_tallies.iter().map(|((cpu, context), tally)| {
            let context = match context {
                Context::Irq => "interrupt",
                Context::Thread => "thread",
                Context::UserReturn => "user",
            };
            OfTracer::of("timerlat", format!("{context}, CPU {cpu}"), tally)
        }));
        rows.extend(noise(summary));
        rows.extend(functions(&summary.durations));
        let beyond = summary.timerlat.beyond + summary.osnoise.beyond + summary.hwlat.beyond;
        Self {
            tracers,
            lines: seen.lines,
            unknown: seen.unknown,
            first_unknown: seen.first_unknown.clone(),
            tainted: reader.header().tainted,
            rows,
            histograms: histograms(summary, triggers),
            calls: summary.calls,
            misread: 0,
            counted: false,
            beyond: beyond + summary.bins.beyond + summary.snapshots.beyond + summary.more_events,
        }
    }

    /// With so many lines of a graph, of which some may have no durations, and the kind of its times.
    pub fn with(mut self, graph: u64, counted: bool) -> Self {
        if !self.rows.iter().any(|row| row.kind == "function") {
            self.calls += graph;
        }
        Self { counted, ..self }
    }

    /// Whether it tells anything.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.histograms.is_empty() && self.calls == 0
    }

    /// As tables.
    pub fn sheets(&self, most: usize) -> Vec<Sheet> {
        let kinds = [
            ("longest", "The longest latency of each snapshot", "tracer", usize::MAX),
            ("timerlat", "Timer latency by context and CPU", "context", usize::MAX),
            ("osnoise", "Noise of each period, by CPU", "CPU", usize::MAX),
            ("hwlat", "Gaps with interrupts off: the hardware's", "gap", usize::MAX),
            ("function", "Functions by their time", "function", most.max(FUNCTIONS)),
        ];
        let tables = kinds.into_iter().filter_map(|(kind, title, first, most)| self.table(kind, title, first, most));
        tables.chain(self.histograms.iter().map(Histogram::sheet)).collect()
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
        let sheet =
            Sheet::new(title.into(), head, rows, "ns", &typical).remark(super::sheets::left_out(of.len(), most, first));
        (!of.is_empty()).then_some(sheet)
    }

    /// What one must know of it, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.tainted {
            notes.push("the kernel says that these figures do not hold".to_owned());
        }
        if let Some((line, text)) = &self.first_unknown {
            let many = words::many(self.unknown, "line");
            notes.push(format!(
                "{many} of {} not understood, the first is line {line}: {text}",
                words::count(self.lines)
            ));
        }
        if self.counted {
            notes.push(
                "its times count something else than ns (cycles, jiffies, events): no latency can be told".into(),
            );
        }
        if self.misread > 0 {
            let many = words::many(self.misread, "scheduling event");
            notes.push(format!("the fields of {many} are not understood: waits that they belong to are not told"));
        }
        if self.calls > 0 {
            notes.push(format!("{} without durations", words::many(self.calls, "function call")));
        }
        if self.beyond > 0 {
            notes.push(format!("no room for {}", words::many(self.beyond, "row")));
        }
        notes
    }
}

impl OfTracer {
    fn of(kind: &'static str, name: String, tally: &Tally) -> Self {
        let sum_ns = u64::try_from(tally.sum).unwrap_or(u64::MAX);
        let mean_ns = if tally.count == 0 { 0.0 } else { tally.sum as f64 / tally.count as f64 };
        let (min_ns, max_ns) = (tally.least.min(tally.most), tally.most);
        Self { kind, name, count: tally.count, min_ns, mean_ns, max_ns, sum_ns, of: String::new() }
    }
}

/// The longest latency of each snapshot, with its task and its functions.
fn longest(summary: &Summary) -> Vec<OfTracer> {
    let of = |latency: &Latency| {
        let between =
            latency.started.as_ref().zip(latency.ended.as_ref()).map(|(from, to)| format!(", {from} to {to}"));
        let priority = match (latency.policy, latency.priority) {
            (0, _) => format!("nice {}", latency.nice),
            (_, priority) => format!("real-time {priority}"),
        };
        format!("{}-{} ({priority}) on CPU {}{}", latency.task, latency.pid, latency.cpu, between.unwrap_or_default())
    };
    let row = |one: &latido_trace::text::Snapshot| {
        let mut tally = Tally::default();
        tally.add(one.latency.us.saturating_mul(1_000));
        OfTracer { of: of(&one.latency), ..OfTracer::of("longest", one.tracer.clone(), &tally) }
    };
    summary.snapshots.items.iter().map(row).collect()
}

/// What osnoise and hwlat saw.
fn noise(summary: &Summary) -> Vec<OfTracer> {
    let mut cpus = BTreeMap::<u32, (Tally, [u64; 5], f64)>::new();
    for reading in &summary.osnoise.items {
        let value = reading.value;
        let (tally, counts, least) = cpus.entry(reading.cpu).or_insert((Tally::default(), [0; 5], 100.0));
        tally.add(value.noise_us.saturating_mul(1_000));
        let each = [value.hardware, value.nmi, value.irq, value.softirq, value.thread];
        counts.iter_mut().zip(each).for_each(|(sum, one)| *sum = sum.saturating_add(one));
        *least = least.min(value.available_e5 as f64 / 1e5);
    }
    let names = ["by hardware", "non-maskable", "hard", "soft", "threads"];
    let mut rows: Vec<OfTracer> = Vec::new();
    for (cpu, (tally, counts, least)) in cpus {
        let told = names.iter().zip(counts).filter(|(_, count)| *count > 0);
        let told = told.map(|(name, count)| format!("{name} {}", words::count(count))).collect::<Vec<_>>().join(", ");
        let of = format!("{told}; at least {least:.3} % were left");
        rows.push(OfTracer { of, ..OfTracer::of("osnoise", format!("CPU {cpu}"), &tally) });
    }
    let gaps = [("in a loop", true), ("between loops", false)].into_iter().filter_map(|(name, inner)| {
        let mut tally = Tally::default();
        for reading in &summary.hwlat.items {
            let us = if inner { reading.value.inner_us } else { reading.value.outer_us };
            tally.add(us.saturating_mul(1_000));
        }
        (tally.count > 0).then(|| OfTracer::of("hwlat", name.to_owned(), &tally))
    });
    rows.extend(gaps);
    rows
}

/// How long functions took, the one with the most time first.
fn functions(durations: &Durations) -> Vec<OfTracer> {
    let mut rows: Vec<OfTracer> =
        durations.functions.iter().map(|(name, tally)| OfTracer::of("function", name.clone(), tally)).collect();
    if durations.unnamed.count > 0 {
        rows.push(OfTracer::of("function", "not named".into(), &durations.unnamed));
    }
    rows.sort_by_key(|row| Reverse(row.sum_ns));
    rows
}

fn histograms(summary: &Summary, triggers: &BTreeMap<u64, String>) -> Vec<Histogram> {
    let mut all = BTreeMap::<u64, Histogram>::new();
    let mut of = |ordinal: u64, add: &mut dyn FnMut(&mut Histogram)| {
        let trigger = triggers.get(&ordinal).cloned().unwrap_or_default();
        add(all.entry(ordinal).or_insert_with(|| Histogram { trigger, rows: Vec::new(), totals: Vec::new() }));
    };
    for (ordinal, bin) in &summary.bins.items {
        let keys: Vec<String> = bin.keys.iter().map(|(name, key)| format!("{name} {}", key_text(key))).collect();
        let value = |(name, value): &(String, Value)| match value {
            Value::Count(count) | Value::Bar(count) => (name.clone(), *count),
            Value::Percent(hundredths) => (format!("{name} (0.01 %)"), *hundredths),
        };
        let row = (keys.join(", "), bin.values.iter().map(value).collect());
        of(*ordinal, &mut |one| one.rows.push(row.clone()));
    }
    for (ordinal, total) in &summary.totals.items {
        let total = match total {
            Total::Begin => continue,
            Total::Hits(count) => ("hits", *count),
            Total::Entries(count) => ("entries", *count),
            Total::Dropped(count) => ("dropped", *count),
        };
        of(*ordinal, &mut |one| one.totals.push(total));
    }
    all.into_values().collect()
}

fn key_text(key: &Key) -> String {
    match key {
        Key::Number(number) => number.to_string(),
        Key::Log2(power) => format!("to 2^{power}"),
        Key::Range(from, to) => format!("{from} to {to}"),
        Key::Named { name, number } => format!("{name} [{number}]"),
        Key::Stack(functions) => functions.join(" < "),
        Key::Text(text) => text.clone(),
    }
}

impl Histogram {
    fn sheet(&self) -> Sheet {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|(_, values)| values) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let head = [Head::from("key")].into_iter().chain(names.iter().map(|name| Head::from(*name))).collect();
        let row = |(key, values): &(String, Vec<(String, u64)>)| {
            let cell = |name: &&str| {
                let value = values.iter().find(|(of, _)| of == name);
                value.map_or(Datum::Absent, |(_, count)| Datum::Count(*count))
            };
            [Datum::Text(key.clone())].into_iter().chain(names.iter().map(cell)).collect()
        };
        let title = if self.trigger.is_empty() { "Histogram".into() } else { self.trigger.clone() };
        let mut sheet = Sheet::plain(title, head, self.rows.iter().map(row).collect());
        let totals: Vec<String> =
            self.totals.iter().map(|(name, count)| format!("{name} {}", words::count(*count))).collect();
        sheet.notes.extend((!totals.is_empty()).then(|| totals.join(", ")));
        sheet
    }
}
