//! What a report of a published study states in addition to its own figures: source, conclusions, gaps, and the printed numbers.

use latido_judge::outcome::Outcome;
use latido_model::plan::{Distribution, Statistic, Unjudged};
use std::collections::BTreeMap;

/// The study that a run repeats.
#[derive(Clone, Debug, Default)]
pub struct StudyPart {
    /// Author, title, place and year, as one line.
    pub citation: String,
    /// The share of the published size that was measured; absent if all of it was.
    pub scaled: Option<f64>,
    /// Which of the plan's sizes was measured; absent if it was the size in the plan.
    pub sized: Option<String>,
    /// What the study concluded.
    pub claims: Vec<Conclusion>,
    /// The other conclusions of the study, and why no figure here decides them.
    pub unjudged: Vec<Unjudged>,
}

/// A conclusion of the study and its outcome here.
#[derive(Clone, Debug)]
pub struct Conclusion {
    /// Its number in the study, if the plan states it.
    pub number: Option<String>,
    /// The conclusion.
    pub text: String,
    /// Its outcome here.
    pub outcome: Outcome,
    /// The figures, or why there are none.
    pub detail: String,
}

/// Cells of the plan that were not measured, for one reason.
#[derive(Clone, Debug)]
pub struct NotMeasured {
    /// The system, named as in a table's column.
    pub label: String,
    /// Why not.
    pub reason: String,
    /// The number of cells.
    pub cells: usize,
}

/// A system of the study with its printed numbers.
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
    /// The labels that a matching row of latido has.
    pub labels: BTreeMap<String, String>,
    /// The probe's options that a matching row of latido has, as text.
    pub options: BTreeMap<String, String>,
    /// The distribution of latido with which they are compared.
    pub of: Distribution,
    /// Smallest, in ns.
    pub min: Option<f64>,
    /// Mean, in ns.
    pub mean: Option<f64>,
    /// Largest, in ns.
    pub max: Option<f64>,
    /// Its other numbers: times in ns, shares from 0 to 1, counts.
    pub other: Vec<(Statistic, f64)>,
    /// A reservation, for example `mean above maximum, as printed`.
    pub note: Option<String>,
}

impl PublishedRow {
    /// Returns the reservation on the numbers: the note, or the remark that they contradict each other.
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
