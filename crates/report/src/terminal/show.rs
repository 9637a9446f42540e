//! `latido show`: everything about a stored run, as text.

use super::{
    Beside, declared_tables, result,
    style::{Paint, Style, hang, paint},
    summary, table, tail,
};
use crate::{
    input::Declared,
    tables,
    tree::{declared::Lookup, sections},
    words,
};
use latido_judge::{
    configuration::Configurations,
    judgement::{CellJudgement, Judgement},
    reason::Reason,
    title::Titles,
    trust::load_course,
};
use latido_model::{
    quantity::Measurand,
    record::{Record, Series, Source},
    run::{Run, StoredCell},
    units::human,
    verdict::{NO_LIMIT, Verdict},
    written,
};

/// Returns the summary on one screen, and the command that shows the rest.
pub fn brief(run: &Run, judgement: &Judgement, found: &Configurations, style: Style) -> String {
    let more = format!("latido show --full {}", run.meta.id);
    summary(run, judgement, found, Beside::default(), style)
        + &format!("{} $ {more}\n", paint("more:", Paint::Dim, style))
}

/// Returns the summary, the limits of each quantile, then each cell with its threads, loads, tunings and trust checks, then the machine.
/// With `tails` it also returns the tail of each series of each repeat.
pub fn show(
    run: &Run,
    judgement: &Judgement,
    found: &Configurations,
    (tails, beside): (bool, Beside<'_>),
    style: Style,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let sections = sections(&found.all);
    for section in &sections {
        lines.extend(tail::quantiles(section, style));
        if tails {
            lines.extend(tail::lines(section, &section.all_extremes(), style));
        }
    }
    if let Some(declared) = Declared::of(std::iter::once(run)) {
        lines.push(String::new());
        lines.extend(declared_tables(Some(Lookup { sections: &sections, declared: &declared }), style));
    }
    let titles = Titles::among(run.cells.iter().map(|cell| &cell.cell));
    for (cell, judged) in run.cells.iter().zip(&judgement.cells) {
        lines.push(String::new());
        let head = format!("cell {}: {}", cell.number, titles.of(&cell.cell));
        lines.push(paint(&head, Paint::Bold, style));
        lines.extend(one_cell(cell, judged, style));
    }
    lines.push(String::new());
    lines.extend(machine(run, style));
    let mut facts = vec![
        ("plan", run.meta.plan.clone()),
        ("seed", run.plan.seed.to_string()),
        ("started", second(&run.meta.started)),
        ("finished", run.meta.finished.as_deref().map_or_else(|| "not yet".into(), second)),
        ("latido", run.meta.latido.clone()),
        ("directory", run.dir.display().to_string()),
    ];
    if !run.meta.command.is_empty() {
        facts.push(("command", run.meta.command.join(" ")));
    }
    lines.push(String::new());
    lines.push(paint("run", Paint::Bold, style));
    lines.extend(pairs(&facts, style));
    // There are no notes at the top, because each cell lists all of its findings.
    result(run, judgement, found, (Vec::new(), beside), style) + &lines.join("\n") + "\n"
}

fn one_cell(cell: &StoredCell, judged: &CellJudgement, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    let outcome = match judged.reasons.first() {
        // A cell without a limit has not kept one.
        Some(Reason::Unlimited { .. } | Reason::Sampled { .. }) if judged.verdict == Verdict::Pass => NO_LIMIT,
        _ => judged.verdict.word(),
    };
    let mut label = outcome;
    for reason in &judged.reasons {
        lines.extend(hang(
            &format!("  {label}"),
            words::verdict(judged.verdict).tone.into(),
            &reason.sentence(),
            style,
        ));
        label = "and";
    }
    let Some(record) = cell.record() else { return lines };
    lines.extend(settings(record, style));
    lines.push(String::new());
    lines.extend(threads(record, &cell.measurand, style).into_iter().map(|line| format!("  {line}")));
    lines.push(String::new());
    let wide = judged.findings.iter().map(|finding| words::finding(finding.grade).word.len()).max().unwrap_or(0);
    let name = judged.findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    for finding in &judged.findings {
        let said = words::finding(finding.grade);
        let label = format!("  {:<wide$}  {:<name$} ", said.word, finding.check);
        lines.extend(hang(&label, said.tone.into(), &finding.text(), style));
    }
    for skip in &record.skipped {
        lines.extend(hang("  skipped", Paint::Warn, &format!("{}: {}", skip.what, skip.why), style));
    }
    lines
}

fn span(ns: u64) -> String {
    human(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Formats an RFC 3339 time without the fraction of its second; other text stays as it is.
fn second(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => time.into(),
    }
}

/// Returns the origin of an import, and what its reader must know.
fn imported(record: &Record, source: &Source) -> Vec<(&'static str, String)> {
    let version = source.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let kept = source.kept.as_deref().map_or("not kept, too large".to_owned(), |name| format!("kept as {name}"));
    let mut facts = vec![
        ("imported", format!("{}: {}{version}, format {}", source.file, source.tool, source.format)),
        ("file", format!("{} bytes, SHA-256 {}, {kept}", source.bytes, source.sha256)),
    ];
    facts.extend(source.command.clone().map(|command| ("its command", command)));
    if let (Some(begun), Some(ended)) = &source.times {
        facts.push(("its times", format!("{begun} to {ended}")));
    }
    facts.extend((record.elapsed_ns > 0).then(|| ("measured", span(record.elapsed_ns))));
    facts.extend(source.labels.iter().map(|(key, value)| ("label", format!("{key} = {value}"))));
    facts.extend(source.notes.iter().map(|note| ("note", note.clone())));
    facts
}

fn settings(record: &Record, style: Style) -> Vec<String> {
    let cell = &record.cell;
    let mut facts = vec![
        ("probe", written::short(&cell.probe)),
        ("scheduling", cell.scheduling.to_string()),
        ("cpus", cell.conditions.cpus.as_ref().map_or_else(|| "any".into(), |cpus| cpus.to_string())),
    ];
    match &record.source {
        None => {
            let measured = format!("{} after {} of warm-up", span(record.elapsed_ns), span(record.warmup_ns));
            facts.push(("measured", measured));
        }
        Some(source) => facts.extend(imported(record, source)),
    }
    if let Some(limit) = cell.conditions.limit {
        facts.push(("limit", limit.to_string()));
    }
    for load in &record.load {
        let argv = Some(load.argv.join(" ")).filter(|argv| !argv.is_empty());
        let commands: Vec<String> = argv.into_iter().chain(load.commands.iter().cloned()).collect();
        let command = if commands.is_empty() { String::new() } else { format!(": {}", commands.join("; ")) };
        let version = load.version.as_deref().map(|version| format!(" ({version})")).unwrap_or_default();
        facts.push(("load", format!("{}{version}{command}", written::short(&load.item))));
        let rates = words::of_load(load);
        if !rates.is_empty() {
            facts.push(("its rate", rates));
        }
        if let Some(course) = load_course::course(load, record.elapsed_ns) {
            facts.push(("in time", course.sentence()));
        }
        if !load.achieved.is_empty() {
            let did: Vec<String> = load.achieved.iter().map(|(name, count)| format!("{name} {count}")).collect();
            facts.push(("it did", did.join(", ")));
        }
    }
    if let Some(trace) = &record.quality.trace {
        facts.push(("trace", format!("{}: {}", record.attachments.join(", "), words::trace(trace))));
    }
    let siblings = words::siblings(&record.quality.siblings);
    if !siblings.is_empty() {
        facts.push(("SMT siblings", siblings));
    }
    for tuning in &record.tunings {
        let changes = tuning.changes.iter().map(|c| format!("{} {} -> {}", c.knob, c.original, c.new));
        facts.push(("tuning", format!("{}: {}", written::short(&tuning.item), changes.collect::<Vec<_>>().join(", "))));
    }
    pairs(&facts, style)
}

/// Returns the figures of every thread, including slots: a table for each quantity, then the probe's other counts.
pub(super) fn threads(record: &Record, measurand: &Measurand, style: Style) -> Vec<String> {
    let mut groups: Vec<Vec<&Series>> = Vec::new();
    let sampled = |quantity: &str| record.series.iter().any(|one| one.quantity == quantity && one.decisive().count > 0);
    let nothing = record.series.iter().all(|one| one.decisive().count == 0);
    // A thread without samples is shown next to others that have some; a quantity without any samples is left out.
    for one in record.series.iter().filter(|one| nothing || sampled(&one.quantity)) {
        let alike = |other: &&Series| (&other.quantity, &other.unit) == (&one.quantity, &one.unit);
        match groups.iter_mut().find(|group| group.first().is_some_and(alike)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let style = Style { width: style.width.saturating_sub(2), ..style };
    // A longer run of a guest does not show more of it, so there is no remark on what its time may have missed.
    let watched_ns = record.machine.emulated.is_none().then_some(record.elapsed_ns);
    groups.iter().flat_map(|group| quantity(group, watched_ns, measurand, style)).collect()
}

fn quantity(series: &[&Series], watched_ns: Option<u64>, measurand: &Measurand, style: Style) -> Vec<String> {
    let Some(first) = series.first() else { return Vec::new() };
    let noun = measurand.quantity(&first.quantity).map_or("sample", |quantity| &quantity.noun);
    // Several threads of one CPU show their numbers as well.
    let of_cpu = |one: &Series| series.iter().filter(|s| (s.cpu, &s.labels) == (one.cpu, &one.labels)).count();
    let thread = |one: &Series| match one.cpu {
        Some(_) if of_cpu(one) > 1 => format!("{}, thread {}", thread(one), one.thread),
        _ => thread(one),
    };
    let named: Vec<(String, &Series)> = series.iter().map(|one| (thread(one), *one)).collect();
    let sheet = tables::summary::threads(&first.quantity.replace('_', " "), noun, &first.unit, &named, watched_ns);
    let mut lines = table::untitled(&sheet, style);
    for one in series.iter().filter(|one| !one.facts.is_empty()) {
        let counted = |name: &str| one.facts.contains_key(name);
        let facts: Vec<String> = one.facts.iter().map(|(key, value)| fact(key, *value, counted)).collect();
        lines.extend(hang(&format!("{}:", thread(one)), Paint::Dim, &facts.join(", "), style));
    }
    lines
}

fn thread(one: &Series) -> String {
    let thread = one.cpu.map_or_else(|| format!("thread {}", one.thread), |cpu| format!("CPU {cpu}"));
    match words::labels(&one.labels) {
        labels if labels.is_empty() => thread,
        labels => format!("{thread}, {labels}"),
    }
}

/// Returns a probe's fact in words: `own_ns 9336261` is `own 9.34 ms`; if the probe also counts it, `throttled for 50 ms`.
fn fact(key: &str, value: i64, counted: impl Fn(&str) -> bool) -> String {
    match key.strip_suffix("_ns") {
        Some(name) if counted(name) => format!("{} for {}", name.replace('_', " "), human(value)),
        Some(name) => format!("{} {}", name.replace('_', " "), human(value)),
        None => format!("{} {value}", key.replace('_', " ")),
    }
}

/// Returns each distinct machine once. If the machine changed, its later forms have the number of their first cell.
fn machine(run: &Run, style: Style) -> Vec<String> {
    let mut seen: Vec<Vec<(&'static str, String)>> = Vec::new();
    let mut lines = Vec::new();
    for cell in &run.cells {
        let Some(record) = cell.record() else { continue };
        let rows = record.machine.rows();
        if seen.contains(&rows) {
            continue;
        }
        let head = if seen.is_empty() { "machine".into() } else { format!("machine as of cell {}", cell.number) };
        // If the machine changed, only the differences from the first snapshot are shown.
        let first = seen.first();
        let shown: Vec<_> = rows.iter().filter(|row| first.is_none_or(|first| !first.contains(row))).cloned().collect();
        lines.push(paint(&head, Paint::Bold, style));
        lines.extend(pairs(&shown, style));
        seen.push(rows);
    }
    lines
}

fn pairs(rows: &[(&str, String)], style: Style) -> Vec<String> {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    rows.iter().flat_map(|(name, value)| hang(&format!("  {name:<width$} "), Paint::Dim, value, style)).collect()
}

#[cfg(test)]
mod tests;
