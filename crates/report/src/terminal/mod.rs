//! Text for terminals: first the reservations, then the tables, the expectations and the verdict.

mod notes;
mod show;
pub mod spikes;
mod statements;
mod style;
pub mod table;
mod tail;
mod unjudged;

pub use show::{brief, show};
pub use style::{Paint, Style, fit, hang, paint, printable, printable_signals};

use crate::{
    figures::stages,
    input::ReportInput,
    tables::{declared, maxima, spread, summary::of_quantity},
    tree::{Datum, Report, Section, Sheet, declared::Lookup, sections},
    words,
};
use latido_judge::{
    chains::Chains,
    configuration::{Configuration, Configurations},
    decide::{is_judged, word},
    headline::{Advice, Ground},
    judgement::{CellJudgement, Judgement},
    late::{self, OfCell},
    maxima::Maxima,
    repeat::Pooled,
};
use latido_model::{
    cell::LAB,
    explain::explainable,
    quantity::Measurand,
    record::{Record, TRACE},
    run::{Run, StoredCell},
    verdict::Verdict,
};
use latido_statistics::two::{mann_whitney::repeats_needed, verdict::LEVEL};
use notes::{alarms, notes};

/// Returns the result of a run, as latido prints it at the end.
pub fn summary(run: &Run, judgement: &Judgement, found: &Configurations, beside: Beside<'_>, style: Style) -> String {
    result(run, judgement, found, (notes(run, judgement, style), beside), style)
}

/// What was read in addition to records: late samples with their causes, and the largest value of each second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// For the cells with a request for explanations.
    pub explained: &'a [OfCell],
    /// For the cells whose tracer keeps nothing else.
    pub maxima: &'a [Maxima],
    /// For the configurations that timestamp events.
    pub chains: &'a [Chains],
}

