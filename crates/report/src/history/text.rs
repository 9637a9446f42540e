//! Histories as a terminal draws them: a line for each run, a rule where the level changed, and what changed with it.

use super::{Histories, Series};
use crate::{
    numbers::{history::Outcome, number, p_text},
    terminal::{Paint, Style, hang, paint},
    words,
};
use latido_model::clean;
use latido_statistics::change::SEGMENT;

/// The most runs that are drawn: the newest.
const DRAWN: usize = 60;
/// With more series than this, those without a change are told in a line.
const WHOLE: usize = 4;

impl Histories {
    /// What a person is shown.
    pub fn text(&self, style: Style) -> String {
        let title = format!("{} over {}", self.metric, words::many(self.runs.len() as u64, "run"));
        let mut lines = vec![paint(&title, Paint::Bold, style)];
        for one in &self.despite {
            lines.extend(hang("not alike:", Paint::Warn, one, style));
        }
        for one in &self.left_out {
            lines.extend(hang("left out:", Paint::Warn, one, style));
        }
        for one in &self.series {
            lines.push(String::new());
            lines.push(paint(&one.title(), Paint::Plain, style));
            if one.decides && (self.series.len() <= WHOLE || !one.found.changes.is_empty()) {
                lines.extend(one.drawn(style));
            }
            lines.extend(one.changes(style));
        }
        lines.push(String::new());
        lines.extend(self.last_word(style));
        lines.join("\n") + "\n"
    }

    /// How far the search reaches.
    fn reach(&self) -> String {
        let last = self.runs.last().map_or("RUN", |run| run.as_str());
        format!(
            "; a change takes {SEGMENT} runs, and none of the newest {} stands out (to test {last} alone: --against last:10)",
            SEGMENT - 1
        )
    }

    fn last_word(&self, style: Style) -> Vec<String> {
        let deciding: Vec<&Series> = self.series.iter().filter(|one| one.decides).collect();
        let of = |outcome: Outcome| {
            let named = deciding.iter().filter(|one| one.outcome() == outcome).map(|one| one.name());
            named.collect::<Vec<_>>().join("; ")
        };
        let (label, tone, text) = match self.outcome {
            Outcome::Worse => {
                let drifts = deciding.iter().all(|one| one.outcome() != Outcome::Worse || one.found.drift.is_some());
                let what = if drifts { "values rise steadily" } else { "the newest change is one for the worse" };
                ("worse:", Paint::Bad, format!("{what}: {}", of(Outcome::Worse)))
            }
            Outcome::Undecided => ("undecided:", Paint::Warn, of(Outcome::Undecided)),
            Outcome::NotWorse if deciding.iter().all(|one| one.found.changes.is_empty()) => {
                ("not worse:", Paint::Good, format!("no change of level was found{}", self.reach()))
            }
            Outcome::NotWorse => {
                ("not worse:", Paint::Good, format!("the newest change is none for the worse{}", self.reach()))
            }
        };
        hang(label, tone, &text, style)
    }
}

impl Series {
    /// `wakeup latency, busy`.
    pub fn name(&self) -> String {
        let quantity = format!("{} {}", self.probe, self.quantity.replace('_', " "));
        let parts = [quantity, words::labels(&self.labels), self.place.clone()];
        let all = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
        clean::line(&all).into_owned()
    }

    fn title(&self) -> String {
        let repeats = || self.points.iter().map(|night| night.repeats);
        let of = match (repeats().min(), repeats().max()) {
            (Some(1), Some(1)) | (None, _) | (_, None) => String::new(),
            (Some(a), Some(b)) if a == b => format!(", each the middle of {a} repeats"),
            (Some(a), Some(b)) => format!(", each the middle of {a} to {b} repeats"),
        };
        format!("{}: {}{of}", self.name(), words::many(self.points.len() as u64, "value"))
    }

