//! `latido list`: the names that the command line and plans accept.

use super::known;
use crate::{
    host::outcome,
    output::{tell, write_out},
    store,
};
use anyhow::Result;
use latido_model::{
    catalogue::Kind,
    plan::{parse, shipped},
    run::Meta,
    verdict::{INTERRUPTED, NO_LIMIT, NOT_MEASURED, RUNNING, Verdict},
};
use latido_report::terminal::{
    Paint, Style, fit, hang, paint,
    table::{self, TextColumn},
};
use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

/// List probes, loads, tunings, plans or runs.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// What to list [default: all but the runs]
    pub what: Option<What>,
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// What to list.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Measuring procedures
    Probes,
    /// What disturbs the machine meanwhile
    Loads,
    /// Reversible changes of the machine's settings
    Tunings,
    /// Shipped plans
    Plans,
    /// Stored runs
    Runs,
}

/// Carries out `latido list`.
///
/// # Errors
/// The store cannot be read.
pub fn run(args: Args) -> Result<u8> {
    if args.what == Some(What::Runs) {
        return runs(&args);
    }
    let lists = [What::Probes, What::Loads, What::Tunings, What::Plans];
    let asked = lists.into_iter().filter(|what| args.what.is_none_or(|asked| asked == *what));
    let lists: Vec<(&str, Vec<Line>)> = asked.map(lines).collect();
    write_out(&if args.json { json(&lists)? } else { text(&lists, style()) })
}

/// Writes one list as text.
pub fn page(what: What) -> String {
    text(&[lines(what)], style())
}

fn runs(args: &Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let listing = store::list_runs(&root)?;
    for problem in &listing.problems {
        tell(&format!("warning: {problem}"));
    }
    if args.json {
        let stated = |(dir, meta): &(PathBuf, Meta)| -> Result<serde_json::Value> {
            let mut run = serde_json::to_value(meta)?;
            run.as_object_mut().map(|run| run.insert("state".into(), state(dir, meta).into()));
            Ok(run)
        };
        let runs: Vec<_> = listing.runs.iter().map(stated).collect::<Result<_>>()?;
        let document = serde_json::json!({ "schema": 1, "runs": runs, "problems": listing.problems });
        return write_out(&(serde_json::to_string_pretty(&document)? + "\n"));
    }
    if listing.runs.is_empty() {
        let missing = if root.exists() { "" } else { " (there is no such directory)" };
        let place = root.display();
        return write_out(&format!("no runs yet in {place}{missing}: `latido run quick` makes one\n"));
    }
    let runs: Vec<(&Meta, String)> = listing.runs.iter().map(|(dir, meta)| (meta, state(dir, meta))).collect();
    write_out(&table(&runs, jiff::Timestamp::now(), style()))
}

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
/// Returns the layout of stdout. A reader of lists from a pipe gets full lines.
fn style() -> Style {
    let style = outcome::style();
    if io::stdout().is_terminal() { style } else { Style { width: usize::MAX, ..style } }
}

/// Returns the word of a run's verdict, or that latido is measuring it, or that it did not end.
fn state(dir: &Path, meta: &Meta) -> String {
    match meta.verdict {
        None if store::is_at_work(dir) => RUNNING.into(),
        None => INTERRUPTED.into(),
        Some(Verdict::Pass) if meta.unjudged => NO_LIMIT.into(),
        Some(_) if meta.unmeasured => NOT_MEASURED.into(),
        Some(verdict) => verdict.word().into(),
    }
}

fn table(runs: &[(&Meta, String)], now: jiff::Timestamp, style: Style) -> String {
    let column = |name: &str, cell: &dyn Fn(&Meta) -> String| {
        TextColumn::text(name, runs.iter().map(|(meta, _)| cell(meta)).collect())
    };
    let mut columns = vec![
        column("run", &|meta| meta.id.clone()),
        TextColumn { left: false, ..column("age", &|meta| age(&meta.started, now)) },
        TextColumn::counts("cells", runs.iter().map(|(meta, _)| Some(meta.cells as u64))),
        TextColumn::text("verdict", runs.iter().map(|(_, state)| state.clone()).collect()),
        column("what decided", &|meta| meta.headline.clone().unwrap_or_default()),
    ];
    if runs.iter().any(|(meta, _)| meta.label.is_some()) {
        columns.insert(1, column("label", &|meta| meta.label.clone().unwrap_or_default()));
    }
    // A narrow terminal cuts the sentence at the end of a line, not the name at its start, which other commands take.
    let lines = table::render(columns, Style { width: usize::MAX, color: false });
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let tone = if at == 0 { Paint::Dim } else { Paint::Plain };
        text.push_str(&paint(&fit(line, style.width), tone, style));
        text.push('\n');
    }
    text
}

