//! The causes of late samples, for a terminal.

use super::{Paint, Style, hang, paint, table};
use crate::{tables::causes, words};
use latido_judge::late::{Causes, Spikes, Worst};

/// The number of late samples at the end of a run; [`CAUSES`] is the number of causes of each.
const FIRST: usize = 5;
const CAUSES: usize = 5;
/// The number of causes of all late samples together that the end of a run lists.
const LARGEST: usize = 8;

/// Returns all late samples of a cell.
pub fn text(spikes: &Spikes, style: Style) -> String {
    let mut lines = head(spikes, None, style);
    if !spikes.spikes.is_empty() {
        lines.push(String::new());
        lines.push(paint("Each sample, the largest first", Paint::Bold, style));
        lines.extend(spikes.spikes.iter().flat_map(|one| late(one, style)));
    }
    lines.join("\n") + "\n"
}

/// Returns the causes and the first late samples, for the end of a run.
pub(super) fn brief(spikes: &Spikes, style: Style) -> Vec<String> {
    let mut lines = head(spikes, Some(LARGEST), style);
    if !spikes.spikes.is_empty() {
        lines.push(String::new());
        let title = if spikes.spikes.len() > FIRST { "The largest" } else { "Each" };
        lines.push(paint(title, Paint::Bold, style));
        lines.extend(spikes.spikes.iter().take(FIRST).flat_map(|one| late(one, style)));
    }
    lines
}

/// Returns the cell, its notes, and the causes: the `most` largest ones, or all.
fn head(spikes: &Spikes, most: Option<usize>, style: Style) -> Vec<String> {
    let many = words::many(spikes.spikes.len() as u64, "late sample");
    let title = format!("{}: {many} explained, by {}", spikes.cell, spikes.evidence);
    let mut lines = vec![paint(&title, Paint::Bold, style)];
    lines.extend(spikes.jobs.iter().flat_map(|text| hang("  -", Paint::Plain, text, style)));
    lines.extend(spikes.notes().iter().flat_map(|note| hang("  note:", Paint::Warn, &format!(" {note}"), style)));
    if !spikes.causes.0.is_empty() {
        lines.push(String::new());
        let all = &spikes.causes.0;
        // One more cause takes no more room than the line that counts the rest.
        let shown = most.filter(|most| all.len() > most.saturating_add(1)).unwrap_or(all.len());
        let (largest, rest) = all.split_at(shown);
        lines.extend(table::titled(&causes::sheet(&Causes(largest.to_vec())), style));
        if !rest.is_empty() {
            let share: f64 = rest.iter().map(|row| 100.0 * row.share).sum();
            let text =
                format!("  {} smaller causes: {share:.1} % of the time; `latido trace explain` prints all", rest.len());
            lines.push(paint(&text, Paint::Dim, style));
        }
    }
    lines
}

/// Returns how late a sample was, when and where, and below it the causes of the delay.
pub(crate) fn late(one: &Worst, style: Style) -> Vec<String> {
    let at = words::value(one.since_start_ns as f64, "ns");
    let late = words::value(one.ns as f64, "ns");
    let missed = if one.missed { "missed, " } else { "" };
    let also = match one.also {
        0 => String::new(),
        more => format!(", and with it {}", words::many(more, "more period")),
    };
    let head = format!("  {missed}{late} at {at} on CPU {}, {} ({}){also}", one.cpu, one.task, one.class);
    let mut causes: Vec<String> = one.causes.iter().take(CAUSES).map(|piece| piece.text(one.ns)).collect();
    if let Some(more) = one.causes.len().checked_sub(CAUSES).filter(|more| *more > 0) {
        causes.push(words::many(more as u64, "smaller one"));
    }
    let lost = if one.lost { "; events of that time were lost" } else { "" };
    let mut lines = vec![head];
    lines.extend(hang("     ", Paint::Plain, &format!(" {}{lost}", causes.join(", ")), style));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::late::{Asked, explained};
    use latido_trace::{
        events::Class,
        explain::{Begins, Cause, Slice, Window},
    };

    /// Returns one late sample with this number of causes, each shorter than the one before.
    fn of_causes(many: u64) -> Spikes {
        let slice = |at: u64| {
            let begin = at * 1_000_000;
            Slice { begin, end: begin + (many - at) * 1_000, cause: Cause::Soft(format!("s{at}")) }
        };
        let window = Window { begin: 0, end: many * 1_000_000, pid: 1, cpu: 0, begins: Begins::Asleep };
        let found = explained(window, (0..many).map(slice).collect());
        Spikes {
            cell: "cell 1, wakeup".into(),
            evidence: "events only",
            asked: Asked { worst: 1, limit_ns: None, above_limit: None, most: 9 },
            jobs: Vec::new(),
            causes: Causes::of(std::iter::once(&found)),
            spikes: vec![Worst::of(Class::RealTime, "a-1".into(), 0, &found)],
            lost_events: 0,
            cut: None,
        }
    }

    /// The end of a run lists eight causes, or nine if there are exactly nine, because a line for the rest would save nothing. `latido
    /// trace explain` lists all.
    #[test]
    fn the_end_of_a_run_lists_the_largest_causes_and_the_command_lists_all() {
        let style = Style { width: 100, color: false };
        for (many, listed, rest) in [(8, 8, None), (9, 9, None), (10, 8, Some("  2 smaller causes: 5.5 % of the time"))]
        {
            let spikes = of_causes(many);
            let rows = |text: &str| text.lines().filter(|line| line.starts_with("soft interrupt s")).count() as u64;
            let text = text(&spikes, style);
            assert_eq!((rows(&text), text.contains("smaller causes")), (many, false), "{text}");
            let brief = brief(&spikes, style).join("\n");
            assert_eq!(rows(&brief), listed, "{brief}");
            assert_eq!(brief.contains("smaller causes"), rest.is_some(), "{brief}");
            assert!(rest.is_none_or(|rest| brief.contains(rest)), "{brief}");
        }
    }
}
