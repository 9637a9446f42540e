//! The measurements of tracers as rows: the longest latencies, timerlat, osnoise, hwlat, functions.

use crate::words;
use latido_trace::text::{Durations, Latency, Reading, Snapshot, Summary, Tally, Time, Turned};
use serde::Serialize;
use std::{cmp::Reverse, collections::BTreeMap};

/// A latency that a tracer reports.
#[derive(Clone, Debug, Serialize)]
pub struct OfTracer {
    /// Its kind: `longest`, `timerlat`, `osnoise`, `noise`, `hwlat`, `function`.
    pub kind: &'static str,
    /// Its name within the kind.
    pub name: String,
    /// The number of values.
    pub count: u64,
    /// The least, ns.
    pub min_ns: u64,
    /// The mean, ns.
    pub mean_ns: f64,
    /// The greatest, ns.
    pub max_ns: u64,
    /// The sum, ns.
    pub sum_ns: u64,
    /// The task of the greatest, or the functions between which it was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// Other data that the tracer reports, by name: counts, and times with their unit in the name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<&'static str, u64>,
    /// The stack of functions at the end of the latency, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

/// A gap of hwlat.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Gap {
    /// The number of the tracer's sample.
    pub sample: u64,
    /// The CPU.
    pub cpu: u32,
    /// The time when the line was written, ns on the trace's clock; none if that clock does not count time.
    pub written_ns: Option<u64>,
    /// The time of the gap on the wall clock, ns since 1970.
    pub at_ns: u64,
    /// The longest gap between two readings of one loop, us.
    pub inner_us: u64,
    /// The longest gap between two loops, us.
    pub outer_us: u64,
    /// Gaps above the threshold in that window; older kernels do not count them.
    pub above: Option<u64>,
    /// The time in non-maskable interrupts in it, us; absent if the kernel does not report it.
    pub nmi_us: Option<u64>,
    /// The number of these interrupts.
    pub nmi_count: Option<u64>,
}

impl Gap {
    /// Returns whether a non-maskable interrupt was in it.
    pub fn interrupted(&self) -> bool {
        self.nmi_us.unwrap_or(0) > 0 || self.nmi_count.unwrap_or(0) > 0
    }
}

/// A latency with its position in time, for a viewer.
#[derive(Clone, Debug)]
pub struct Sample {
    /// `timerlat`, `osnoise`, `hwlat`.
    pub tracer: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// The CPU.
    pub cpu: u32,
    /// Its end, ns on the trace's clock.
    pub end: u64,
    /// Its length, ns.
    pub ns: u64,
}

impl OfTracer {
    fn of(kind: &'static str, name: String, tally: &Tally) -> Self {
        let sum_ns = u64::try_from(tally.sum).unwrap_or(u64::MAX);
        let mean_ns = if tally.count == 0 { 0.0 } else { tally.sum as f64 / tally.count as f64 };
        let (min_ns, max_ns) = (tally.least.min(tally.most), tally.most);
        let (of, facts, stack) = (String::new(), BTreeMap::new(), Vec::new());
        Self { kind, name, count: tally.count, min_ns, mean_ns, max_ns, sum_ns, of, facts, stack }
    }
}

/// Returns a time in ns, if its clock counts time.
fn clock(time: Time) -> Option<u64> {
    match time {
        Time::Clock(ns) | Time::SinceFirst(ns) => Some(ns),
        Time::Count(_) => None,
    }
}

/// Returns the longest latency of each snapshot, with its task and its functions.
pub(super) fn longest(summary: &Summary) -> Vec<OfTracer> {
    let row = |one: &Snapshot| {
        let mut tally = Tally::default();
        tally.add(one.latency.us.saturating_mul(1_000));
        let stack = one.stack.clone();
        OfTracer { of: snapshot(one), stack, ..OfTracer::of("longest", one.tracer.clone(), &tally) }
    };
    summary.snapshots.items.iter().map(row).collect()
}

