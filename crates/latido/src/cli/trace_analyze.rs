//! `latido trace analyze`: what a trace of any origin contains.

use super::Usage;
use crate::{
    durable::{self, What},
    host::outcome,
    output::{tell, write_out},
    store::Source,
};
use anyhow::{Context, Result};
use latido_report::{
    formats,
    html::traced as page,
    numbers::document,
    traced::{Analyses, Analysis, Depth, Kind, Timeline, analyse, analyse_text, csv, is_file},
};
use latido_trace::{events::Comm, file::Trace, summary::Of};
use std::path::{Path, PathBuf};

const NOTES: &str = "\
FILE is a trace of trace-cmd (version 6 or 7, compressed or not, of either byte order), one that `latido
trace record` made, or text: what tracefs gives (`trace`, `trace_pipe`, `hist`) or `trace-cmd report` prints, whole or in part, also
copied from a mail or a terminal: events, irqsoff, preemptoff, wakeup, hwlat, osnoise, timerlat, function_graph, histogram triggers.
latido names the source that reports lost events, and their number. It reports all latencies that its events permit: scheduling
(sched_waking to sched_switch), waiting after preemption, system calls, hard and soft interrupts, interrupts and preemption off,
which tasks ran on each CPU, and the longest waits with their causes. docs/trace.md defines each of them.

Examples:
  latido trace analyze trace.dat
  latido trace analyze trace.dat --task my-program       why was it late? its waits, and what caused each
  latido trace analyze trace.dat --html trace.html --perfetto trace.json     the latter for ui.perfetto.dev
  latido trace analyze trace.dat --json | jq '.buffers[0].rows[] | select(.kind == \"scheduling\")'

Exit status: 0 answered, 1 error, 64 usage.";

/// Analyse a kernel trace: latencies, the tasks on each CPU, the longest waits and their causes.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Count the waits and system calls of one task alone: its name, or the number of a thread
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// Print one JSON document and nothing else
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print the latencies as CSV, in ns, and nothing else; this is the fastest, with one pass through the file
    #[arg(long)]
    pub csv: bool,
    /// Write a page with a timeline that can be moved and zoomed
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the JSON that ui.perfetto.dev and chrome://tracing open
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
}

/// The file that a new page may overwrite.
const PAGE: What<'static> =
    What { name: "page of latido's", within: formats::TITLE_WITHIN, ours: formats::is_page, instead: durable::OTHER };

/// The file that a new document for other viewers may overwrite.
const DOCUMENT: What<'static> = What {
    name: "document of this form",
    within: 32,
    ours: |begins| begins.starts_with(br#"{"displayTimeUnit":"#),
    instead: durable::OTHER,
};

/// Carries out `latido trace analyze`.
///
/// # Errors
/// The file cannot be read, or is no trace.
pub fn run(args: &Args) -> Result<u8> {
    apart(args)?;
    // Refuse before the work, not after it.
    args.html.iter().try_for_each(|path| durable::unless_foreign(path, PAGE))?;
    args.perfetto.iter().try_for_each(|path| durable::unless_foreign(path, DOCUMENT))?;
    let source = Source::open(&args.file)?;
    let depth = match (args.html.is_some() || args.perfetto.is_some(), args.csv) {
        (true, _) => Depth::Timeline,
        (false, true) => Depth::Latencies,
        (false, false) => Depth::Worst,
    };
    let of = of(args.task.as_deref());
    let analyses = analyses(&source, depth, &of)?;
    if let Some(name) = args.task.as_deref().filter(|_| analyses.iter().all(is_nobodys)) {
        anyhow::bail!(
            "{}: the trace has no wait and no system call of `{name}`; names have 15 letters, and `latido trace \
             analyze FILE` lists the tasks that waited",
            source.name()
        );
    }
    // A page and a document show one buffer: the one with the most events. latido names it where the trace has several.
    let fullest = analyses.iter().max_by_key(|one| one.events);
    if let (Some(path), Some(one)) = (&args.html, fullest) {
        durable::write_named(path, page::render(one)?.as_bytes())?;
        told(path, one, analyses.len());
    }
    if let (Some(path), Some(one)) = (&args.perfetto, fullest) {
        let text = serde_json::to_string(&one.perfetto()).context("writing the document")?;
        durable::write_named(path, text.as_bytes())?;
        told(path, one, analyses.len());
    }
    if args.json {
        return write_out(&document(&Analyses { buffers: &analyses })?);
    }
    if args.csv {
        return write_out(&csv::rows(&analyses)?);
    }
    let style = outcome::style();
    write_out(&analyses.iter().map(|one| one.text(style)).collect::<Vec<_>>().join("\n"))
}

/// Returns the task whose waits and system calls count.
fn of(task: Option<&str>) -> Of {
    let number = |name: &str| name.parse().ok().filter(|number| *number > 0);
    task.map_or(Of::All, |name| number(name).map_or_else(|| Of::Named(Comm::of(name)), Of::Thread))
}

/// Returns whether the analysis has no wait and no system call.
fn is_nobodys(one: &Analysis) -> bool {
    let of_task = |kind: Kind| matches!(kind, Kind::Scheduling | Kind::Preempted | Kind::SystemCall);
    !one.rows.iter().any(|row| of_task(row.kind))
}

/// Analyses each ring of a file, or a trace in text form.
fn analyses(source: &Source, depth: Depth, of: &Of) -> Result<Vec<Analysis>> {
    let name = source.name();
    if !is_file(source.bytes()) {
        return analyse_text(&name, source.bytes(), of).map_err(|why| anyhow::anyhow!("{name}: {why}"));
    }
    let trace = Trace::open(source.bytes()).map_err(|bad| source.wrong(&bad))?;
    let mut analyses: Vec<Analysis> = Vec::new();
    for buffer in &trace.buffers {
        let mut one = analyse(&name, &trace, buffer, depth, of);
        // latido draws only the ring with the most events, and a timeline takes more memory than anything else.
        let drawn = analyses.iter_mut().max_by_key(|other| other.events);
        match drawn {
            Some(other) if other.events > one.events => one.timeline = Timeline::default(),
            Some(other) => other.timeline = Timeline::default(),
            None => {}
        }
        analyses.push(one);
    }
    // A recording with a latency tracer also contains the tracer's text.
    if let Some(text) = &trace.text {
        analyses.extend(analyse_text(&name, text, of).map_err(|why| anyhow::anyhow!("{name}: {why}"))?);
    }
    if analyses.is_empty() {
        let lost = trace.lost.told().next().map_or_else(|| "it has no ring".into(), |first| format!("lost: {first}"));
        anyhow::bail!("{name} is a trace and holds no events: {lost}");
    }
    Ok(analyses)
}

/// Refuses to overwrite the trace, or one document with the other.
fn apart(args: &Args) -> Result<(), Usage> {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let trace = place(&args.file);
    let outputs = [("--html", &args.html), ("--perfetto", &args.perfetto)];
    for (name, path) in outputs.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))) {
        if place(path) == trace {
            return Err(Usage::new(format!("{name} {}: that is the trace itself; name another file", path.display())));
        }
    }
    match (&args.html, &args.perfetto) {
        (Some(html), Some(perfetto)) if place(html) == place(perfetto) => {
            Err(Usage::new(format!("--html and --perfetto {}: name two files", html.display())))
        }
        _ => Ok(()),
    }
}

fn told(path: &Path, one: &Analysis, buffers: usize) {
    let of = if buffers > 1 { format!(" (the buffer `{}` of {buffers})", one.buffer) } else { String::new() };
    tell(&format!("wrote {}{of}", path.display()));
}