    /// A line for each run: its name, its value, and a mark where that lies between the smallest and the largest.
    fn drawn(&self, style: Style) -> Vec<String> {
        let earlier = self.points.len().saturating_sub(DRAWN);
        let shown = self.points.get(earlier..).unwrap_or_default();
        let extreme = |pick: fn(f64, f64) -> f64| self.points.iter().map(|one| one.value).reduce(pick).unwrap_or(0.0);
        let (low, high) = (extreme(f64::min), extreme(f64::max));
        let share = |value: f64| match high - low {
            span if span <= 0.0 => 0.0,
            // Ratios are what is looked for.
            _ if low > 0.0 => (value / low).ln() / (high / low).ln(),
            span => (value - low) / span,
        };
        let texts: Vec<String> = shown.iter().map(|one| self.measure.text(one.value)).collect();
        let width = |all: &mut dyn Iterator<Item = &str>| all.map(|text| text.chars().count()).max().unwrap_or(0);
        let name = width(&mut shown.iter().map(|one| one.run.as_str()));
        let value = width(&mut texts.iter().map(String::as_str));
        let room = style.width.saturating_sub(name + value + 6).clamp(8, 60);
        let mut lines = Vec::new();
        if earlier > 0 {
            lines.push(paint(&format!("  {} earlier", words::many(earlier as u64, "run")), Paint::Dim, style));
        }
        for (at, (one, text)) in shown.iter().zip(&texts).enumerate() {
            if self.found.changes.iter().any(|change| change.index == at + earlier) {
                lines.push(paint(&format!("  {}", "-".repeat(name + value + room + 3)), Paint::Warn, style));
            }
            let place = (share(one.value) * (room - 1) as f64).round() as usize;
            let run = paint(&format!("{:<name$}", one.run), Paint::Dim, style);
            lines.push(format!("  {run}  {text:>value$} |{}*", " ".repeat(place.min(room - 1))));
        }
        lines
    }

    fn changes(&self, style: Style) -> Vec<String> {
        let mut lines = Vec::new();
        for (change, differences) in self.found.changes.iter().zip(&self.differences) {
            let by = match change.ratio {
                Some(ratio) => format!("{} times as much", number(ratio)),
                None if change.difference < 0.0 => format!("{} less", self.measure.text(-change.difference)),
                None => format!("{} more", self.measure.text(change.difference)),
            };
            let text =
                format!("between {} and {}: {by} from then on (p {})", change.after, change.before, p_text(change.p));
            let tone = if change.difference > 0.0 { Paint::Bad } else { Paint::Good };
            lines.extend(hang("change:", tone, &text, style));
            let told = |one: &crate::observed::differences::Difference| {
                let value = |at: usize| one.values.get(at).filter(|value| !value.is_empty()).map_or("unknown", |v| v);
                format!("{} from {} to {}", one.what, value(0), value(1))
            };
            let text = match differences.is_empty() {
                true => "nothing of what is recorded".into(),
                false => differences.iter().map(told).collect::<Vec<_>>().join("; "),
            };
            lines.extend(hang("  differs there:", Paint::Dim, &text, style));
        }
        if self.decides && self.found.changes.is_empty() {
            let drift = || self.found.drifts("run", |value| self.measure.text(value));
            let text = self.found.refused.clone().or_else(drift);
            let text = text.unwrap_or_else(|| "no change of level was found".into());
            lines.extend(hang("  ", Paint::Dim, &text, style));
        }
        if self.decides && !self.found.changes.is_empty() {
            let drift = self.found.drifts("run", |value| self.measure.text(value));
            lines.extend(drift.iter().flat_map(|text| hang("drift:", Paint::Warn, text, style)));
        }
        if let Some(text) = self.found.doubt().filter(|_| self.decides) {
            lines.extend(hang("note:", Paint::Dim, &text, style));
        }
        if self.decides && self.found.refused.is_none() && self.found.outcome == Outcome::Undecided {
            lines.extend(hang("undecided:", Paint::Warn, &self.found.newest_stand_out("run"), style));
        }
        if self.decides && self.found.outcome != self.outcome() {
            let p = self.p_holm.map(p_text).unwrap_or_default();
            let text = format!("among all series that decide the newest change may be chance (p {p} after Holm)");
            lines.extend(hang("undecided:", Paint::Warn, &text, style));
        }
        lines
    }
}
