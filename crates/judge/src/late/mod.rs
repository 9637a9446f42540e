//! Late samples and long waits, with what each was lost to: the data of tables, texts and pages.

mod causes;
mod jobs;
mod spikes;
mod told;

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
use std::collections::BTreeMap;
pub use told::{in_short, kind, said};

/// A late sample or a long wait.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// `name-number` of the task.
    pub task: String,
    /// Its class.
    pub class: &'static str,
    /// How long it waited, ns.
    pub ns: u64,
    /// From when, ns on the trace's clock.
    pub at_ns: u64,
    /// When it was over, ns since the first slot of the measurement or the first event of the trace.
    pub since_start_ns: u64,
    /// Where it came.
    pub cpu: u32,
    /// Whether it is a period of a program in which that began no job.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missed: bool,
    /// How many other periods that were missed or late began in its time, and are explained with it.
    #[serde(skip_serializing_if = "is_none")]
    pub also: u64,
    /// Whether events of that time were lost.
    pub lost: bool,
    /// Whether all of that time was recorded on its CPU.
    pub covered: bool,
    /// How it was woken, step by step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Step>,
    /// What it was lost to, in order of time; the pieces add up to it. Empty where there are more than can be followed.
    pub slices: Vec<Piece>,
    /// Which tasks had its CPU, `name-number`, and how long each, ns.
    #[serde(skip)]
    pub ran: Vec<(String, u64)>,
    /// How long another task had its CPU or the program's CPU quota kept it from that, ns: no event tells which.
    #[serde(skip)]
    pub ran_or_held_ns: u64,
    /// The same by cause, the longest first; those beyond the longest ones are one.
    pub causes: Vec<Piece>,
    /// The events around it: ns since its begin, CPU, text.
    pub excerpt: Vec<(i64, u32, String)>,
    /// How many events there were besides.
    pub omitted: u64,
    /// What each CPU did meanwhile.
    #[serde(skip)]
    pub lanes: Vec<Lane>,
}

/// A window with these slices, of which nothing else is known.
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

/// A step of the way back from a sleep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What happened.
    pub what: String,
    /// When, ns since the begin.
    pub since_ns: i64,
}

/// A piece of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// What it was lost to.
    pub cause: String,
    /// How long, ns.
    pub ns: u64,
    /// How it is drawn: `task`, `soft`, `hard`, `idle`, `off`, `lost`.
    #[serde(skip)]
    pub kind: &'static str,
}

/// What a CPU did while something was late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The CPU.
    pub cpu: u32,
    /// In order of time.
    pub stretches: Vec<Stretch>,
}

/// A time in which a CPU did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// From then, ns since the begin.
    pub from: i64,
    /// To then.
    pub to: i64,
    /// How it is drawn: `task`, `self`, `soft`, `hard`, `idle`, `lost`.
    pub kind: &'static str,
}

/// So many pieces of a wait are told one after the other, and so many causes by name.
const FOLLOWED: usize = 256;
const NAMED: usize = 12;

/// So much is drawn before and after, ns at least, and of so many stretches of a CPU.
const MARGIN: i64 = 20_000;
const DRAWN: usize = 400;

impl Worst {
    /// An explained window; its end is so long after the start of the measurement or trace.
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
            ran: ran(found),
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
    /// It with its share of the whole: `leaving idle 7.2 µs (61 %)`.
    pub fn text(&self, of: u64) -> String {
        let share = 100.0 * self.ns as f64 / of.max(1) as f64;
        format!("{} {} ({share:.0} %)", self.cause, words::value(self.ns as f64, "ns"))
    }

    fn of(cause: &Cause, ns: u64) -> Self {
        Self { cause: said(cause), ns, kind: kind(cause) }
    }
}

/// The tasks that had the CPU.
fn ran(found: &Explained) -> Vec<(String, u64)> {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for slice in &found.slices {
        if let Cause::Task(name, _) = &slice.cause {
            *all.entry(name).or_default() += slice.ns();
        }
    }
    all.into_iter().map(|(name, ns)| (name.to_owned(), ns)).collect()
}

/// The causes by name, the rest of them as one.
fn causes(found: &Explained) -> Vec<Piece> {
    let all = found.causes();
    // One that is left alone is named.
    let named = if all.len() == NAMED + 1 { all.len() } else { all.len().min(NAMED) };
    let (first, rest) = all.split_at(named);
    let mut named: Vec<Piece> = first.iter().map(|(cause, ns)| Piece::of(cause, *ns)).collect();
    if !rest.is_empty() {
        let ns = rest.iter().map(|(_, ns)| ns).sum();
        named.push(Piece { cause: format!("{} others", rest.len()), ns, kind: "task" });
    }
    named
}

/// The way back from a sleep.
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

/// What the CPUs did, as finely as can be drawn: its own first.
fn lanes(found: &Explained, since: impl Fn(u64) -> i64) -> Vec<Lane> {
    let length = since(found.window.end);
    let margin = MARGIN.max(length / 20);
    let mut lanes: Vec<Lane> = Vec::new();
    // Less than this is not seen.
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
