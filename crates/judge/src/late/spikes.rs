//! Why the largest samples of a cell were late, according to the trace that latido recorded during the measurement.

use super::{Causes, Worst, jobs};
use crate::{names::Names, words};
use anyhow::Result;
use latido_model::{
    cell::{Cell, Scheduling},
    record::{Evidence, Record, Series},
    run::{
        CellState, Run, SeriesSource, StoredCell,
        late::{self, Chosen, Explainable, Late},
    },
};
use latido_trace::{
    events::Class,
    explain::{Begins, Explained, Window, explain},
    file::{Buffer, Trace},
};
use serde::Serialize;

/// Provides the trace of a cell.
pub trait TraceSource {
    /// Passes the bytes of a cell's trace to `see`.
    ///
    /// # Errors
    /// The trace is missing or cannot be read.
    fn trace(&self, cell: &StoredCell, see: &mut dyn FnMut(&[u8])) -> Result<()>;
}

impl<F: Fn(&StoredCell, &mut dyn FnMut(&[u8])) -> Result<()>> TraceSource for F {
    fn trace(&self, cell: &StoredCell, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        self(cell, see)
    }
}

/// A cell whose late samples the user wants explained.
#[derive(Debug)]
pub struct OfCell {
    /// The cell's number.
    pub number: usize,
    /// The name of its configuration, as sentences use it.
    pub name: String,
    /// Its late samples, or why there are none.
    pub found: Result<Spikes, String>,
}

/// The late samples of a cell, explained.
#[derive(Debug, Serialize)]
pub struct Spikes {
    /// The name of the cell.
    pub cell: String,
    /// The basis for attributing the time: events only, or also the events that show when interrupts and preemption are off.
    pub evidence: &'static str,
    /// What the user requested.
    pub asked: Asked,
    /// For a program's jobs: how many were missed and late, and why, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// The samples, the largest first.
    pub spikes: Vec<Worst>,
    /// The causes of all of them together, the largest first.
    pub causes: Causes,
    /// The number of events that the trace lost, over its whole time.
    pub lost_events: u64,
    /// Why the recording ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// Which samples latido was to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// This many of the largest samples.
    pub worst: u32,
    /// And all samples above this limit, ns.
    pub limit_ns: Option<u64>,
    /// The number of samples above the limit.
    pub above_limit: Option<u64>,
    /// The most samples that latido explains.
    pub most: u32,
}

/// Explains each cell of a run whose plan requests it.
pub fn of_run(run: &Run, series: &dyn SeriesSource, traces: &dyn TraceSource) -> Vec<OfCell> {
    let asked = run.cells.iter().filter(|cell| matches!(cell.state, CellState::Measured(_)));
    let asked = asked.filter_map(|cell| Some((cell, cell.cell.conditions.explain?)));
    let names = Names::of_run(run);
    let of = |(cell, worst): (&StoredCell, u32)| OfCell {
        number: cell.number,
        name: names.of_all(&cell.cell),
        found: of_cell(cell, worst, series, traces).unwrap_or_else(|error| Err(format!("{error:#}"))),
    };
    asked.map(of).collect()
}

/// Explains the `worst` largest samples of a cell and all above its limit, or says why it cannot.
///
/// # Errors
/// The samples or the trace cannot be read.
pub fn of_cell(
    cell: &StoredCell,
    worst: u32,
    series: &dyn SeriesSource,
    traces: &dyn TraceSource,
) -> Result<Result<Spikes, String>> {
    let CellState::Measured(record) = &cell.state else { return Ok(Err("was not measured".into())) };
    let Some(how) = late::explainable(&cell.cell.probe.name) else {
        let probe = &cell.cell.probe.name;
        return Ok(Err(format!(
            "samples of `{probe}` are not times of one thread; latido explains wakeup, interrupt, gap and task"
        )));
    };
    if record.quality.trace.is_none() {
        return Ok(Err("has no trace: it was measured without --explain and --trace".into()));
    }
    let chosen = late::late(record, worst, |one: &Series| Ok(series.series(cell, one)?.largest))?;
    let mut found = Err("its trace holds no events".into());
    traces.trace(cell, &mut |bytes| {
        found = match Trace::open(bytes) {
            Ok(trace) => match trace.buffers.first() {
                Some(buffer) => Ok(spikes(cell, record, worst, how, &chosen, (&trace, buffer))),
                None => Err("its trace holds no events".into()),
            },
            Err(bad) => Err(format!("its trace cannot be read: {bad}")),
        };
    })?;
    Ok(found)
}

