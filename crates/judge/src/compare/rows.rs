//! The rows of a comparison. A row compares a quantity in a place between a side and the base, with its verdict within the family.

use super::Asked;
use crate::{
    numbers::compare::{Arm, Figures},
    observed::{
        Figure, Measure, Quantity,
        grouping::Group,
        taken::{Taken, against, is_continuous, nothing, quantities, taken},
    },
    words,
};
use latido_statistics::{
    Refusal,
    two::{
        Comparison, Question, Verdict, compare, holm,
        mann_whitney::{repeats_needed, smallest_p},
        rates::{Count, compare_rates},
        shift::{Shift, shift},
        verdict::LEVEL,
    },
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A quantity in a place: `b` is the side, `a` the base.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The name of the probe.
    pub probe: String,
    /// The name of the quantity.
    pub quantity: String,
    /// What distinguishes it from others of the quantity.
    pub labels: BTreeMap<String, String>,
    /// What distinguishes the place from others of the probe, in words; empty where there is only one place.
    pub place: String,
    /// The name of the side.
    pub arm: String,
    /// The name of the base.
    pub base: String,
    /// Whether the row decides the exit status.
    pub decides: bool,
    /// `ns`, `share`, `per hour`.
    #[serde(rename = "unit", serialize_with = "name_of")]
    pub measure: Measure,
    /// The figures of the base's repeats; absent where it has none.
    pub a: Option<Figures>,
    /// The figures of the side's repeats; absent where it has none.
    pub b: Option<Figures>,
    /// The statistics of the comparison.
    #[serde(flatten)]
    pub comparison: Option<Comparison>,
    /// The p-value after Holm's correction, among all rows that decide (or all that do not).
    pub p_holm: Option<f64>,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Repeats that do not count, with the reasons.
    pub left_out: Vec<String>,
    /// The unit of the samples.
    pub samples_in: String,
    /// The shift of the quantiles of all samples, with bands from resampling the repeats.
    pub shift: Vec<Shift>,
}

fn name_of<S: serde::Serializer>(measure: &Measure, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(measure.name())
}

/// A side of the comparison: its name, and its repeats of a quantity.
type Side<'n, 'a> = (&'n str, Taken<'a>);

/// Returns the rows of all places, with their verdicts. The deciding rows form one family, the others another.
///
/// # Errors
/// No side has the requested quantity in common with the base.
pub(super) fn of(groups: &[&Group], names: &[String], asked: &Asked) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for group in groups {
        for quantity in quantities(group, &asked.metric) {
            let sides = names.iter().zip(&group.arms);
            let sides: Vec<Side> = sides.map(|(name, arm)| (name.as_str(), taken(arm, quantity))).collect();
            let Some((base, others)) = sides.split_first() else { continue };
            let others = others.iter().zip(group.arms.iter().skip(1)).filter(|(_, arm)| !arm.is_empty());
            if group.arms.first().is_some_and(|base| !base.is_empty()) {
                rows.extend(others.map(|(other, _)| row(group, quantity, base, other, asked)));
            }
        }
    }
    if !rows.iter().any(|row| row.decides) {
        return Err(nothing(groups, &asked.metric));
    }
    for decides in [true, false] {
        settle(&mut rows.iter_mut().filter(|row| row.decides == decides).collect::<Vec<_>>());
    }
    Ok(rows)
}

fn row(group: &Group, quantity: &Quantity, base: &Side, other: &Side, asked: &Asked) -> Row {
    let [first, second] = against([&base.1, &other.1]);
    let (base, other) = (&(base.0, first), &(other.0, second));
    let (comparison, why) = match compared(base, other, asked) {
        Ok(comparison) => (Some(comparison), String::new()),
        Err(why) => (None, why),
    };
    let figures = |(name, taken): &Side| {
        let values: Vec<f64> = taken.figures().iter().map(|figure| figure.value()).collect();
        (!values.is_empty()).then(|| Figures::of(&Arm { name: (*name).to_owned(), values }))
    };
    let shift = match (base.1.samples().as_slice(), other.1.samples().as_slice()) {
        ([], _) | (_, []) => Vec::new(),
        (a, b) => shift(a, b).unwrap_or_default(),
    };
    let left_out = [base, other]
        .into_iter()
        .flat_map(|(name, taken)| taken.left_out().into_iter().map(move |why| format!("{name}: {why}")));
    Row {
        probe: group.probe.clone(),
        quantity: quantity.name.clone(),
        labels: quantity.labels.clone(),
        place: group.place_text(),
        arm: other.0.to_owned(),
        base: base.0.to_owned(),
        decides: asked.metric.decides(&group.probe, &quantity.name),
        measure: Measure::of(asked.metric.statistic, &quantity.unit, is_continuous(group, quantity)),
        a: figures(base),
        b: figures(other),
        comparison,
        p_holm: None,
        verdict: Verdict::Undecided { reason: why },
        left_out: left_out.collect(),
        samples_in: quantity.unit.clone(),
        shift,
    }
}

/// Compares two sides, or returns why it cannot.
fn compared(base: &Side, other: &Side, asked: &Asked) -> Result<Comparison, String> {
    if let Some((name, taken)) = [base, other].into_iter().find(|(_, taken)| taken.repeats.is_empty()) {
        let why = taken.left_out().first().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(format!("{name} has no usable repeat{why}"));
    }
    let ratio = Question { margin: asked.margin, ..Question::RATIO };
    let counts = |(_, taken): &Side| {
        let count = |figure: &Figure| match figure {
            Figure::Count { count, exposure } => Some(Count { count: *count, exposure: *exposure }),
            Figure::Value(_) => None,
        };
        taken.figures().iter().map(count).collect::<Option<Vec<Count>>>()
    };
    let said = |refusal: Refusal| refusal.to_string();
    if let (Some(a), Some(b)) = (counts(base), counts(other)) {
        return compare_rates(&a, &b, ratio).map_err(said);
    }
    let values = |(_, taken): &Side| taken.figures().iter().map(|figure| figure.value()).collect::<Vec<f64>>();
    let (a, b) = (values(base), values(other));
    // Zeros have no ratio, and a margin in percent does not apply to a difference.
    let positive = a.iter().chain(&b).all(|value| *value > 0.0);
    compare(&a, &b, if positive { ratio } else { Question::DIFFERENCE }).map_err(said)
}

/// Sets the adjusted p and the verdict of each row of a family.
fn settle(family: &mut [&mut Row]) {
    let p: Vec<f64> = family.iter().filter_map(|row| row.comparison.as_ref()).map(Comparison::p).collect();
    let count = p.len() as u64;
    let mut adjusted = holm(&p).into_iter();
    for row in family {
        let Some(found) = &row.comparison else { continue };
        let Some(p) = adjusted.next() else { continue };
        row.p_holm = Some(p);
        row.verdict = match found.verdict(p, count) {
            Verdict::Undecided { reason } => Verdict::Undecided { reason: undecided(found, count, reason) },
            verdict => verdict,
        };
    }
}

/// Returns a special text for one run per side, because users often try that first.
fn undecided(found: &Comparison, family: u64, reason: String) -> String {
    let level = LEVEL / family.max(1) as f64;
    if found.repeats != (1, 1) || smallest_p(1, 1) <= level {
        return reason;
    }
    let of = if family > 1 { format!(" for one of {family} verdicts") } else { String::new() };
    let needed = repeats_needed(level).map(|n| format!("; {} per side needed{of}", words::many(n, "repeat")));
    format!("one run per side{}", needed.unwrap_or_default())
}