/// Returns the same with the caller's notes.
fn result(
    run: &Run,
    judgement: &Judgement,
    found: &Configurations,
    (notes, beside): (Vec<String>, Beside<'_>),
    style: Style,
) -> String {
    let mut lines = alarms(judgement, style);
    lines.push(paint(&title(run), Paint::Bold, style));
    for problem in run.problems.iter().chain(&found.problems) {
        lines.extend(hang("warning:", Paint::Warn, problem, style));
    }
    lines.extend(notes);
    for (reason, cells) in run.skips() {
        let many = if cells == 1 { "1 cell".into() } else { format!("{cells} cells") };
        lines.extend(hang("skipped:", Paint::Dim, &format!("{many}: {reason}"), style));
    }
    lines.push(String::new());
    let tables = quantities(&sections(&found.all), style);
    if !tables.is_empty() {
        lines.extend(tables);
        lines.push(String::new());
    }
    for one in beside.maxima {
        match maxima::sheet(one) {
            Ok(sheet) => lines.extend(table::titled(&sheet, style)),
            Err(why) => lines.extend(hang("warning:", Paint::Warn, why, style)),
        }
        lines.push(String::new());
    }
    let (whole, broken): (Vec<&Chains>, Vec<&Chains>) = beside.chains.iter().partition(|one| one.found.is_ok());
    if !whole.is_empty() {
        lines.push(paint(stages::TITLE, Paint::Bold, style));
        lines.extend(stages::lines(&whole, style.width));
        lines.push(String::new());
    }
    for why in broken.iter().filter_map(|one| one.found.as_ref().err()) {
        lines.extend(hang("warning:", Paint::Warn, why, style));
    }
    for one in beside.explained {
        match &one.found {
            Ok(spikes) => lines.extend(spikes::brief(spikes, style)),
            Err(why) => lines.extend(hang("not explained:", Paint::Warn, &format!("cell {} {why}", one.number), style)),
        }
        lines.push(String::new());
    }
    if !judgement.expectations.is_empty() {
        lines.extend(statements::lines(judgement, style));
        lines.push(String::new());
    }
    let why = late::in_short(beside.explained.iter());
    lines.extend(verdict(run, judgement, (found, &why), style));
    lines.join("\n") + "\n"
}

/// Returns the summary tables, one for each quantity.
fn quantities(sections: &[Section], style: Style) -> Vec<String> {
    let alike = |a: &Section, b: &Section| (a.probe, a.quantity, a.unit) == (b.probe, b.quantity, b.unit);
    let mut tables: Vec<Sheet> = sections.chunk_by(alike).filter_map(of_quantity).collect();
    // A note that several tables share appears once, below the last of them.
    let mut below = std::collections::BTreeSet::new();
    for sheet in tables.iter_mut().rev() {
        sheet.notes.retain(|note| below.insert(note.clone()));
    }
    tables.iter().map(|sheet| table::titled(sheet, style)).collect::<Vec<_>>().join(&String::new())
}

/// Returns the tables that the plan declares, in pieces as wide as the terminal.
fn declared_tables(lookup: Option<Lookup>, style: Style) -> Vec<String> {
    let tables = lookup.into_iter().flat_map(declared::all);
    // The study's numbers are below the cells that were not measured: a dash there would look like one of them.
    let said = |mut sheet: Sheet| {
        let absent = sheet.rows.iter_mut().flatten().filter(|cell| **cell == Datum::Absent);
        absent.for_each(|cell| *cell = Datum::Text(words::NOT_MEASURED.into()));
        sheet
    };
    let sheets = tables.flat_map(|one| said(one.sheet()).pieces(style.width, words::NOT_MEASURED.len()));
    sheets.flat_map(|sheet| [table::titled(&sheet, style), vec![String::new()]].concat()).collect()
}

/// Returns a remark if a row has the repeats of several runs.
fn pooled_runs(input: &ReportInput) -> Option<String> {
    let several = |one: &Configuration| {
        one.repeats.iter().any(|repeat| Some(&repeat.run) != one.repeats.first().map(|first| &first.run))
    };
    let ids: Vec<&str> = input.runs.iter().map(|part| part.meta.id.as_str()).collect();
    input.configurations.iter().any(several).then(|| {
        let runs = words::many(ids.len() as u64, "run");
        format!("each row pools the repeats of {runs}; `latido compare {}` compares the runs", ids.join(" "))
    })
}

/// Returns a report as text: what was judged, then the tables.
pub fn report(report: &Report, style: Style) -> String {
    let mut lines = vec![paint(&report.input.title, Paint::Bold, style), String::new()];
    for problem in &report.input.problems {
        lines.extend(hang("warning:", Paint::Warn, problem, style));
    }
    lines.extend(pooled_runs(report.input).iter().flat_map(|text| hang("note:", Paint::Warn, text, style)));
    lines.extend(declared_tables(Lookup::of(report), style));
    for sheet in report.sections.iter().filter_map(spread::sheet) {
        lines.extend(table::titled(&sheet, style));
        lines.push(String::new());
    }
    lines.extend(quantities(&report.sections, style));
    for section in &report.sections {
        lines.extend(tail::quantiles(section, style));
        lines.extend(tail::lines(section, section.extremes(), style));
    }
    for part in &report.input.runs {
        lines.push(String::new());
        if !part.judgement.expectations.is_empty() {
            lines.extend(statements::lines(part.judgement, style));
            lines.push(String::new());
        }
        let tone = part.said().tone.into();
        lines.push(paint(&format!("run {}", part.meta.id), Paint::Plain, style));
        lines.extend(hang(&format!("{}:", part.word), tone, &part.judgement.headline.sentence(), style));
        lines.extend(part.judgement.advice.iter().flat_map(|advice| self::advice(advice, style)));
    }
    lines.join("\n") + "\n"
}

fn title(run: &Run) -> String {
    let record = run.cells.iter().find_map(StoredCell::record);
    let machine = record.map_or(run.meta.machine.as_str(), |record| record.machine.hostname.as_str());
    let kernel = record.map(|record| format!(", Linux {}", record.machine.kernel)).unwrap_or_default();
    let on = if machine.is_empty() { String::new() } else { format!(" on {machine}{kernel}") };
    let size = run.plan.sized.as_ref().map(|size| format!(", size {size}")).unwrap_or_default();
    format!("{}{on}{size}", run.meta.id)
}

/// Returns the last lines: the verdict, the deciding number, and the conclusion that it supports.
fn verdict(run: &Run, judgement: &Judgement, (found, why): (&Configurations, &[String]), style: Style) -> Vec<String> {
    let mut parts = vec![judgement.headline.sentence()];
    if judgement.verdict == Verdict::Pass {
        parts.extend(support(found));
        parts.extend(match judgement.expectations.len() {
            0 => None,
            _ if judgement.expectations.iter().any(|one| one.of_study) => None,
            1 => Some("the expectation holds".into()),
            all => Some(format!("all {all} expectations hold")),
        });
    }
    let tone = match judgement.verdict {
        Verdict::Pass if !is_judged(run) => Paint::Plain,
        verdict => words::verdict(verdict).tone.into(),
    };
    let word = word(run, judgement);
    let table = match &judgement.headline.rest {
        Some(Ground::Unjudged(seen)) if judgement.headline.conclusions.is_none() => unjudged::lines(word, seen, style),
        _ => None,
    };
    let mut lines = table.unwrap_or_else(|| hang(&format!("{word}:"), tone, &parts.join("; "), style));
    lines.extend(judgement.advice.iter().flat_map(|advice| self::advice(advice, style)));
    if run.cells.iter().any(has_no_period) {
        let text = "if the program is periodic, add its period, for example --period 1ms: latido then counts late and missed periods";
        lines.extend(hang("next:", Paint::Dim, text, style));
    }
    if run.meta.command.iter().any(|word| word.starts_with("--vary")) {
        lines.extend(comparison(run, found, style));
    }
    lines.extend(why.iter().flat_map(|why| hang("why:", tone, why, style)));
    if run.cells.iter().any(can_be_explained) {
        let command = format!("latido trace explain {}", run.meta.id);
        lines.push(format!("{} $ {command}", paint("why: ", Paint::Dim, style)));
    } else if run.cells.iter().any(has_late_jobs) {
        let text = "add --explain to the command to see what caused the late and missed periods";
        lines.extend(hang("why:", Paint::Dim, text, style));
    } else if let Some((cell, _)) =
        run.cells.iter().zip(&judgement.cells).find(|(cell, judged)| failed_unexplained(cell, judged))
    {
        // A guest of the laboratory runs as root.
        let root = if cell.cell.target == LAB { "" } else { " (it needs root)" };
        let text = format!("add --explain to the command to see what caused the late samples{root}");
        lines.extend(hang("why:", Paint::Dim, &text, style));
    }
    lines
}

/// Returns the command, or an advice, for a comparison of the configurations of a run with `--vary`.
fn comparison(run: &Run, found: &Configurations, style: Style) -> Vec<String> {
    let probes = || found.all.iter().map(|one| one.cell.probe.name.as_str());
    if probes().all(|probe| probes().filter(|other| *other == probe).count() < 2) {
        return hang("compare:", Paint::Dim, "nothing, since one configuration was measured", style);
    }
    let repeats = run.cells.iter().map(|cell| cell.cell.repeat.saturating_mul(cell.cell.boot)).max().unwrap_or(1);
    let fewest = repeats_needed(LEVEL).unwrap_or(u64::MAX);
    if u64::from(repeats) < fewest {
        let text = format!("add --repeat 10 to the command: a comparison takes {fewest} repeats per side or more");
        return hang("compare:", Paint::Dim, &text, style);
    }
    vec![format!("{} $ latido compare {}", paint("compare:", Paint::Dim, style), run.meta.id)]
}

/// Returns whether the late samples of a cell can be explained: its trace was kept, and each is a time of one thread.
fn can_be_explained(cell: &StoredCell) -> bool {
    let traced = cell.record().is_some_and(|record| record.attachments.iter().any(|name| name == TRACE));
    traced && explainable(&cell.cell.probe.name).is_some()
}

/// Returns whether latido watched a program that may have a period, but the user named no period.
fn has_no_period(cell: &StoredCell) -> bool {
    let named = |record: &Record| record.cell.probe.options.contains_key("period");
    cell.cell.probe.name == "task" && cell.record().is_some_and(|record| !named(record))
}

/// Returns whether a watched program had late or missed periods without a trace that explains them.
fn has_late_jobs(cell: &StoredCell) -> bool {
    let watched = cell.cell.probe.name == "task" && cell.cell.conditions.explain.is_none();
    let late =
        |record: &Record| record.series.iter().filter_map(|one| one.slots).any(|slots| slots.late + slots.missed > 0);
    watched && cell.record().is_some_and(late)
}

/// Returns whether a cell that latido measured failed, and latido could explain it with the option for that.
fn failed_unexplained(cell: &StoredCell, judged: &CellJudgement) -> bool {
    let conditions = &cell.cell.conditions;
    let untold =
        conditions.explain.is_none() && conditions.trace.is_none() && explainable(&cell.cell.probe.name).is_some();
    judged.verdict == Verdict::Fail && untold && cell.record().is_some_and(|record| record.source.is_none())
}

/// Returns the obstacles, and the command to try next, which is never split over lines.
fn advice(advice: &Advice, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if !advice.in_the_way.is_empty() {
        let text = format!("{}: `{}` says what to change", advice.in_the_way.join(", "), advice.check);
        lines = hang("in the way:", Paint::Dim, &text, style);
    }
    if let Some(next) = &advice.next {
        lines.push(format!("{} $ {}", paint("next:", Paint::Dim, style), paint(next, Paint::Plain, style)));
    }
    lines
}

/// Returns the conclusion from the fact that no sample was above the limit, for the quantity that came closest to its limit.
fn support(found: &Configurations) -> Option<String> {
    let limited = found.all.iter().filter_map(|one| Some((one, one.cell.conditions.limit?.0 as f64)));
    let quantities = limited.flat_map(|(one, limit)| one.quantities.iter().map(move |pooled| (one, pooled, limit)));
    let near = |pooled: &Pooled, limit: f64| pooled.summary.max.map_or(0.0, |max| max as f64 / limit);
    let (configuration, closest, _) = quantities
        .filter(|(_, pooled, _)| pooled.above_limit == Some(0))
        .max_by(|a, b| near(a.1, a.2).total_cmp(&near(b.1, b.2)))?;
    let rarity = configuration.rarity(closest)?;
    Some(format!("none above it: {}", rarity.text()))
}

/// Returns the figures of records that latido could not store: the user sees all measured data before they are lost.
pub fn rescue(records: &[&Record], style: Style) -> String {
    let mut lines = Vec::new();
    for record in records {
        lines.push(paint(&latido_judge::title::title(&record.cell), Paint::Plain, style));
        lines.extend(show::threads(record, &Measurand::default(), style));
        for series in &record.series {
            let bands = series.decisive().bands;
            let text = bands.iter().filter(|band| band.count > 0).map(|band| match band.upto {
                Some(upto) => format!("to {}: {}", latido_model::units::human(upto), band.count),
                None => format!("above: {}", band.count),
            });
            let label = series.cpu.map_or_else(|| series.quantity.clone(), |cpu| format!("CPU {cpu}"));
            lines.extend(hang(&label, Paint::Plain, &text.collect::<Vec<_>>().join(", "), style));
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
