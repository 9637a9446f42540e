//! Why samples were late, as a terminal shows it.

use super::{Paint, Style, hang, paint, table};
use crate::{tables::causes, words};
use latido_judge::late::{Causes, Spikes, Worst};

/// So many are told at the end of a run, and so many causes of each.
const FIRST: usize = 5;
const CAUSES: usize = 5;
/// So many causes of all of them are told there.
const LARGEST: usize = 8;

/// All late samples of a cell.
pub fn text(spikes: &Spikes, style: Style) -> String {
    let mut lines = head(spikes, usize::MAX, style);
    if !spikes.spikes.is_empty() {
        lines.push(String::new());
        lines.push(paint("Each, the largest first", Paint::Bold, style));
        lines.extend(spikes.spikes.iter().flat_map(|one| late(one, style)));
    }
    lines.join("\n") + "\n"
}

/// The causes and the first few, for the end of a run.
pub(super) fn brief(spikes: &Spikes, style: Style) -> Vec<String> {
    let mut lines = head(spikes, LARGEST, style);
    if !spikes.spikes.is_empty() {
        lines.push(String::new());
        let title = if spikes.spikes.len() > FIRST { "The largest" } else { "Each" };
        lines.push(paint(title, Paint::Bold, style));
        lines.extend(spikes.spikes.iter().take(FIRST).flat_map(|one| late(one, style)));
    }
    lines
}

/// What cell it is of, what must be known of it, and so many of the causes.
fn head(spikes: &Spikes, most: usize, style: Style) -> Vec<String> {
    let many = words::many(spikes.spikes.len() as u64, "late sample");
    let title = format!("{}: {many} explained, by {}", spikes.cell, spikes.evidence);
    let mut lines = vec![paint(&title, Paint::Bold, style)];
    lines.extend(spikes.jobs.iter().flat_map(|text| hang("  -", Paint::Plain, text, style)));
    lines.extend(spikes.notes().iter().flat_map(|note| hang("  note:", Paint::Warn, &format!(" {note}"), style)));
    if !spikes.causes.0.is_empty() {
        lines.push(String::new());
        let all = &spikes.causes.0;
        // One line of a rest says no less than the one cause that it would be of.
        let shown = if all.len() <= most + 1 { all.len() } else { most };
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

/// How late something was, when, where; below it what its time was lost to.
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
