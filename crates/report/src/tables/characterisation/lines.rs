//! The lines of a characterisation table: each call as limits judge it, and below it further figures that a study printed.

use super::{Call, CallFigures};
use crate::{
    study::{PublishedColumn, PublishedRow},
    tree::{CallRow, Chapter, Curve, Datum, Section},
    words::{self, Unit, in_ns},
};
use latido_judge::statistics::pool;
use latido_model::{
    plan::{Distribution, Statistic},
    record::Summary,
    written,
};

/// A line without its entries.
pub(super) struct Line<'c, 's, 'a> {
    row: &'c CallRow<'s, 'a>,
    section: &'s Section<'a>,
    form: Form,
}

/// The content of a line.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// Minimum, mean and maximum of one distribution.
    Three(Distribution),
    /// One figure, of one distribution.
    One(Statistic, Distribution),
}

/// Returns the lines of a chapter. A call has additional lines where a study counted only wake-ups, or printed a share or a count: such
/// numbers are compared with the same figure of latido only.
pub(super) fn of<'c, 's, 'a>(chapter: &'c Chapter<'s, 'a>, published: &[PublishedColumn]) -> Vec<Line<'c, 's, 'a>> {
    let mut lines = Vec::new();
    for row in &chapter.rows {
        let Some(section) = chapter.section(row) else { continue };
        let mut forms = vec![Form::Three(Distribution::Corrected)];
        let own = Line { row, section, form: Form::Three(Distribution::Corrected) };
        for printed in published.iter().flat_map(|column| &column.rows).filter(|one| own.is_of(one)) {
            let three = Form::Three(own.distribution(printed));
            let single = printed.other.iter().map(|(statistic, _)| Form::One(*statistic, printed.of));
            for form in std::iter::once(three).chain(single) {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        lines.extend(forms.into_iter().map(|form| Line { row, section, form }));
    }
    lines
}

impl Line<'_, '_, '_> {
    /// Returns whether printed numbers are about this call.
    fn is_of(&self, printed: &PublishedRow) -> bool {
        let Self { row, section, .. } = self;
        let options = row.series.iter().flatten().map(|s| &s.configuration.cell.probe.options).next();
        let has =
            |key: &String, value: &String| options.and_then(|o| o.get(key)).is_some_and(|v| written::said(v) == *value);
        (printed.probe.as_str(), printed.quantity.as_str()) == (section.probe, section.quantity)
            && printed.labels.iter().all(|(key, value)| section.labels.get(key) == Some(value))
            && printed.options.iter().all(|(key, value)| has(key, value))
    }

    /// Returns the distribution of latido with which printed numbers are compared: without slots there is only one.
    fn distribution(&self, printed: &PublishedRow) -> Distribution {
        let slots = self.row.series.iter().flatten().any(|series| series.pooled.slots.is_some());
        if slots { printed.of } else { Distribution::Corrected }
    }

    /// Returns the measured values, before the row has a unit.
    pub(super) fn measured(&self) -> Call {
        let (row, section) = (self.row, self.section);
        let name = match self.form {
            Form::Three(Distribution::Corrected) => row.name.clone(),
            Form::Three(Distribution::Plain) => format!("{}, {} alone", row.name, words::plural(section.noun())),
            Form::One(Statistic::Above(edge), _) => format!("{}, above {}", row.name, edge_name(edge)),
            Form::One(Statistic::Share(edge), _) => format!("{}, up to {}", row.name, edge_name(edge)),
            Form::One(statistic, _) => format!("{}, {statistic}", row.name),
        };
        let entry = |series: &Curve| match self.form {
            Form::Three(of) => three(series, of),
            Form::One(statistic, of) => one(distribution(series, of), statistic),
        };
        Call {
            name,
            section: row.section,
            second: if matches!(self.form, Form::Three(_)) { "p99.9" } else { "samples" },
            stored: match self.form {
                Form::One(Statistic::Above(_), _) => words::plural(section.noun()),
                Form::One(Statistic::Share(_), _) => "share".into(),
                _ => section.unit.to_owned(),
            },
            unit: Unit::stored(section.unit),
            entries: row.series.iter().map(|series| series.map_or(CallFigures::Absent, entry)).collect(),
        }
    }

    /// Returns the unit of a figure that is not a time.
    pub(super) fn unit(&self) -> Option<Unit> {
        match self.form {
            Form::One(Statistic::Above(_), _) => Some(Unit::stored(&words::plural(self.section.noun()))),
            Form::One(Statistic::Share(_), _) => Some(Unit::stored("%")),
            _ => None,
        }
    }

    /// Returns the study's printed numbers for the line. A new reservation on them becomes a note.
    pub(super) fn printed(&self, rows: &[PublishedRow], notes: &mut Vec<String>) -> CallFigures {
        let Some(ns) = in_ns(self.section.unit) else { return CallFigures::Unpublished };
        let Some(printed) = rows.iter().find(|one| self.is_of(one)) else { return CallFigures::Unpublished };
        match self.form {
            Form::Three(of) => {
                if of != self.distribution(printed) {
                    return CallFigures::Unpublished;
                }
                let figures = [printed.min, printed.mean, printed.max];
                let figures = figures.map(|v| v.filter(|v| v.is_finite()).map(|v| v / ns));
                let doubt = printed.doubt();
                if doubt.is_none() && figures.iter().all(Option::is_none) {
                    return CallFigures::Unpublished;
                }
                CallFigures::Published { figures, mark: doubt.map(|doubt| number(notes, doubt)) }
            }
            Form::One(statistic, of) => {
                let same = printed.other.iter().find(|(other, _)| (*other, printed.of) == (statistic, of));
                let Some((_, value)) = same else { return CallFigures::Unpublished };
                let figure = match statistic {
                    Statistic::Above(_) => Datum::Count(value.round() as u64),
                    Statistic::Share(_) => Datum::Share(*value),
                    _ => Datum::Value(value / ns),
                };
                CallFigures::Single { figure, samples: None }
            }
        }
    }
}

