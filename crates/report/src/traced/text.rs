//! A trace for a terminal.

use super::{Analysis, Told};
use crate::{
    terminal::{Paint, Style, hang, paint, spikes, table},
    words,
};

/// The most kinds of events; [`LINES`] is the most lines of an excerpt.
const KINDS: usize = 8;
const LINES: usize = 12;

impl Analysis {
    /// Returns the text for people.
    pub fn text(&self, style: Style) -> String {
        let mut lines = vec![paint(&self.title(), Paint::Bold, style)];
        lines.extend(self.head(style));
        for sheet in self.sheets(false) {
            lines.push(String::new());
            lines.extend(table::titled(&sheet, style));
        }
        if !self.worst.is_empty() {
            lines.push(String::new());
            lines.push(paint("The longest waits after a wake-up of each class, and their causes", Paint::Bold, style));
            lines.extend(self.worst.iter().flat_map(|worst| spikes::late(worst, style)));
            lines.extend(self.excerpt(style));
        }
        lines.join("\n") + "\n"
    }

    fn title(&self) -> String {
        let what = if self.version.is_some() { "buffer " } else { "" };
        let buffer = if self.buffer.is_empty() { String::new() } else { format!(", {what}{}", self.buffer) };
        if self.events == 0 {
            return format!("{}{buffer}", self.source);
        }
        format!(
            "{}{buffer}: {} in {}",
            self.source,
            words::many(self.events, "event"),
            words::value(self.length_ns as f64, "ns")
        )
    }

    fn head(&self, style: Style) -> Vec<String> {
        let mut lines = Vec::new();
        let clock = self.clock.as_deref().unwrap_or("not named");
        let form = match (self.version, &self.told) {
            (Some(version), _) => {
                let packed = self.packed.map(|packed| format!(", packed by {packed}")).unwrap_or_default();
                let recorder = self.recorder.as_deref().map(|name| format!(", by {name}")).unwrap_or_default();
                format!("version {version}, clock {clock}{packed}{recorder}")
            }
            (None, Some(told)) if !told.tracers.is_empty() => {
                let online = told.online.map(|cpus| format!(", {}", words::many(u64::from(cpus), "CPU")));
                format!("text of {}{}", told.tracers.join(", "), online.unwrap_or_default())
            }
            (None, _) => "text of a tracer".into(),
        };
        lines.extend(hang("  file:  ", Paint::Dim, &form, style));
        lines.extend(self.system.iter().flat_map(|system| hang("  system:", Paint::Dim, &format!(" {system}"), style)));
        let shown = self.kinds.iter().take(KINDS).map(|(name, count)| format!("{name} {}", words::count(*count)));
        let more = self.kinds.len().saturating_sub(KINDS);
        let more = (more > 0).then(|| words::many(more as u64, "more kind"));
        let kinds = shown.chain(more).collect::<Vec<_>>().join(", ");
        if !kinds.is_empty() {
            lines.extend(hang("  events:", Paint::Dim, &format!(" {kinds}"), style));
        }
        lines.extend(hang("  lost:  ", Paint::Dim, &format!(" {}", self.lost.sentence()), style));
        let notes = self.told.iter().flat_map(Told::notes);
        lines.extend(notes.flat_map(|note| hang("  note:  ", Paint::Warn, &format!(" {note}"), style)));
        lines.extend(self.unread.iter().flat_map(|bad| hang("  unread:", Paint::Bad, &format!(" {bad}"), style)));
        lines
    }

    /// Returns the events around the longest wait of all.
    fn excerpt(&self, style: Style) -> Vec<String> {
        let Some(worst) = self.worst.iter().max_by_key(|worst| worst.ns) else { return Vec::new() };
        let mut lines = vec![
            String::new(),
            paint(&format!("Events around the longest wait, of {}", worst.task), Paint::Bold, style),
        ];
        let shown = worst.excerpt.len().min(LINES);
        // The start and the end are more informative than the middle.
        let (first, last) = worst.excerpt.split_at(shown / 2);
        let last = last.get(last.len().saturating_sub(shown - shown / 2)..).unwrap_or_default();
        let between = (worst.excerpt.len() - first.len() - last.len()) as u64 + worst.omitted;
        let line = |(since, cpu, text): &(i64, u32, String)| {
            let since = format!("{:+.3}", *since as f64 / 1e3);
            hang(&format!("  {since:>12} µs  CPU {cpu:<3}"), Paint::Dim, text, style)
        };
        lines.extend(first.iter().flat_map(line));
        if between > 0 {
            lines.push(paint(&format!("  … {} between", words::many(between, "event")), Paint::Dim, style));
        }
        lines.extend(last.iter().flat_map(line));
        lines
    }
}