/// Returns a text on a snapshot: its task, its CPU, its functions, and the tasks that woke it or ran before it.
fn snapshot(one: &Snapshot) -> String {
    let Latency { task, pid, cpu, nice, policy, priority, model, started, ended, .. } = &one.latency;
    let between = started.as_ref().zip(ended.as_ref()).map(|(from, to)| format!(", {from} to {to}"));
    let level = match (policy, priority) {
        // SCHED_DEADLINE has no priority (sched(7)).
        (6, _) => "deadline".to_owned(),
        (1 | 2, priority) => format!("real-time {priority}"),
        (0, _) => format!("nice {nice}"),
        (policy, _) => format!("policy {policy}, nice {nice}"),
    };
    // The kernel cuts names to eight characters there, but the header has the full name.
    let party = |(pid, priority, state): &(u32, i32, String)| format!("{pid} (priority {priority}, {state})");
    let woken = one.woken.as_ref().map(|Turned { from, cpu, .. }| format!(", woken by {} for CPU {cpu}", party(from)));
    let came = one.switched.as_ref().map(|Turned { from, .. }| format!(", came after {}", party(from)));
    let kernel = Some(model).filter(|model| !model.is_empty()).map(|model| format!("; kernel `{model}`"));
    let stack = Some(&one.stack).filter(|stack| !stack.is_empty()).map(|stack| {
        let first: Vec<&str> = stack.iter().take(3).map(String::as_str).collect();
        format!("; at its end in {}", first.join(" < "))
    });
    let more: String = [between, woken, came, kernel, stack].into_iter().flatten().collect();
    format!("{task}-{pid} ({level}) on CPU {cpu}{more}")
}

/// Returns timer latencies by context and CPU, with the numbers of their activations.
pub(super) fn timerlat(summary: &Summary) -> Vec<OfTracer> {
    let row = |((cpu, context), tally): (&(u32, latido_trace::text::Context), &Tally)| {
        let of =
            |reading: &&Reading<latido_trace::text::Timerlat>| reading.cpu == *cpu && reading.value.context == *context;
        let mut all = summary.timerlat.items.iter().filter(of);
        let longest = all.clone().max_by_key(|reading| reading.value.latency_ns);
        let first = all.next().map(|reading| reading.value.activation);
        let last = all.next_back().map(|reading| reading.value.activation).or(first);
        let facts = [("first_activation", first), ("last_activation", last)];
        let facts = facts.into_iter().chain([("longest_activation", longest.map(|one| one.value.activation))]);
        let of = longest.map(|one| {
            let at = clock(one.time).map(|ns| format!(" at {:.6} s", ns as f64 / 1e9));
            format!("activation {}{}", one.value.activation, at.unwrap_or_default())
        });
        OfTracer {
            of: of.unwrap_or_default(),
            facts: facts.filter_map(|(name, value)| Some((name, value?))).collect(),
            ..OfTracer::of("timerlat", format!("{}, CPU {cpu}", context.name()), tally)
        }
    };
    summary.timerlat_tallies.iter().map(row).collect()
}

/// Returns osnoise's measurements, by CPU.
pub(super) fn osnoise(summary: &Summary) -> Vec<OfTracer> {
    #[derive(Default)]
    struct OfCpu {
        noise: Tally,
        counts: [u64; 5],
        runtime_us: Option<u64>,
        longest_us: u64,
        least_e5: Option<u64>,
    }
    let mut cpus = BTreeMap::<u32, OfCpu>::new();
    for reading in &summary.osnoise.items {
        let value = reading.value;
        let of = cpus.entry(reading.cpu).or_default();
        of.noise.add(value.noise_us.saturating_mul(1_000));
        let each = [value.hardware, value.nmi, value.irq, value.softirq, value.thread];
        of.counts.iter_mut().zip(each).for_each(|(sum, one)| *sum = sum.saturating_add(one));
        of.runtime_us = of.runtime_us.into_iter().chain(value.runtime_us).reduce(u64::saturating_add);
        of.longest_us = of.longest_us.max(value.longest_us);
        of.least_e5 = of.least_e5.into_iter().chain(value.available_e5).min();
    }
    let names = ["by hardware", "non-maskable", "hard", "soft", "threads"];
    let keys = ["hardware", "nmi", "irq", "softirq", "thread"];
    let row = |(cpu, of): (u32, OfCpu)| {
        let told = names.iter().zip(of.counts).filter(|(_, count)| *count > 0);
        let told = told.map(|(name, count)| format!("{name} {}", words::count(count)));
        let single = format!("longest single {}", words::value(of.longest_us as f64 * 1e3, "ns"));
        let least = of.least_e5.map(|least| format!("at least {:.3} % were left", least as f64 / 1e5));
        let ran = of.runtime_us.map(|us| format!("sampled for {}", words::value(us as f64 * 1e3, "ns")));
        let parts: Vec<String> = told.chain([single]).chain(least).chain(ran).collect();
        let mut facts: BTreeMap<&'static str, u64> = keys.into_iter().zip(of.counts).collect();
        facts.extend(of.runtime_us.map(|us| ("runtime_ns", us.saturating_mul(1_000))));
        facts.insert("longest_single_ns", of.longest_us.saturating_mul(1_000));
        OfTracer { of: parts.join("; "), facts, ..OfTracer::of("osnoise", format!("CPU {cpu}"), &of.noise) }
    };
    cpus.into_iter().map(row).collect()
}

