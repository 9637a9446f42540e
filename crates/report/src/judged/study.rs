//! What a report says about a study in addition to its own figures: source, conclusions, gaps, printed numbers.

use super::JudgedRun;
use crate::study::{Conclusion, NotMeasured, PublishedColumn, PublishedRow, StudyPart};
use latido_judge::{span::plain, verdict_wording};
use latido_model::{
    cell::{Axis, RUNNING},
    plan::{Plan, expect::is_of_series},
    published,
    run::StoredCell,
};

/// Returns the study that the runs repeat, with its conclusions as each of the runs judges them.
pub(super) fn study(all: &[JudgedRun]) -> Option<StudyPart> {
    let repeats: Vec<&JudgedRun> = all.iter().filter(|one| one.run.plan.source.is_some()).collect();
    let first = &repeats.first()?.run.plan;
    let claims = repeats.iter().flat_map(|one| {
        one.judgement.expectations.iter().filter(|expectation| expectation.of_study).map(|expectation| {
            let text = match repeats.len() {
                1 => expectation.sentence().to_string(),
                _ => format!("{}: {}", one.run.meta.id, expectation.sentence()),
            };
            let detail = plain(&verdict_wording::decision(expectation.decision.as_ref()));
            Conclusion { number: expectation.conclusion.clone(), text, outcome: expectation.outcome, detail }
        })
    });
    let citation = first.source.as_ref().map(ToString::to_string).unwrap_or_default();
    Some(StudyPart {
        citation,
        scaled: first.scaled,
        sized: first.sized.clone(),
        claims: claims.collect(),
        unjudged: first.unjudged.clone(),
    })
}

/// Returns the skipped cells, one entry for each system and reason.
pub(super) fn not_measured(all: &[JudgedRun]) -> Vec<NotMeasured> {
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

/// Returns a skipped cell's system: its target if the plan has several, its kernel if that is another one, its tuning if the plan has
/// several, else its load.
fn system(cell: &StoredCell, all: &[StoredCell]) -> String {
    let own = &cell.cell;
    let told = |axis: &Axis| match axis {
        Axis::Kernel => own.kernel != RUNNING,
        Axis::Target | Axis::Tuning => all.iter().any(|other| other.cell.level(*axis) != own.level(*axis)),
        Axis::Boot | Axis::Load | Axis::Scheduling | Axis::Probe => false,
    };
    let parts: Vec<String> = Axis::ALL.into_iter().filter(told).map(|axis| own.shown(axis)).collect();
    if parts.is_empty() { own.shown(Axis::Load) } else { parts.join("/") }
}

/// Returns the reservations on a column's numbers, and the numbers that match no figure of latido.
fn remark(column: &published::Column) -> Option<String> {
    let printed = |other: &published::Other| {
        format!("{}: {} {} {}", column.system, other.name.replace('_', " "), other.value, other.unit)
    };
    let other = column.other.iter().filter(|other| other.statistic.is_none()).map(printed);
    let said: Vec<String> = [column.note.clone()].into_iter().filter(|note| !note.is_empty()).chain(other).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// Returns the printed numbers of the studies, for the runs whose users requested them: a column for each system, and one for each load or
/// scheduling under which alone a quantity was printed.
pub(super) fn printed(all: &[JudgedRun]) -> Vec<PublishedColumn> {
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
                other: column.other.iter().filter_map(|other| Some((other.statistic?, other.amount))).collect(),
                note: remark(&column),
                of: column.taken.of,
                options: column.taken.options.clone(),
            };
            match columns.iter_mut().find(|known| known.system == system) {
                Some(known) => known.rows.push(row),
                None => columns.push(PublishedColumn { system, rows: vec![row] }),
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{
        plan::Citation,
        run::CellState,
        sample::{Fixture, cell, quiet, under},
    };

    fn judged(change: impl Fn(&mut Fixture)) -> JudgedRun {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0)]), (under("busy"), vec![quiet(1)])]);
        change(&mut fixture);
        let empty = Fixture::new(Vec::new()).run;
        let run = std::mem::replace(&mut fixture.run, empty);
        JudgedRun::new(run, String::new(), &fixture)
    }

    #[test]
    fn what_was_skipped_is_told_once_for_each_system() {
        let one = judged(|fixture| {
            for stored in &mut fixture.run.cells {
                stored.state = CellState::Skipped("no such kernel here".into());
                stored.cell.kernel = "rt".into();
            }
            fixture.run.cells[1].cell.target = "ssh:board".into();
        });
        let found = not_measured(&[one]);
        let labels: Vec<(&str, usize)> = found.iter().map(|one| (one.label.as_str(), one.cells)).collect();
        assert_eq!(labels, [("local/rt", 1), ("ssh:board/rt", 1)]);
        let both = judged(|fixture| {
            for stored in &mut fixture.run.cells {
                stored.state = CellState::Skipped("no such kernel here".into());
                stored.cell.kernel = "rt".into();
            }
        });
        assert_eq!(not_measured(&[both])[0].cells, 2);
    }

    #[test]
    fn only_a_plan_with_a_source_repeats_a_study() {
        assert!(study(&[judged(|_| ())]).is_none());
        let (title, author) = ("A study".into(), "Somebody".into());
        let source = Citation { title, author, year: 2019, place: None };
        let one = judged(|fixture| fixture.run.plan.source = Some(source.clone()));
        assert_eq!(study(&[one]).unwrap().citation, "Somebody: A study. 2019");
    }
}