/// Returns the age of a run in the largest whole unit; the run's name contains its exact time.
fn age(started: &str, now: jiff::Timestamp) -> String {
    let Ok(started) = started.parse::<jiff::Timestamp>() else { return "-".into() };
    match now.as_second().saturating_sub(started.as_second()) {
        ..0 => "-".into(),
        s @ ..120 => format!("{s} s"),
        s @ ..7_200 => format!("{} min", s / 60),
        s @ ..172_800 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    }
}

struct Line {
    name: String,
    about: String,
    main_option: Option<&'static str>,
}

fn lines(what: What) -> (&'static str, Vec<Line>) {
    let of = |kind: Kind| {
        let entries = known::list(kind).entries().into_iter();
        entries
            .map(|entry| Line { name: entry.name.into(), about: entry.about.into(), main_option: entry.main_option })
            .collect()
    };
    match what {
        What::Probes => ("probes", of(Kind::Probe)),
        What::Loads => ("loads", of(Kind::Load)),
        What::Tunings => ("tunings", of(Kind::Tuning)),
        What::Plans | What::Runs => ("plans", shipped::PLANS.iter().map(|(name, text)| plan(name, text)).collect()),
    }
}

fn plan(name: &str, text: &str) -> Line {
    let about = match parse::parse(name, text, known::CATALOGUE) {
        Ok(plan) => plan.about.unwrap_or_default(),
        Err(problem) => format!("cannot run here: {problem}"),
    };
    Line { name: name.into(), about, main_option: None }
}

/// The groups of the lists, by what users look for. A name without a group comes after all groups.
const GROUPS: &[(&str, &[&str])] = &[
    ("latency of this machine", &["wakeup", "gap", "sleep", "switch", "mutex", "priority", "compute", "pendulum"]),
    ("your own program", &["task"]),
    ("what the kernel did, by its events (root, tracefs)", &["scheduling", "syscall", "interrupt"]),
    ("the kernel's own tracers (root, tracefs)", &["irqsoff", "wakeup-tracer", "timerlat", "osnoise", "hwlat"]),
    (
        "processor and memory",
        &["stress-cpu", "spin", "stress-ng", "sleepers", "tee", "memory", "video", "cpu-memory-video"],
    ),
    ("files and disks", &["disk", "tree", "archive", "compile", "compound-2008"]),
    ("network", &["udp-flood", "udp-sink", "iperf3"]),
    ("scheduler and interrupts", &["messaging", "rt-interference", "interrupts", "irqs-off"]),
    ("a CPU for your task alone", &["isolate", "irqs", "smt", "workqueues", "timers", "rcu", "vm-stat", "cache"]),
    ("scheduler", &["throttle", "preempt", "irq-priority", "watchdog"]),
    ("power", &["cstates", "frequency", "resume-latency"]),
    ("memory management", &["numa-balancing", "compaction", "thp", "ksm"]),
    ("comparisons on this machine", &["quick", "isolation", "balance"]),
    (
        "published studies",
        &["scheduling-latency", "embedded-properties", "execution-times", "interrupt-determinism", "ftrace-latencies"],
    ),
    (
        "kernels in the laboratory",
        &[
            "three-kernels",
            "lab-scheduling-latency",
            "lab-embedded-properties",
            "lab-execution-times",
            "lab-interrupt-determinism",
            "lab-ftrace-latencies",
            "lab-preemption-rcu",
        ],
    ),
];

/// Returns the lines of a list by group, each group with its heading.
fn grouped(lines: &[Line]) -> Vec<(&'static str, Vec<&Line>)> {
    let of = |names: &[&str]| lines.iter().filter(|line| names.contains(&line.name.as_str())).collect::<Vec<_>>();
    let mut all: Vec<(&str, Vec<&Line>)> = GROUPS.iter().map(|(title, names)| (*title, of(names))).collect();
    let known = |line: &&Line| GROUPS.iter().any(|(_, names)| names.contains(&line.name.as_str()));
    all.push(("other", lines.iter().filter(|line| !known(line)).collect()));
    all.retain(|(_, lines)| !lines.is_empty());
    all
}

