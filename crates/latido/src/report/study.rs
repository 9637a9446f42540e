//! What a report of a published study says beside its own figures: source, conclusions, gaps, and the printed numbers.

use crate::{
    analyze::verdict::{ExpectJudgement, Judgement, Verdict},
    cell::Cell,
    plan::{Filter, Plan},
    published,
    store::{CellState, Run},
};
use std::collections::{BTreeMap, BTreeSet};

/// The study that a run repeats.
#[derive(Clone, Debug, Default)]
pub struct StudyPart {
    /// Author, title, place and year as one line.
    pub citation: String,
    /// The share of the published size that was measured; absent when it was all of it.
    pub scaled: Option<f64>,
    /// What the study concluded.
    pub claims: Vec<Claim>,
}

/// A conclusion of the study and what became of it here.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The conclusion.
    pub text: String,
    /// `reproduced`, `not reproduced` or `not measured`.
    pub word: String,
    /// The figures, or why there are none.
    pub detail: String,
    /// `good`, `bad` or `warn`.
    pub class: &'static str,
}

/// Cells of the plan that were not measured for one reason.
#[derive(Clone, Debug)]
pub struct NotMeasured {
    /// The system, as a column of a table would name it.
    pub label: String,
    /// Why not.
    pub reason: String,
    /// How many cells of the plan that is.
    pub cells: usize,
}

/// A system of the study with the numbers that it printed.
#[derive(Clone, Debug)]
pub struct PublishedColumn {
    /// `stock, published (Raspberry Pi 3B, 2019)`.
    pub system: String,
    /// The numbers.
    pub rows: Vec<PublishedRow>,
}

/// Printed numbers of one quantity.
#[derive(Clone, Debug, Default)]
pub struct PublishedRow {
    /// The probe that measures it.
    pub probe: String,
    /// Its quantity.
    pub quantity: String,
    /// The labels that a row of ours must have.
    pub labels: BTreeMap<String, String>,
    /// The probe's options that a row of ours must have, as text.
    pub options: BTreeMap<String, String>,
    /// Smallest, in ns.
    pub min: Option<f64>,
    /// Mean, in ns.
    pub mean: Option<f64>,
    /// Largest, in ns.
    pub max: Option<f64>,
    /// What must be known of it, for example `mean above maximum, as printed`.
    pub note: Option<String>,
}

impl PublishedRow {
    /// What to say of the numbers: the note, or that they contradict themselves.
    pub fn doubt(&self) -> Option<String> {
        let above = |a: Option<f64>, b: Option<f64>| a.zip(b).is_some_and(|(a, b)| a > b);
        let contradiction = if above(self.mean, self.max) {
            Some("mean above maximum, as printed")
        } else if above(self.min, self.mean) {
            Some("minimum above mean, as printed")
        } else if above(self.min, self.max) {
            Some("minimum above maximum, as printed")
        } else {
            None
        };
        self.note.clone().filter(|note| !note.is_empty()).or_else(|| contradiction.map(String::from))
    }
}

impl StudyPart {
    /// The study that a plan repeats, if it names one, with what the run says of its conclusions.
    pub fn of(plan: &Plan, judgement: &Judgement) -> Option<Self> {
        let source = plan.source.as_ref()?;
        let place = source.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
        let citation = format!("{}: {}{place}, {}", source.author, source.title, source.year);
        let claims = judgement.expectations.iter().map(Claim::of).collect();
        Some(Self { citation, scaled: plan.scaled, claims })
    }
}

impl Claim {
    fn of(one: &ExpectJudgement) -> Self {
        let class = match one.verdict {
            Verdict::Pass => "good",
            Verdict::Fail => "bad",
            _ => "warn",
        };
        Self { text: one.sentence().into(), word: one.word(), detail: one.detail.clone(), class }
    }
}

/// The systems of a run's plan that have no measurement, one entry for each system and reason.
pub fn not_measured(run: &Run) -> Vec<NotMeasured> {
    let several =
        |of: fn(&Cell) -> &str| run.cells.iter().map(|cell| of(&cell.cell)).collect::<BTreeSet<_>>().len() > 1;
    let (kernels, tunings) = (several(|cell| &cell.kernel), several(|cell| &cell.tuning.id));
    let mut found: Vec<NotMeasured> = Vec::new();
    for cell in &run.cells {
        let (CellState::Skipped(reason) | CellState::Infra(reason)) = &cell.state else { continue };
        let parts = [(kernels, &cell.cell.kernel), (tunings, &cell.cell.tuning.id)];
        let mut label: Vec<&str> = parts.iter().filter(|(differ, _)| *differ).map(|(_, part)| part.as_str()).collect();
        if label.is_empty() {
            label.push(&cell.cell.load.id);
        }
        let label = label.join(", ");
        match found.iter_mut().find(|known| known.label == label && known.reason == *reason) {
            Some(known) => known.cells += 1,
            None => found.push(NotMeasured { label, reason: reason.clone(), cells: 1 }),
        }
    }
    found
}

/// The printed numbers of a plan's study, one column for each system, and each load or scheduling of its own within it.
pub fn published(plan: &Plan) -> Vec<PublishedColumn> {
    const AXES: [&str; 4] = ["kernel", "tuning", "load", "scheduling"];
    let year = plan.source.as_ref().map_or_else(String::new, |source| format!(" {}", source.year));
    let no_filter = Filter::new();
    let mut columns: Vec<PublishedColumn> = Vec::new();
    for printed in published::columns(plan) {
        let Some((probe, quantity)) = printed.metric.split_once('.') else { continue };
        let named = plan.published.iter().flat_map(|published| &published.quantities);
        let own =
            named.into_iter().find(|(name, ..)| *name == printed.quantity).map_or(&no_filter, |(.., filter)| filter);
        let mut system = printed.system.clone();
        for (_, level) in own.iter().filter(|(key, _)| AXES.contains(&key.as_str())) {
            system = format!("{system}, {level}");
        }
        let system = format!("{system} (published{year})");
        let labels = own.iter().filter(|(key, _)| !AXES.contains(&key.as_str())).cloned().collect();
        let note = Some(printed.impossible.unwrap_or(printed.note)).filter(|note| !note.is_empty());
        let row = PublishedRow {
            probe: probe.into(),
            quantity: quantity.into(),
            labels,
            options: BTreeMap::new(),
            min: printed.min,
            mean: printed.mean,
            max: printed.max,
            note,
        };
        match columns.iter_mut().find(|column| column.system == system) {
            Some(column) => column.rows.push(row),
            None => columns.push(PublishedColumn { system, rows: vec![row] }),
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_row_is_doubted_even_without_a_note() {
        let row = |min, mean, max| PublishedRow { min, mean, max, ..PublishedRow::default() };
        assert_eq!(row(Some(1.0), Some(9.0), Some(5.0)).doubt().as_deref(), Some("mean above maximum, as printed"));
        assert_eq!(row(Some(6.0), None, Some(5.0)).doubt().as_deref(), Some("minimum above maximum, as printed"));
        assert_eq!(row(Some(1.0), Some(2.0), Some(5.0)).doubt(), None);
        let told = PublishedRow { note: Some("read off a chart".into()), ..row(None, None, Some(5.0)) };
        assert_eq!(told.doubt().as_deref(), Some("read off a chart"));
    }
}