/// Returns the name of an edge in ns: `100 µs`.
fn edge_name(edge: i64) -> String {
    words::round_value(edge as f64, "ns")
}

fn distribution<'s>(series: &'s Curve, of: Distribution) -> &'s Summary {
    match of {
        Distribution::Corrected => &series.pooled.summary,
        Distribution::Plain => &series.pooled.plain,
    }
}

fn three(series: &Curve, of: Distribution) -> CallFigures {
    let summary = distribution(series, of);
    let p999 = summary.quantiles.get("0.999").copied().flatten().map(|v| v as f64);
    match (summary.min, summary.mean, summary.max) {
        (Some(min), Some(mean), Some(max)) => {
            CallFigures::Measured { min: min as f64, mean, max: max as f64, p999, count: summary.count }
        }
        _ => CallFigures::Absent,
    }
}

fn one(summary: &Summary, statistic: Statistic) -> CallFigures {
    let above = |edge| pool::above(&summary.bands, edge);
    let figure = match statistic {
        Statistic::Above(edge) => above(edge).map(Datum::Count),
        Statistic::Share(edge) => above(edge).filter(|_| summary.count > 0).map(|above| {
            let within = summary.count.saturating_sub(above);
            Datum::Share(within as f64 / summary.count as f64)
        }),
        Statistic::Sd => summary.sd.map(Datum::Value),
        _ => None,
    };
    figure.map_or(CallFigures::Absent, |figure| CallFigures::Single { figure, samples: Some(summary.count) })
}

/// Returns the number of a note; equal texts share a number.
fn number(notes: &mut Vec<String>, text: String) -> usize {
    match notes.iter().position(|known| *known == text) {
        Some(at) => at + 1,
        None => {
            notes.push(text);
            notes.len()
        }
    }
}
