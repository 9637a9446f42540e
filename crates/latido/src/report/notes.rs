//! What to doubt in a result: alarms in full, then the notes, so few that they do not hide the table.

use super::terminal::{Paint, Style, hang};
use crate::{
    analyze::{trust::Level, verdict::Judgement},
    cpus::CpuSet,
    store::{Run, StoredCell},
};

/// Lines for notes in full; what does not fit is named in one sentence more.
const LINES: usize = 2;

/// Checks whose notes come first: what was measured is not what was asked for. The others follow as in their table.
const FIRST: &[&str] = &["outcome", "load", "tunings", "policy", "memory"];

/// The findings that make a result doubtful: they come before everything else.
pub(super) fn alarms(judgement: &Judgement, style: Style) -> Vec<String> {
    let alarm = |level, label: &str| {
        let grouped = grouped(judgement, level);
        grouped.into_iter().flat_map(move |(_, text)| hang(label, Paint::Bad, &text, style)).collect::<Vec<_>>()
    };
    let mut lines = alarm(Level::Invalid, "INVALID:");
    lines.extend(alarm(Level::Contaminated, "CONTAMINATED:"));
    lines
}

/// The rest of the trust checks and what could not be had: in full as far as it fits, then by name.
pub(super) fn notes(run: &Run, judgement: &Judgement, style: Style) -> Vec<String> {
    let mut found = grouped(judgement, Level::Note);
    found.sort_by_key(|(check, _)| FIRST.iter().position(|first| first == check).unwrap_or(FIRST.len()));
    let mut all: Vec<(&str, &str, String)> = found.into_iter().map(|(check, text)| ("note:", check, text)).collect();
    for skip in run.cells.iter().filter_map(StoredCell::record).flat_map(|record| &record.skipped) {
        let text = format!("{}: {}", skip.what, skip.why);
        if all.iter().all(|(_, _, other)| *other != text) {
            all.push(("skipped:", &skip.what, text));
        }
    }
    let (mut lines, mut also) = (Vec::new(), Vec::new());
    for (label, name, text) in all {
        let note = hang(label, Paint::Warn, &text, style);
        if lines.len() + note.len() <= LINES {
            lines.extend(note);
        } else {
            also.push(name);
        }
    }
    let mut unknown: Vec<&str> = Vec::new();
    for finding in judgement.cells.iter().flat_map(|cell| &cell.findings) {
        if finding.level == Level::Unknown && !unknown.contains(&finding.check.as_str()) {
            unknown.push(&finding.check);
        }
    }
    let named = |what: &str, names: &[&str]| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let more: Vec<String> = [named("also", &also), named("not measured:", &unknown)].into_iter().flatten().collect();
    if !more.is_empty() {
        let text = format!("{} (see `latido show`)", more.join("; "));
        lines.extend(hang("note:", Paint::Dim, &text, style));
    }
    lines
}

/// Findings of a level: one text for each check, with the cells that it concerns.
fn grouped<'a>(judgement: &'a Judgement, level: Level) -> Vec<(&'a str, String)> {
    let mut groups: Vec<(&str, Vec<(usize, &str)>)> = Vec::new();
    for cell in &judgement.cells {
        for finding in cell.findings.iter().filter(|finding| finding.level == level) {
            let entry = (cell.number, finding.text.as_str());
            match groups.iter_mut().find(|(check, _)| *check == finding.check) {
                Some((_, entries)) => entries.push(entry),
                None => groups.push((&finding.check, vec![entry])),
            }
        }
    }
    let measured = judgement.cells.iter().filter(|cell| !cell.findings.is_empty()).count();
    let text = |(check, entries): (&'a str, Vec<(usize, &'a str)>)| {
        let (first, text) = entries[0];
        let same = entries.iter().all(|(_, other)| *other == text);
        let numbers = |entries: &[(usize, &str)]| entries.iter().map(|(n, _)| *n as u32).collect::<CpuSet>();
        let whose = match entries.len() {
            all if same && all == measured => String::new(),
            1 => format!(" (cell {first})"),
            _ if same => format!(" (cells {})", numbers(&entries)),
            _ => format!(" (cell {first}; similar in {})", numbers(&entries[1..])),
        };
        (check, format!("{check}: {text}{whose}"))
    };
    groups.into_iter().map(text).collect()
}
