//! `latido list`: the names that the command line and plans accept.

use super::{known, list_runs};
use crate::{host::outcome, output::write_out};
use anyhow::Result;
use latido_model::{
    catalogue::Kind,
    plan::{parse, shipped},
};
use latido_report::terminal::{Paint, Style, hang, paint};
use std::{
    io::{self, IsTerminal},
    path::PathBuf,
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
        return list_runs::run(args.store.as_deref(), args.json, style());
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

#[expect(clippy::disallowed_methods, reason = "nothing is written")]
/// Returns the layout of stdout. A reader of lists from a pipe gets full lines.
fn style() -> Style {
    let style = outcome::style();
    if io::stdout().is_terminal() { style } else { Style { width: usize::MAX, ..style } }
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
}
