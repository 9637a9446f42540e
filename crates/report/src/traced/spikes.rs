//! Why the largest samples of a cell were late, from the trace that was recorded meanwhile.

use super::{Lost, Piece, Worst, causes::Causes};
use crate::{
    terminal::{Paint, Style, hang, paint, table},
    words,
};
use latido_trace::{
    events::Class,
    explain::{Explained, Window, explain},
    file::{Buffer, Trace},
};
use serde::Serialize;

/// A sample that is to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    /// `name-number` of the thread, or what is known of it.
    pub task: String,
    /// Its number in the kernel.
    pub tid: i32,
    /// The class that it was measured in.
    pub class: Class,
    /// The CPU that it was pinned to.
    pub cpu: u32,
    /// When it was taken, ns on the trace's clock.
    pub end: u64,
    /// How late it was, ns.
    pub ns: u64,
    /// Whether the thread slept before it, until a timer (or read the clock again and again).
    pub slept: bool,
}

/// The late samples of a cell, explained.
#[derive(Debug, Serialize)]
pub struct Spikes {
    /// The cell, in words.
    pub cell: String,
    /// By what the time was attributed: events alone, or also those that tell when interrupts and preemption are off.
    pub evidence: &'static str,
    /// The samples, the largest first.
    pub spikes: Vec<Worst>,
    /// What all of them were lost to, the most first.
    pub causes: Causes,
    /// What was lost of the trace.
    pub lost: Lost,
}

/// Explains the samples of a cell.
pub fn spikes(cell: String, trace: &Trace<'_>, buffer: &Buffer<'_>, late: &[Late]) -> Spikes {
    let window = |one: &Late| Window {
        begin: one.end.saturating_sub(one.ns),
        end: one.end,
        pid: one.tid,
        cpu: one.cpu,
        slept: one.slept,
    };
    let windows: Vec<Window> = late.iter().map(window).collect();
    let (explained, met) = explain(trace, buffer, &windows);
    let told = |one: &Late| {
        let found: &Explained = explained.iter().find(|found| found.window == window(one))?;
        Some(Worst::of(one.class, one.task.clone(), found))
    };
    let spikes: Vec<Worst> = late.iter().filter_map(told).collect();
    let causes = Causes::of(explained.iter());
    let preemptirq = trace.formats.iter().any(|described| described.system == "preemptirq");
    let evidence = if preemptirq { "events, with those of preemptirq" } else { "events only" };
    Spikes { cell, evidence, spikes, causes, lost: Lost::of(&met) }
}

impl Spikes {
    /// What a person is shown.
    pub fn text(&self, style: Style) -> String {
        let many = words::many(self.spikes.len() as u64, "late sample");
        let mut lines =
            vec![paint(&format!("{}: {many} explained, by {}", self.cell, self.evidence), Paint::Bold, style)];
        if self.lost.gaps > 0 {
            lines.extend(hang("  lost: ", Paint::Bad, &self.lost.sentence(), style));
        }
        lines.push(String::new());
        lines.extend(table::titled(&self.causes.sheet(), style));
        lines.push(String::new());
        lines.push(paint("Each, the largest first", Paint::Bold, style));
        lines.extend(self.spikes.iter().flat_map(|spike| spike.line(style)));
        lines.join("\n") + "\n"
    }
}

impl Worst {
    /// It in a line: how late, where, what it was lost to.
    pub fn line(&self, style: Style) -> Vec<String> {
        let head =
            format!("  {} on CPU {} of {} ({}): ", words::value(self.ns as f64, "ns"), self.cpu, self.task, self.class);
        let causes: Vec<String> = self.causes.iter().take(5).map(|piece: &Piece| piece.text(self.ns)).collect();
        hang(&head, Paint::Plain, &causes.join(", "), style)
    }
}