/// Explains the chosen samples of a cell by its trace.
fn spikes(
    cell: &StoredCell,
    record: &Record,
    worst: u32,
    how: Explainable,
    chosen: &Chosen,
    (trace, buffer): (&Trace<'_>, &Buffer<'_>),
) -> Spikes {
    let window = |one: &Late| {
        let begin = one.end_ns.saturating_sub(one.ns);
        Some(Window { begin, end: one.end_ns, pid: one.tid?, cpu: one.cpu, begins: begins(how.begins) })
    };
    let windows: Vec<Window> = chosen.samples.iter().filter_map(window).collect();
    let (mut explained, _) = explain(trace, buffer, &windows);
    for one in &mut explained {
        let late = chosen.samples.iter().find(|late| window(late) == Some(one.window));
        complete(one, late, how, record);
    }
    let class = class(&cell.cell);
    let told = |one: &Late| {
        let whole = window(one)?;
        let same = |found: &&Explained| (found.window.begin, found.window.pid) == (whole.begin, whole.pid);
        let found = explained.iter().filter(same).find(|found| one.missed || found.window == whole)?;
        let class = if how.begins == late::Begins::Job { jobs::class(record, one) } else { class };
        Some(Worst {
            missed: one.missed,
            also: one.also,
            ..Worst::of(class, task(trace, found, one.thread), one.at_ns, found)
        })
    };
    let mut told: Vec<Worst> = chosen.samples.iter().filter_map(told).collect();
    // A missed period may have been shortened to the part that an earlier job took.
    told.sort_by_key(|one| std::cmp::Reverse(one.ns));
    let jobs = if how.begins == late::Begins::Job { jobs::sentences(record, &told) } else { Vec::new() };
    let recorded = record.quality.trace.as_ref();
    Spikes {
        cell: format!("cell {}, {}", cell.number, cell.cell.probe.name),
        evidence: evidence(trace),
        asked: Asked {
            worst,
            limit_ns: cell.cell.conditions.limit.map(|limit| limit.0),
            above_limit: chosen.above,
            most: late::MOST,
        },
        jobs,
        spikes: told,
        causes: Causes::of(explained.iter()),
        lost_events: recorded.map_or(0, |recorded| recorded.lost()),
        cut: recorded.and_then(|recorded| recorded.cut.clone()),
    }
}

/// Completes the explanation of a sample with what is known beyond the trace: from the record, and from how its probe waits.
fn complete(one: &mut Explained, late: Option<&Late>, how: Explainable, record: &Record) {
    told_by_record(one, late.map(|late| late.at_ns), &record.quality);
    if let Some(late) = late.filter(|_| how.begins == late::Begins::Job) {
        if late.missed {
            one.of_an_earlier_job();
        }
        jobs::usual(record, late).into_iter().for_each(|usual| one.own_beyond(usual, late.missed));
        jobs::held_back(record, late).into_iter().for_each(|most_ns| one.held_back(most_ns));
    }
    if how.by_timer {
        one.woken_by_timer();
    }
}

/// How quickly a CPU leaves idle while slow idle states are disabled, ns.
const AWAKE_NS: u64 = 100_000;

/// The shortest stop of the machine that latido can distinguish from other times without events, ns.
const STANDSTILL_NS: u64 = 1_000_000;

/// Adds what the record knows beyond the trace: whether slow idle states were disabled, and in which seconds the hypervisor stole time.
/// `since_start` is the end of the window, ns since the first slot.
pub(super) fn told_by_record(one: &mut Explained, since_start: Option<u64>, evidence: &Evidence) {
    if evidence.dma_latency_held {
        one.idle_exits_within(AWAKE_NS);
    }
    let Some(since_start) = since_start else { return };
    let (end, cpu) = (one.window.end, one.cpu);
    one.standstills(STANDSTILL_NS, |from, to| {
        let at = |time: u64| since_start.saturating_sub(end.saturating_sub(time));
        let touched = evidence.timeline.iter().filter(|second| {
            second.cpu.is_none_or(|of| of == cpu)
                && second.start_ns <= at(to)
                && second.start_ns.saturating_add(second.length_ns) > at(from)
        });
        // The kernel counts stolen time in steps of a tick.
        touched.map(|second| second.most().steal_ns).fold(0, u64::saturating_add) >= to.saturating_sub(from) / 2
    });
}

fn begins(begins: late::Begins) -> Begins {
    match begins {
        late::Begins::Asleep => Begins::Asleep,
        late::Begins::Reading => Begins::Reading,
        late::Begins::Job => Begins::Job,
    }
}

/// Returns a measuring thread by its kernel name, `latido/0-150`, like all other tasks. The name comes from its events, else from the
/// trace's list of names.
fn task(trace: &Trace<'_>, found: &Explained, thread: u32) -> String {
    let pid = found.window.pid;
    let beside = || Some(format!("{}-{pid}", trace.comms.iter().find(|(number, _)| *number == pid)?.1));
    found.name.clone().or_else(beside).unwrap_or_else(|| format!("measuring thread {thread}, number {pid}"))
}

/// Returns the basis for attributing time.
fn evidence(trace: &Trace<'_>) -> &'static str {
    let has = |system: &str| trace.formats.iter().any(|described| described.system == system);
    if has("preemptirq") { "events, with those of preemptirq" } else { "events only" }
}

/// Returns the scheduling class of a cell's threads.
fn class(cell: &Cell) -> Class {
    match cell.scheduling {
        Scheduling::Deadline { .. } => Class::Deadline,
        Scheduling::Fifo { .. } | Scheduling::Rr { .. } => Class::RealTime,
        _ => Class::Fair,
    }
}

impl Spikes {
    /// Returns what a reader must know about them, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let explained: u64 = self.spikes.iter().map(|one| 1 + one.also).sum();
        if let Some(above) = self.asked.above_limit.filter(|above| *above > explained) {
            notes.push(format!(
                "{} are above the limit; latido explains the {} largest, at most {}",
                words::many(above, "sample"),
                words::count(explained),
                words::count(u64::from(self.asked.most))
            ));
        }
        let lost = self.spikes.iter().filter(|spike| spike.lost).count() as u64;
        if self.lost_events > 0 || lost > 0 {
            let events = words::many(self.lost_events, "event");
            notes.push(format!("the trace lost {events}, in {} of these samples", words::count(lost)));
        }
        let uncovered = self.spikes.iter().filter(|spike| !spike.covered).count() as u64;
        if uncovered > 0 {
            notes.push(format!("the recording of {} of these samples is incomplete", words::count(uncovered)));
        }
        notes.extend(self.cut.iter().map(|why| format!("the recording ended early: {why}")));
        notes
    }
}
