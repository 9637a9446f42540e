//! The reservations about a result: alarms in full, then only so many notes that the table stays visible.

use super::style::{Paint, Style, hang};
use latido_judge::{finding::Grade, judgement::Judgement};
use latido_model::{
    cpus::CpuSet,
    run::{Run, StoredCell},
};

/// The most lines for full notes; one more sentence names the others.
const LINES: usize = 2;

/// Checks whose notes come first: these are about measurements that differ from the request or are incomplete. The other checks follow in
/// the order of their table.
const FIRST: &[&str] =
    &["outcome", "unit", "period", "events", "stamps", "frozen trace", "load", "tunings", "policy", "memory"];

/// Returns the findings that make a result doubtful: they come before everything else.
pub(super) fn alarms(judgement: &Judgement, style: Style) -> Vec<String> {
    let alarm = |grade, label: &str| {
        let grouped = grouped(judgement, grade);
        grouped.into_iter().flat_map(move |(_, text)| hang(label, Paint::Bad, &text, style)).collect::<Vec<_>>()
    };
    let mut lines = alarm(Grade::Invalid, "INVALID:");
    lines.extend(alarm(Grade::Contaminated, "CONTAMINATED:"));
    lines
}

/// Returns the other trust checks and what was not available: in full while there is room, then by name.
pub(super) fn notes(run: &Run, judgement: &Judgement, style: Style) -> Vec<String> {
    let mut found = grouped(judgement, Grade::Note);
    found.sort_by_key(|(check, _)| FIRST.iter().position(|first| first == check).unwrap_or(FIRST.len()));
    let mut all: Vec<(&str, String, String)> =
        found.into_iter().map(|(check, text)| ("note:", check.to_string(), text)).collect();
    for skip in run.cells.iter().filter_map(StoredCell::record).flat_map(|record| &record.skipped) {
        let text = format!("{}: {}", skip.what, skip.why);
        if all.iter().all(|(_, _, other)| *other != text) {
            all.push(("skipped:", format!("{} (skipped)", skip.what), text));
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
        if finding.grade == Grade::Unknown && !unknown.contains(&finding.check.as_str()) {
            unknown.push(&finding.check);
        }
    }
    // By name if there is room, else by number.
    let (notes, gaps) = (also.join(", "), unknown.join(", "));
    let tries = [
        (format!("also {notes}"), format!("not measured: {gaps}")),
        (format!("also {notes}"), format!("{} not measured", unknown.len())),
        (format!("{} more", also.len()), format!("{} not measured", unknown.len())),
    ];
    let closing = tries.into_iter().map(|(notes, gaps)| {
        let parts = [(notes, also.is_empty()), (gaps, unknown.is_empty())];
        let told: Vec<String> = parts.into_iter().filter(|(_, empty)| !empty).map(|(text, _)| text).collect();
        hang("note:", Paint::Dim, &format!("{} (see `latido show --full`)", told.join("; ")), style)
    });
    if !also.is_empty() || !unknown.is_empty() {
        lines.extend(closing.min_by_key(|text| text.len().saturating_sub(LINES)).unwrap_or_default());
    }
    lines
}

/// Groups the findings of a severity: one text for each check, with the cells that it concerns.
fn grouped<'a>(judgement: &'a Judgement, grade: Grade) -> Vec<(&'a str, String)> {
    let mut groups: Vec<(&str, Vec<(usize, String)>)> = Vec::new();
    for cell in &judgement.cells {
        for finding in cell.findings.iter().filter(|finding| finding.grade == grade) {
            let entry = (cell.number, finding.sentence());
            match groups.iter_mut().find(|(check, _)| *check == finding.check) {
                Some((_, entries)) => entries.push(entry),
                None => groups.push((&finding.check, vec![entry])),
            }
        }
    }
    let measured = judgement.cells.iter().filter(|cell| !cell.findings.is_empty()).count();
    let text = |(check, entries): (&'a str, Vec<(usize, String)>)| {
        let ((first, text), others) = entries.split_first()?;
        let same = entries.iter().all(|(_, other)| other == text);
        let numbers = |entries: &[(usize, String)]| entries.iter().map(|(n, _)| *n as u32).collect::<CpuSet>();
        let whose = match entries.len() {
            all if same && all == measured => String::new(),
            1 => format!(" (cell {first})"),
            _ if same => format!(" (cells {})", numbers(&entries)),
            _ => format!(" (cell {first}; similar in {})", numbers(others)),
        };
        Some((check, format!("{text}{whose}")))
    };
    groups.into_iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::judging::of_run;
    use latido_model::sample::{Fixture, cell, quiet};

    /// The table stays visible, and a measurement that differs from the request is not among the notes that are only named.
    #[test]
    fn many_notes_take_few_lines_and_the_weightiest_come_first() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        let record = fixture.record(1);
        record.outcome = latido_model::record::Outcome::Interrupted;
        let quality = &mut record.quality;
        quality.steal_ns = Some(10_000_000);
        quality.threads[0].minor_faults = 3;
        quality.threads[0].involuntary_switches = 2;
        quality.throttle.rt_runtime_us = Some(950_000);
        quality.dma_latency_held = false;
        quality.housekeeping = None;
        (quality.smi, quality.frequency_khz, quality.temperature_mc) = (None, None, None);
        let judgement = of_run(&fixture.run, &fixture);
        let lines = notes(&fixture.run, &judgement, Style { width: 80, color: false });
        assert!(lines.len() <= 4, "{lines:#?}");
        insta::assert_snapshot!(lines.join("\n"), @r#"
        note: outcome: interrupted after 10.0 s
        note: steal: 10.0 ms of the measured CPUs' time stolen
        note: also page faults, preemptions, throttle settings, idle states,
              housekeeping; 4 not measured (see `latido show --full`)
        "#);
    }
}
