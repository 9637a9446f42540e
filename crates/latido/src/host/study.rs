//! What a report says of a study beside its own figures: source, conclusions, what was not measured, printed numbers.

use super::outcome::Judged;
use latido_model::{
    cell::RUNNING,
    plan::{Plan, expect::is_of_series},
    published,
    run::StoredCell,
};
use latido_report::study::{Claim, NotMeasured, PublishedColumn, PublishedRow, StudyPart};

/// The study that the runs repeat; its conclusions as each of the runs has them.
pub fn study(all: &[Judged]) -> Option<StudyPart> {
    let repeats: Vec<&Judged> = all.iter().filter(|one| one.run.plan.source.is_some()).collect();
    let first = &repeats.first()?.run.plan;
    let claims = repeats.iter().flat_map(|one| {
        one.judgement.expectations.iter().map(|expectation| {
            let text = match repeats.len() {
                1 => expectation.sentence().to_string(),
                _ => format!("{}: {}", one.run.meta.id, expectation.sentence()),
            };
            let (word, verdict) = (expectation.word(), expectation.verdict);
            Claim { text, word, detail: expectation.detail.clone(), verdict }
        })
    });
    let citation = first.source.as_ref().map(ToString::to_string).unwrap_or_default();
    Some(StudyPart { citation, scaled: first.scaled, claims: claims.collect() })
}

/// The cells that were skipped, one entry for each system and reason.
pub fn not_measured(all: &[Judged]) -> Vec<NotMeasured> {
    let mut found: Vec<NotMeasured> = Vec::new();
    for one in all {
        for cell in &one.run.cells {
            let Some(reason) = cell.skipped() else { continue };
            let label = system(cell, &one.run.cells);
            match found.iter_mut().find(|known| known.label == label && known.reason == reason) {
                Some(known) => known.cells += 1,
                None => found.push(NotMeasured { label, reason: reason.into(), cells: 1 }),
            }
        }
    }
    found
}

/// A skipped cell's system: its kernel where that is another, its tuning where the plan has several, else its load.
fn system(cell: &StoredCell, all: &[StoredCell]) -> String {
    let own = &cell.cell;
    let tunings = all.iter().any(|other| other.cell.tuning.id != own.tuning.id);
    let kernel = Some(&own.kernel).filter(|kernel| *kernel != RUNNING);
    let tuning = Some(&own.tuning.id).filter(|_| tunings);
    let parts: Vec<&str> = kernel.into_iter().chain(tuning).map(String::as_str).collect();
    if parts.is_empty() { own.load.id.clone() } else { parts.join("/") }
}

/// What must be known of a column's numbers, with those that are neither minimum, mean nor maximum: `share_up_to_1000ns
/// 99.89 %`.
fn remark(column: &published::Column) -> Option<String> {
    let printed = |(name, value, unit): &(String, f64, String)| {
        format!("{}: {} {value} {unit}", column.system, name.replace('_', " "))
    };
    let other = column.other.iter().map(printed);
    let said: Vec<String> = [column.note.clone()].into_iter().filter(|note| !note.is_empty()).chain(other).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// The printed numbers of the studies for whose runs they were asked: a column for each system, and for each load or
/// scheduling that a quantity was printed under alone.
pub fn printed(all: &[Judged]) -> Vec<PublishedColumn> {
    let mut plans: Vec<&Plan> = Vec::new();
    for one in all.iter().filter(|one| one.published) {
        let plan = &one.run.plan;
        if plans.iter().all(|known| known.published != plan.published) {
            plans.push(plan);
        }
    }
    let mut columns: Vec<PublishedColumn> = Vec::new();
    for plan in plans {
        let year = plan.source.as_ref().map(|source| format!(" {}", source.year)).unwrap_or_default();
        for column in published::columns(plan) {
            let quantities = plan.published.iter().flat_map(|published| &published.quantities);
            let narrowed = quantities.filter(|(name, ..)| *name == column.quantity).flat_map(|(_, _, filter)| filter);
            let (labels, axes): (Vec<_>, Vec<_>) = narrowed.cloned().partition(|(key, _)| is_of_series(key));
            let parts: Vec<&str> = axes.iter().map(|(_, level)| level.as_str()).collect();
            let under = if parts.is_empty() { String::new() } else { format!(", {}", parts.join(", ")) };
            let system = format!("{}{under}, published{year}", column.system);
            let (probe, quantity) = column.metric.split_once('.').unwrap_or((&column.metric, ""));
            let row = PublishedRow {
                probe: probe.into(),
                quantity: quantity.into(),
                labels: labels.into_iter().filter(|(label, _)| label != "cpu").collect(),
                min: column.min,
                mean: column.mean,
                max: column.max,
                note: remark(&column),
                ..PublishedRow::default()
            };
            match columns.iter_mut().find(|known| known.system == system) {
                Some(known) => known.rows.push(row),
                None => columns.push(PublishedColumn { system, rows: vec![row] }),
            }
        }
    }
    columns
}
