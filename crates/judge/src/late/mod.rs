//! Late samples and long waits, with what took the time of each: the data for tables, texts and pages.

mod causes;
mod jobs;
mod spikes;
mod told;
mod turns;

use crate::words;
pub use causes::{CauseRow, Causes};
pub use jobs::decisive;
use latido_trace::{
    events::Class,
    explain::{Cause, Chain, Explained},
    pairing::Owner,
};
use serde::Serialize;
pub use spikes::{Asked, OfCell, Spikes, TraceSource, of_cell, of_run};
pub use told::{in_short, kind, said};
pub use turns::Turn;

/// A late sample or a long wait.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// `name-number` of the task.
    pub task: String,
    /// The scheduling class of the task.
    pub class: &'static str,
    /// The length of the wait, ns.
    pub ns: u64,
    /// When the wait started, ns on the trace's clock.
    pub at_ns: u64,
    /// When it ended, ns since the first slot of the measurement or the first event of the trace.
    pub since_start_ns: u64,
    /// The CPU of the wait.
    pub cpu: u32,
    /// Whether it is a period in which the program started no job.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missed: bool,
    /// How many other missed or late periods started during it; this explanation covers them.
    #[serde(skip_serializing_if = "is_none")]
    pub also: u64,
    /// Whether the trace lost events of that time.
    pub lost: bool,
    /// Whether the trace covers the whole time on its CPU.
    pub covered: bool,
    /// How the task was woken, step by step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Step>,
    /// What took the time, in order of time; the pieces add up to the whole. Empty where there are too many to follow.
    pub slices: Vec<Piece>,
    /// The tasks that had its CPU, in order of time.
    #[serde(skip)]
    pub turns: Vec<Turn>,
    /// The time, ns, in which either another task had its CPU or the program's CPU quota held it back: no event shows which.
    #[serde(skip)]
    pub ran_or_held_ns: u64,
    /// The same by cause, the longest first; those beyond the longest ones are combined.
    pub causes: Vec<Piece>,
    /// The events around it: ns since its start, CPU, text.
    pub excerpt: Vec<(i64, u32, String)>,
    /// How many more events there were.
    pub omitted: u64,
    /// What each CPU did during that time.
    #[serde(skip)]
    pub lanes: Vec<Lane>,
}

/// Builds an explained window with these slices and nothing else.
#[cfg(any(test, feature = "sample"))]
pub fn explained(window: latido_trace::explain::Window, slices: Vec<latido_trace::explain::Slice>) -> Explained {
    Explained {
        window,
        name: None,
        slices,
        segments: Vec::new(),
        excerpt: Vec::new(),
        omitted: 0,
        chain: Chain::default(),
        awaited: Vec::new(),
        cpu: 0,
        faults: None,
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A step from the sleep to the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What happened.
    pub what: String,
    /// When it happened, ns since the start.
    pub since_ns: i64,
}

/// A piece of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// What took the time.
    pub cause: String,
    /// The length, ns.
    pub ns: u64,
    /// How it is drawn: `task`, `self`, `soft`, `hard`, `idle`, `off`, `lost`.
    #[serde(skip)]
    pub kind: &'static str,
}

/// What a CPU did during a late sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The CPU.
    pub cpu: u32,
    /// Its activities in order of time.
    pub stretches: Vec<Stretch>,
}

/// A time in which a CPU did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The start, ns since the start of the wait.
    pub from: i64,
    /// The end, ns since the start of the wait.
    pub to: i64,
    /// How it is drawn: `task`, `self`, `soft`, `hard`, `idle`, `lost`.
    pub kind: &'static str,
}

/// The most pieces of a wait that latido lists in order, and the most causes that it names.
const FOLLOWED: usize = 256;
const NAMED: usize = 12;

/// The least time that latido draws before and after, ns, and the most stretches per CPU.
const MARGIN: i64 = 20_000;
const DRAWN: usize = 400;