fn text(lists: &[(&str, Vec<Line>)], style: Style) -> String {
    let width = lists.iter().flat_map(|(_, lines)| lines).map(|line| line.name.len()).max().unwrap_or(0);
    let mut out = Vec::new();
    for (title, lines) in lists {
        if !out.is_empty() {
            out.push(String::new());
        }
        out.push(paint(title, Paint::Bold, style));
        for (group, lines) in grouped(lines) {
            out.push(paint(&format!("  {group}"), Paint::Dim, style));
            for Line { name, about, .. } in lines {
                out.extend(hang(&format!("    {name:width$} "), Paint::Plain, about, style));
            }
        }
        if lines.is_empty() {
            out.push("  (none)".into());
        }
    }
    out.join("\n") + "\n"
}

fn json(lists: &[(&str, Vec<Line>)]) -> Result<String> {
    let mut document = serde_json::Map::new();
    document.insert("schema".into(), 1.into());
    for (title, lines) in lists {
        let list = lines
            .iter()
            .map(|line| serde_json::json!({ "name": line.name, "about": line.about, "main_option": line.main_option }));
        document.insert((*title).into(), list.collect());
    }
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each name in a group exists and is in one group only. Few items have no group.
    #[test]
    fn groups_name_what_there_is() {
        let kinds = [What::Probes, What::Loads, What::Tunings, What::Plans];
        let all: Vec<Line> = kinds.into_iter().flat_map(|what| lines(what).1).collect();
        let named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for name in &named {
            assert_eq!(named.iter().filter(|other| *other == name).count(), 1, "{name}");
            assert!(all.iter().any(|line| line.name == *name), "{name}");
        }
        let others: usize = kinds.into_iter().filter_map(|what| Some(grouped(&lines(what).1).pop()?.1.len())).sum();
        assert!(others < all.len() / 4, "{others} of {}", all.len());
    }

    #[test]
    fn runs_are_aligned_and_only_the_sentence_is_cut() {
        let run = |id: &str, started: &str, cells, verdict, headline: &str| Meta {
            id: id.into(),
            started: started.into(),
            cells,
            verdict,
            headline: Some(headline.into()),
            ..Meta::default()
        };
        let long = "wakeup, busy: 1 of 20000 samples above the limit of 100 µs, worst 228 µs";
        let runs = [
            run("20261121T200000Z-quick-k3f9", "2026-11-21T20:00:00Z", 4, Some(Verdict::Fail), long),
            run("20261123T195900Z-my-plan-0a1b", "2026-11-23T19:59:00Z", 12, None, ""),
            // This run passes, without a limit to judge it.
            Meta {
                unjudged: true,
                ..run("20261123T195800Z-quick-7dk2", "2026-11-23T19:58:30Z", 4, Some(Verdict::Pass), "")
            },
            // No conclusion of the study has figures.
            Meta {
                unmeasured: true,
                ..run("20261123T195900Z-study-9x2m", "2026-11-23T19:59:00Z", 40, Some(Verdict::Inconclusive), "")
            },
        ];
        let now = "2026-11-23T20:00:00Z".parse().unwrap();
        let nowhere = Path::new("/nonexistent");
        let runs: Vec<_> = runs.iter().map(|meta| (meta, state(nowhere, meta))).collect();
        let text = table(&runs, now, Style { width: 80, color: false });
        insta::assert_snapshot!(text, @"
        run                             age  cells  verdict       what decided
        20261121T200000Z-quick-k3f9     2 d      4  FAIL          wakeup, busy: 1 of 20~
        20261123T195900Z-my-plan-0a1b  60 s     12  INTERRUPTED
        20261123T195800Z-quick-7dk2    90 s      4  NO LIMIT SET
        20261123T195900Z-study-9x2m    60 s     40  NOT MEASURED
        ");
    }

    #[test]
    fn the_age_is_in_whole_units() {
        let now = "2026-11-21T20:00:00Z".parse().unwrap();
        for (started, text) in [
            ("2026-11-21T19:59:01.9Z", "59 s"),
            ("2026-11-21T19:00:00Z", "60 min"),
            ("2026-11-20T20:00:00Z", "24 h"),
            ("2026-11-01T20:00:00Z", "20 d"),
            ("2027-01-01T00:00:00Z", "-"),
            ("yesterday", "-"),
        ] {
            assert_eq!(age(started, now), text, "{started}");
        }
    }
}
