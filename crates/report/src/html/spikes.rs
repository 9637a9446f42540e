//! Late samples and long waits on a page: a stacked bar for each, their causes, and for the first ones a small timeline with the events
//! around it.

use super::parts::SheetView;
use crate::{
    figures::{incidents, lanes},
    tables::causes,
    words,
};
use askama::Template;
use latido_judge::late::{OfCell, Piece, Spikes, Worst};

/// The number of late samples whose timeline and events are on the page; [`BARS`] is the number of bars. The causes include all late
/// samples.
const DETAILED: usize = 40;
const BARS: usize = 100;

/// The CSS rules that both kinds of pages need.
pub const STYLE: &str = include_str!("../../templates/spike.css");

/// A cell with a request to explain its late samples.
pub struct SpikesView {
    pub index: usize,
    pub title: String,
    /// The reason why there is nothing.
    pub missing: String,
    pub about: String,
    pub notes: Vec<String>,
    /// The time and the cause of each.
    pub incidents: String,
    pub causes: Option<SheetView>,
    pub bars: Vec<BarView>,
    pub more: usize,
    pub worst: Vec<WorstView>,
}

/// A sample as a bar whose length is its lateness.
pub struct BarView {
    pub took: String,
    pub place: String,
    /// Its length in percent of the longest.
    pub width: String,
    /// Its slices in order: class, percentage, title.
    pub parts: Vec<(&'static str, String, String)>,
    pub told: String,
}

/// A late sample or a long wait in detail.
pub struct WorstView {
    pub took: String,
    pub heading: String,
    pub lost: bool,
    pub parts: Vec<(&'static str, String, String)>,
    pub told: String,
    pub chain: String,
    pub lanes: String,
    pub excerpt: Vec<String>,
    pub omitted: u64,
    pub all: String,
}

/// The picture of a late sample, with the events around it.
#[derive(Template)]
#[template(path = "parts.html", block = "spike")]
pub struct Spike<'a> {
    w: &'a WorstView,
}

impl WorstView {
    /// Returns its picture, with the events around it.
    pub fn figure(&self) -> Spike<'_> {
        Spike { w: self }
    }
}

/// Returns all cells with a request for explanations.
pub fn all(explained: &[&OfCell]) -> Vec<SpikesView> {
    explained.iter().enumerate().map(|(index, one)| SpikesView::of(index, one)).collect()
}

impl SpikesView {
    fn of(index: usize, one: &OfCell) -> Self {
        match &one.found {
            Ok(spikes) => Self::found(index, spikes),
            Err(why) => Self {
                index,
                title: format!("cell {}", one.number),
                missing: format!("This cell {why}."),
                about: String::new(),
                notes: Vec::new(),
                incidents: String::new(),
                causes: None,
                bars: Vec::new(),
                more: 0,
                worst: Vec::new(),
            },
        }
    }

    fn found(index: usize, found: &Spikes) -> Self {
        let longest = found.spikes.first().map_or(1, |spike| spike.ns).max(1);
        let limit = found.asked.limit_ns.map(|ns| format!(" and all above {}", words::value(ns as f64, "ns")));
        Self {
            index,
            title: found.cell.clone(),
            missing: String::new(),
            about: format!(
                "{} explained: the {} largest{}. Evidence: {}.",
                words::many(found.spikes.len() as u64, "sample"),
                words::count(u64::from(found.asked.worst)),
                limit.unwrap_or_default(),
                found.evidence
            ),
            notes: found.jobs.iter().cloned().chain(found.notes()).collect(),
            incidents: incidents::svg(found),
            causes: (!found.causes.0.is_empty()).then(|| SheetView::of(&causes::sheet(&found.causes))),
            bars: found.spikes.iter().take(BARS).map(|spike| BarView::of(spike, longest)).collect(),
            more: found.spikes.len().saturating_sub(BARS),
            worst: found.spikes.iter().take(DETAILED).map(WorstView::of).collect(),
        }
    }
}

impl BarView {
    fn of(worst: &Worst, longest: u64) -> Self {
        Self {
            took: value(worst.ns),
            place: place(worst),
            width: format!("{:.2}", 100.0 * worst.ns as f64 / longest as f64),
            parts: parts(worst),
            told: told(worst),
        }
    }
}

impl WorstView {
    pub fn of(worst: &Worst) -> Self {
        let line =
            |(since, cpu, text): &(i64, u32, String)| format!("{:>+12.3} µs  CPU {cpu:<3} {text}", *since as f64 / 1e3);
        let step = |step: &latido_judge::late::Step| {
            let sign = if step.since_ns < 0 { "−" } else { "+" };
            format!("{sign}{} {}", value(step.since_ns.unsigned_abs()), step.what)
        };
        Self {
            took: value(worst.ns),
            heading: format!("{} ({}), {}", worst.task, worst.class, place(worst)),
            lost: worst.lost,
            parts: parts(worst),
            told: told(worst),
            chain: worst.chain.iter().map(step).collect::<Vec<_>>().join(" → "),
            lanes: lanes::svg(worst),
            excerpt: worst.excerpt.iter().map(line).collect(),
            omitted: worst.omitted,
            all: words::count(worst.excerpt.len() as u64 + worst.omitted),
        }
    }
}

fn value(ns: u64) -> String {
    words::value(ns as f64, "ns")
}

fn place(worst: &Worst) -> String {
    format!("at {} on CPU {}", value(worst.since_start_ns), worst.cpu)
}

/// Returns the pieces of a bar: its slices in order, or its causes where the slices were too many to record.
fn parts(worst: &Worst) -> Vec<(&'static str, String, String)> {
    let share = |ns: u64| 100.0 * ns as f64 / worst.ns.max(1) as f64;
    let drawn = if worst.slices.is_empty() { &worst.causes } else { &worst.slices };
    let part = |piece: &Piece| {
        (piece.kind, format!("{:.2}", share(piece.ns)), format!("{}: {}", piece.cause, value(piece.ns)))
    };
    drawn.iter().map(part).collect()
}

fn told(worst: &Worst) -> String {
    worst.causes.iter().map(|piece| piece.text(worst.ns)).collect::<Vec<_>>().join(", ")
}