impl Worst {
    /// Describes an explained window; its end is `since_start_ns` after the start of the measurement or trace.
    pub fn of(class: Class, task: String, since_start_ns: u64, found: &Explained) -> Self {
        let window = found.window;
        let slices = found.slices.iter().map(|slice| Piece::of(&slice.cause, slice.ns()));
        let since = |time: u64| time.cast_signed().wrapping_sub(window.begin.cast_signed());
        let has = |cause: Cause| found.slices.iter().any(|slice| slice.cause == cause);
        Self {
            task,
            class: class.name(),
            ns: window.end.saturating_sub(window.begin),
            at_ns: window.begin,
            since_start_ns,
            cpu: found.cpu,
            missed: false,
            also: 0,
            lost: has(Cause::Lost),
            covered: !has(Cause::Untraced),
            chain: steps(&found.chain, since),
            slices: if found.slices.len() <= FOLLOWED { slices.collect() } else { Vec::new() },
            turns: turns::turns(&found.slices),
            ran_or_held_ns: {
                let either = found.slices.iter().filter(|slice| matches!(slice.cause, Cause::TaskOrQuota(_)));
                either.map(latido_trace::explain::Slice::ns).fold(0, u64::saturating_add)
            },
            causes: causes(found),
            excerpt: found.excerpt.iter().map(|line| (since(line.time), line.cpu, line.text.clone())).collect(),
            omitted: found.omitted,
            lanes: lanes(found, since),
        }
    }
}

impl Piece {
    /// Returns the piece with its share of the whole: `leaving idle 7.2 µs (61 %)`.
    pub fn text(&self, of: u64) -> String {
        let share = 100.0 * self.ns as f64 / of.max(1) as f64;
        format!("{} {} ({share:.0} %)", self.cause, words::value(self.ns as f64, "ns"))
    }

    fn of(cause: &Cause, ns: u64) -> Self {
        Self { cause: said(cause), ns, kind: kind(cause) }
    }
}

/// Returns the causes by name, with the rest combined into one.
fn causes(found: &Explained) -> Vec<Piece> {
    let all = found.causes();
    // A single remaining cause gets its name.
    let named = if all.len() == NAMED + 1 { all.len() } else { all.len().min(NAMED) };
    let (first, rest) = all.split_at(named);
    let mut named: Vec<Piece> = first.iter().map(|(cause, ns)| Piece::of(cause, *ns)).collect();
    if !rest.is_empty() {
        let ns = rest.iter().map(|(_, ns)| ns).sum();
        named.push(Piece { cause: format!("{} others", rest.len()), ns, kind: "task" });
    }
    named
}

/// Returns the steps from the sleep to the CPU.
fn steps(chain: &Chain, since: impl Fn(u64) -> i64) -> Vec<Step> {
    let interrupt = chain.interrupt.as_ref().map(|(time, name)| (format!("interrupt {name} begins"), *time));
    let step = |what: &str, time: Option<u64>| Some((what.to_owned(), time?));
    let all = [
        interrupt,
        step("its timer is handled", chain.timer),
        chain.by.as_ref().and_then(|by| Some((format!("{} gets the CPU", by.name), by.on_cpu?))),
        match &chain.by {
            Some(by) => step(&format!("{} wakes it", by.name), chain.waking),
            None => step("it is woken", chain.waking),
        },
        step("it gets the CPU", chain.on_cpu),
    ];
    all.into_iter().flatten().map(|(what, time)| Step { what, since_ns: since(time) }).collect()
}

/// Returns what the CPUs did, as finely as a drawing can show it; the CPU of the wait comes first.
fn lanes(found: &Explained, since: impl Fn(u64) -> i64) -> Vec<Lane> {
    let length = since(found.window.end);
    let margin = MARGIN.max(length / 20);
    let mut lanes: Vec<Lane> = Vec::new();
    // A shorter stretch would not be visible.
    let least = (length + 2 * margin) / DRAWN as i64;
    for segment in &found.segments {
        let (from, to) = (since(segment.begin).max(-margin), since(segment.end).min(length + margin));
        if to <= from {
            continue;
        }
        let kind = match segment.owner {
            Owner::Nmi
            | Owner::Above(latido_trace::events::Above::Vector(_) | latido_trace::events::Above::Line(_)) => "hard",
            Owner::Above(_) => "soft",
            Owner::Task(pid) if pid == found.window.pid => "self",
            Owner::Task(_) => "task",
            Owner::Idle => "idle",
            Owner::Lost | Owner::Unknown => "lost",
        };
        let at = lanes.iter().position(|lane| lane.cpu == segment.cpu).unwrap_or_else(|| {
            lanes.push(Lane { cpu: segment.cpu, stretches: Vec::new() });
            lanes.len() - 1
        });
        let Some(lane) = lanes.get_mut(at) else { continue };
        match lane.stretches.last_mut() {
            Some(last) if last.kind == kind || last.to - last.from < least && last.kind != "self" => {
                if to - from > last.to - last.from {
                    last.kind = kind;
                }
                last.to = to;
            }
            _ => lane.stretches.push(Stretch { from, to, kind }),
        }
    }
    lanes.sort_by_key(|lane| (lane.cpu != found.cpu, lane.cpu));
    lanes
}

#[cfg(test)]
mod tests;
