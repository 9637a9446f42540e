//! `latido trace explain`: why the largest samples of a stored run were late.

use super::trace_source::Source;
use crate::{
    host::outcome,
    output::{tell, write_out},
    store,
};
use anyhow::{Result, bail};
use latido_model::{
    cell::Scheduling,
    record::Record,
    run::{CellState, StoredCell},
};
use latido_report::{
    numbers::document,
    traced::spikes::{Late, Spikes, spikes},
};
use latido_trace::{events::Class, file::Trace};
use serde::Serialize;
use std::path::PathBuf;

/// The trace beside a record.
const TRACE: &str = "trace.dat";
/// So many samples of a cell are explained at most, however many lie above the limit.
const MOST: usize = 1_000;

const NOTES: &str = "\
RUN was measured with --trace, by the probe wakeup or gap. The time of each sample is cut into slices: interrupts and soft
interrupts by name, other tasks by name and class, tasks that could not be preempted, the way out of idle, messages between
CPUs, migration, throttling, stops; what no event explains is called unexplained, and nothing is guessed. Slices add up to the
sample. docs/trace.md says how.

Examples:
  sudo latido run wakeup -c 1 -d 60s --trace && latido trace explain last
  latido trace explain last --worst 5 --json

Exit status: 0 answered, 1 error, 64 usage.";

/// Explain why the largest samples of a run were late.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// A run, an unambiguous prefix of it, a path, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// So many of the largest samples of each cell, and all above its limit
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub worst: u16,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The cells of a run.
#[derive(Serialize)]
struct Explanation {
    cells: Vec<Spikes>,
}

/// Carries out `latido trace explain`.
///
/// # Errors
/// There is no such run, or none of its cells has a trace.
pub fn run(args: &Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let run = store::read(&store::find(&root, &args.run)?)?;
    run.problems.iter().for_each(|problem| tell(&format!("warning: {problem}")));
    let mut cells = Vec::new();
    for cell in &run.cells {
        match explained(cell, usize::from(args.worst))? {
            Ok(found) => cells.push(found),
            Err(why) => tell(&format!("cell {}: {why}", cell.number)),
        }
    }
    if cells.is_empty() {
        bail!("no cell of {} can be explained: measure wakeup or gap with --trace", run.meta.id);
    }
    if args.json {
        return write_out(&document(&Explanation { cells })?);
    }
    let style = outcome::style();
    write_out(&cells.iter().map(|cell| cell.text(style)).collect::<Vec<_>>().join("\n"))
}

/// A cell explained, or why it cannot be.
fn explained(cell: &StoredCell, worst: usize) -> Result<Result<Spikes, String>> {
    let CellState::Measured(record) = &cell.state else { return Ok(Err("was not measured".into())) };
    let slept = match cell.cell.probe.name.as_str() {
        "wakeup" => true,
        "gap" => false,
        other => {
            return Ok(Err(format!(
                "samples of `{other}` are no times of one thread; wakeup and gap can be explained"
            )));
        }
    };
    if record.quality.trace.is_none() {
        return Ok(Err("has no trace: it was measured without --trace".into()));
    }
    let late = late(cell, record, slept, worst)?;
    let source = Source::open(&cell.dir.join(TRACE))?;
    let trace = Trace::open(source.bytes()).map_err(|bad| source.wrong(&bad))?;
    let Some(buffer) = trace.buffers.first() else { return Ok(Err("its trace holds no events".into())) };
    Ok(Ok(spikes(format!("cell {}, {}", cell.number, cell.cell.probe.name), &trace, buffer, &late)))
}

/// The largest samples of all threads, and all above the limit.
fn late(cell: &StoredCell, record: &Record, slept: bool, worst: usize) -> Result<Vec<Late>> {
    let limit = cell.cell.conditions.limit.map(|limit| i64::try_from(limit.0).unwrap_or(i64::MAX));
    let class = match cell.cell.scheduling {
        Scheduling::Deadline { .. } => Class::Deadline,
        Scheduling::Fifo { .. } | Scheduling::Rr { .. } => Class::RealTime,
        _ => Class::Fair,
    };
    let mut all = Vec::new();
    for series in record.series.iter().filter(|series| matches!(series.quantity.as_str(), "latency" | "gap")) {
        let thread = record.quality.threads.iter().find(|thread| thread.thread == series.thread);
        let Some(tid) = thread.and_then(|thread| thread.tid).and_then(|tid| i32::try_from(tid).ok()) else { continue };
        let data = store::distribution_and_largest(cell, series)?;
        all.extend(data.largest.iter().map(|sample| Late {
            task: format!("thread {}-{tid}", series.thread),
            tid,
            class,
            cpu: series.cpu.unwrap_or(0),
            end: record.anchors.monotonic_ns.saturating_add(sample.at_ns),
            ns: u64::try_from(sample.value).unwrap_or(0),
            slept,
        }));
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.ns));
    let above = limit.map_or(0, |limit| all.iter().filter(|one| one.ns as i64 > limit).count());
    all.truncate(above.max(worst).min(MOST));
    Ok(all)
}