/// Returns how long interruptions of CPUs took, in descending order of total time.
pub(super) fn noises(summary: &Summary) -> Vec<OfTracer> {
    let named = |(kind, name): &(&'static str, String)| format!("{kind} {name}").trim_end().to_owned();
    let mut rows: Vec<OfTracer> =
        summary.noises.by.iter().map(|(of, tally)| OfTracer::of("noise", named(of), tally)).collect();
    rows.sort_by_key(|row| Reverse(row.sum_ns));
    rows
}

/// Returns the gaps of hwlat one by one.
pub(super) fn gaps(summary: &Summary) -> Vec<Gap> {
    let gap = |reading: &Reading<latido_trace::text::Hwlat>| {
        let value = reading.value;
        Gap {
            sample: value.sample,
            cpu: reading.cpu,
            written_ns: clock(reading.time),
            at_ns: value.at_ns,
            inner_us: value.inner_us,
            outer_us: value.outer_us,
            above: value.count,
            nmi_us: value.nmi_us,
            nmi_count: value.nmi_count,
        }
    };
    summary.hwlat.items.iter().map(gap).collect()
}

/// Returns hwlat's measurements: all gaps and, if some had non-maskable interrupts in them, also the others alone.
pub(super) fn hwlat(gaps: &[Gap]) -> Vec<OfTracer> {
    let interrupted = gaps.iter().filter(|gap| gap.interrupted()).count() as u64;
    let rows = |suffix: &'static str, clean: bool| {
        [("in a loop", true), ("between loops", false)].into_iter().filter_map(move |(name, inner)| {
            let mut tally = Tally::default();
            let us = |gap: &Gap| if inner { gap.inner_us } else { gap.outer_us };
            gaps.iter()
                .filter(|gap| !clean || !gap.interrupted())
                .for_each(|gap| tally.add(us(gap).saturating_mul(1_000)));
            (tally.count > 0).then(|| OfTracer::of("hwlat", format!("{name}{suffix}"), &tally))
        })
    };
    let above = gaps.iter().filter_map(|gap| gap.above).fold(0u64, u64::saturating_add);
    let nmi_ns =
        gaps.iter().filter_map(|gap| gap.nmi_us).fold(0u64, |sum, us| sum.saturating_add(us.saturating_mul(1_000)));
    let nmis = gaps.iter().filter_map(|gap| gap.nmi_count).fold(0u64, u64::saturating_add);
    let mut all: Vec<OfTracer> = rows("", false).collect();
    for row in &mut all {
        row.facts = [("above", above), ("with_nmi", interrupted), ("nmi_ns", nmi_ns), ("nmi_count", nmis)].into();
    }
    if interrupted > 0 {
        all.extend(rows(", no NMI in it", true));
    }
    all
}

/// Returns how long functions took, in descending order of total time.
pub(super) fn functions(durations: &Durations) -> Vec<OfTracer> {
    let mut rows: Vec<OfTracer> =
        durations.functions.iter().map(|(name, tally)| OfTracer::of("function", name.clone(), tally)).collect();
    if durations.unnamed.count > 0 {
        rows.push(OfTracer::of("function", "not named".into(), &durations.unnamed));
    }
    rows.sort_by_key(|row| Reverse(row.sum_ns));
    rows
}

/// The most samples for viewers.
const DRAWN: usize = 100_000;

/// Returns the samples that have a position in time.
pub(super) fn samples(summary: &Summary) -> Vec<Sample> {
    let timerlat = summary.timerlat.items.iter().filter_map(|one| {
        let (name, ns) = (one.value.context.name(), one.value.latency_ns);
        Some(Sample { tracer: "timerlat", name, cpu: one.cpu, end: clock(one.time)?, ns })
    });
    let us = |us: u64| us.saturating_mul(1_000);
    let osnoise = summary.osnoise.items.iter().filter_map(|one| {
        Some(Sample {
            tracer: "osnoise",
            name: "noise",
            cpu: one.cpu,
            end: clock(one.time)?,
            ns: us(one.value.noise_us),
        })
    });
    let hwlat = summary.hwlat.items.iter().filter_map(|one| {
        let longest = one.value.inner_us.max(one.value.outer_us);
        Some(Sample { tracer: "hwlat", name: "gap", cpu: one.cpu, end: clock(one.time)?, ns: us(longest) })
    });
    timerlat.chain(osnoise).chain(hwlat).take(DRAWN).collect()
}
