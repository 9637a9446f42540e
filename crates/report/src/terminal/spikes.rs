//! Why samples were late, as a terminal shows it.

use super::{Paint, Style, hang, paint, table};
use crate::{
    late::{Spikes, Worst},
    tables::causes,
    words,
};

/// So many are told at the end of a run, and so many causes of each.
const FIRST: usize = 5;
const CAUSES: usize = 5;

impl Spikes {
    /// All of it.
    pub fn text(&self, style: Style) -> String {
        let mut lines = self.head(style);
        if !self.spikes.is_empty() {
            lines.push(String::new());
            lines.push(paint("Each, the largest first", Paint::Bold, style));
            lines.extend(self.spikes.iter().flat_map(|spike| spike.line(style)));
        }
        lines.join("\n") + "\n"
    }

    /// The causes and the first few, for the end of a run.
    pub fn brief(&self, style: Style) -> Vec<String> {
        let mut lines = self.head(style);
        if !self.spikes.is_empty() {
            lines.push(String::new());
            let title = if self.spikes.len() > FIRST { "The largest" } else { "Each" };
            lines.push(paint(title, Paint::Bold, style));
            lines.extend(self.spikes.iter().take(FIRST).flat_map(|spike| spike.line(style)));
        }
        lines
    }

    fn head(&self, style: Style) -> Vec<String> {
        let many = words::many(self.spikes.len() as u64, "late sample");
        let title = format!("{}: {many} explained, by {}", self.cell, self.evidence);
        let mut lines = vec![paint(&title, Paint::Bold, style)];
        lines.extend(self.jobs.iter().flat_map(|text| hang("  -", Paint::Plain, text, style)));
        lines.extend(self.notes().iter().flat_map(|note| hang("  note:", Paint::Warn, &format!(" {note}"), style)));
        if !self.causes.0.is_empty() {
            lines.push(String::new());
            lines.extend(table::titled(&causes::sheet(&self.causes), style));
        }
        lines
    }
}

impl Worst {
    /// How late, when, where; below it what it was lost to.
    pub fn line(&self, style: Style) -> Vec<String> {
        let at = words::value(self.since_start_ns as f64, "ns");
        let late = words::value(self.ns as f64, "ns");
        let missed = if self.missed { "missed, " } else { "" };
        let also = match self.also {
            0 => String::new(),
            more => format!(", and with it {}", words::many(more, "more period")),
        };
        let head = format!("  {missed}{late} at {at} on CPU {}, {} ({}){also}", self.cpu, self.task, self.class);
        let mut causes: Vec<String> = self.causes.iter().take(CAUSES).map(|piece| piece.text(self.ns)).collect();
        if let Some(more) = self.causes.len().checked_sub(CAUSES).filter(|more| *more > 0) {
            causes.push(words::many(more as u64, "smaller one"));
        }
        let lost = if self.lost { "; events of that time were lost" } else { "" };
        let mut lines = vec![head];
        lines.extend(hang("     ", Paint::Plain, &format!(" {}{lost}", causes.join(", ")), style));
        lines
    }
}
