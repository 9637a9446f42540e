//! Finds what a plan declares for its report in the measured data: each cell of a table and each curve of a figure, with the study's
//! printed number for comparison.

use super::{Curve, Report, Section};
use crate::{input::Declared, words};
use latido_judge::repeat::Pooled;
use latido_model::{
    cell::Axis,
    places,
    plan::{
        Distribution, Filter, Over, Pick, Sought, Statistic,
        expect::{is_of_series, picked},
    },
    printed::PrintedNumber,
    record::{QUANTILES, Summary},
    run::pool,
    written,
};

/// The measured data for a pick.
#[derive(Clone, Copy, Debug)]
pub struct Found<'r, 'a> {
    /// The section of the series.
    pub section: &'r Section<'a>,
    /// Its series.
    pub curve: &'r Curve<'a>,
    /// The distribution of the series.
    pub of: Distribution,
}

/// A number of latido with the study's number.
#[derive(Clone, Debug, PartialEq)]
pub struct Figured {
    /// The statistic.
    pub statistic: Statistic,
    /// The stored unit of times and other values; empty for counts and shares.
    pub unit: &'static str,
    /// latido's number; times are in ns.
    pub ours: Option<f64>,
    /// The study's number.
    pub printed: Option<f64>,
    /// The reservation on the study's number.
    pub doubt: String,
    /// Whether latido's number counts instructions of the laboratory, which are not times of a machine.
    pub emulated: bool,
}

/// All results for one pick.
#[derive(Clone, Debug)]
pub struct Entry<'r, 'a> {
    /// The measured data, if there are any.
    pub found: Option<Found<'r, 'a>>,
    /// The number of matching configurations: more than one if a report contains several runs. The first is shown.
    pub fitting: usize,
    /// One for each requested statistic.
    pub figures: Vec<Figured>,
}

/// Looks up what the plan declared.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'r, 'a> {
    /// The measured sections.
    pub sections: &'r [Section<'a>],
    /// The declarations.
    pub declared: &'r Declared<'a>,
}

impl<'r, 'a> Lookup<'r, 'a> {
    /// Returns the lookup for a report whose plan declares something.
    pub fn of(report: &'r Report<'a>) -> Option<Self> {
        let declared = report.input.declared.as_ref()?;
        Some(Self { sections: &report.sections, declared })
    }

    /// Returns the results for a pick.
    pub fn entry(self, pick: &Pick, printed: &[String], statistics: &[Statistic], over: Over) -> Entry<'r, 'a> {
        let published = self.declared.plan.published.as_ref();
        let sought = pick.sought(published);
        let all = self.all(&sought);
        let found = all.first().copied();
        let study = published.map(|published| published.study.as_str()).unwrap_or_default();
        let figure = |statistic: &Statistic| {
            let number = places::number(study, printed, &sought, *statistic);
            Figured {
                statistic: *statistic,
                unit: unit(*statistic, found),
                ours: found.and_then(|found| found.figure(*statistic, over)),
                printed: number.map(PrintedNumber::amount),
                doubt: number.map(|number| number.note.clone()).unwrap_or_default(),
                emulated: found.is_some_and(|found| found.curve.configuration.machine.emulated.is_some()),
            }
        };
        Entry { found, fitting: all.len(), figures: statistics.iter().map(figure).collect() }
    }

    /// Returns the series for a pick, in the order of tables.
    fn all(self, sought: &Sought) -> Vec<Found<'r, 'a>> {
        let (Some((probe, quantity)), Some(levels)) = (&sought.metric, &sought.levels) else { return Vec::new() };
        let sections = self.sections.iter();
        let of = sections.filter(|section| section.probe == probe && section.quantity == quantity);
        let labelled = of.filter(|section| {
            let mut labels = levels.iter().filter(|(key, _)| is_of_series(key));
            labels.all(|(key, level)| section.labels.get(key) == Some(level))
        });
        let each = labelled.flat_map(|section| section.series.iter().map(move |curve| (section, curve)));
        let fits =
            |curve: &Curve| self.is_at(curve, levels) && has_options(curve, sought) && curve.pooled.summary.count > 0;
        each.filter(|(_, curve)| fits(curve))
            .map(|(section, curve)| Found { section, curve, of: sought.taken.of })
            .collect()
    }

    /// Returns whether a series was measured at these levels.
    fn is_at(self, curve: &Curve, levels: &Filter) -> bool {
        levels.iter().filter_map(|(key, level)| Some((Axis::named(key)?, level))).all(|(axis, level)| {
            let known = self.declared.levels.iter().find(|(other, _)| *other == axis);
            let all = known.map(|(_, names)| names.as_slice()).unwrap_or_default();
            picked(&curve.configuration.cell.level(axis), level, all)
        })
    }
}

/// Returns whether a series was measured with the same probe options as in the study.
fn has_options(curve: &Curve, sought: &Sought) -> bool {
    let own = &curve.configuration.cell.probe.options;
    sought.taken.options.iter().all(|(key, value)| own.get(key).is_some_and(|one| written::said(one) == *value))
}

/// Returns the unit of a statistic: `ns` for every time.
fn unit(statistic: Statistic, found: Option<Found>) -> &'static str {
    match statistic {
        Statistic::Count | Statistic::Missed | Statistic::Late | Statistic::Above(_) | Statistic::Share(_) => "",
        _ => match found.map(|found| found.section.unit) {
            None | Some("ns" | "ps") => "ns",
            Some("urad") => "urad",
            Some(_) => "",
        },
    }
}

impl Found<'_, '_> {
    /// Returns a statistic over the repeats; times are in ns.
    pub fn figure(&self, statistic: Statistic, over: Over) -> Option<f64> {
        match over {
            Over::Pooled => of_pooled(self.curve.pooled, self.of, statistic),
            Over::Median => median(&self.repeats(statistic)),
            Over::Each(each) => over_repeats(&self.repeats(each), statistic),
        }
    }

    /// Returns a statistic of each repeat, in their order.
    pub fn repeats(&self, statistic: Statistic) -> Vec<f64> {
        let own = self.curve.pooled.key();
        let repeats = self.curve.configuration.repeats.iter();
        let alike = repeats.filter_map(|repeat| repeat.quantities.iter().find(|one| one.pooled.key() == own));
        alike.filter_map(|one| of_pooled(&one.pooled, self.of, statistic)).collect()
    }
}

/// Returns a statistic of one distribution; times are in ns.
fn of_pooled(pooled: &Pooled, of: Distribution, statistic: Statistic) -> Option<f64> {
    let summary = match of {
        Distribution::Plain if pooled.slots.is_some() => &pooled.plain,
        _ => &pooled.summary,
    };
    let scale = words::in_ns(&pooled.unit).unwrap_or(1.0);
    let whole = |value: Option<i64>| value.map(|value| value as f64 * scale);
    if summary.count == 0 {
        return None;
    }
    match statistic {
        Statistic::Count => Some(summary.count as f64),
        Statistic::Min => whole(summary.min),
        Statistic::Mean => summary.mean.map(|mean| mean * scale),
        Statistic::Sd => summary.sd.map(|sd| sd * scale),
        Statistic::Variance => {
            let n = summary.count as f64;
            summary.sd.map(|sd| sd * sd * scale * scale * (n - 1.0) / n)
        }
        Statistic::Max => whole(summary.max),
        Statistic::Missed => pooled.slots.map(|slots| slots.missed as f64),
        Statistic::Late => pooled.slots.map(|slots| slots.late as f64),
        Statistic::Above(edge) => above(summary, edge).map(|n| n as f64),
        Statistic::Share(edge) => {
            above(summary, edge).map(|n| summary.count.saturating_sub(n) as f64 / summary.count as f64)
        }
        Statistic::Quantile(p) => {
            let (key, _) = QUANTILES.iter().find(|(_, known)| (known - p).abs() < 1e-12)?;
            whole(summary.quantiles.get(*key).copied().flatten())
        }
    }
}

fn above(summary: &Summary, edge: i64) -> Option<u64> {
    pool::above(&summary.bands, edge)
}

/// Returns the median of some numbers.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(low + (high - low) / 2.0)
}

/// Returns a statistic of one number per repeat. The standard deviation uses n - 1, so a single repeat has none.
fn over_repeats(values: &[f64], statistic: Statistic) -> Option<f64> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares = || values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    match statistic {
        Statistic::Count => Some(n as f64),
        Statistic::Min => values.iter().copied().reduce(f64::min),
        Statistic::Max => values.iter().copied().reduce(f64::max),
        Statistic::Mean => Some(mean),
        Statistic::Sd => (n > 1).then(|| (squares() / (n - 1) as f64).sqrt()),
        Statistic::Variance => Some(squares() / n as f64),
        Statistic::Quantile(0.5) => median(values),
        _ => None,
    }
}

impl Figured {
    /// Returns latido's number as a multiple of the study's; nothing for emulated numbers.
    pub fn ratio(&self) -> Option<f64> {
        if self.emulated {
            return None;
        }
        let (ours, printed) = (self.ours?, self.printed.filter(|printed| *printed > 0.0)?);
        Some(ours / printed).filter(|ratio| ratio.is_finite())
    }
}

/// Returns `Table 1. Mutex calls`, or only the title.
pub fn heading(kind: &str, number: Option<&str>, title: &str) -> String {
    match number {
        Some(number) => format!("{kind} {number}. {title}"),
        None => title.to_owned(),
    }
}

/// Returns a remark on the repeats behind numbers: `median over 10 repeats`.
pub fn about_repeats(entries: &[&Entry], over: Over) -> Option<String> {
    if let (Over::Each(each), true) = (over, entries.iter().all(|entry| entry.found.is_none())) {
        return Some(format!("over the repeats, with the {each} of each"));
    }
    let counts = || entries.iter().filter_map(|entry| Some(entry.found?.curve.configuration.repeats.len()));
    let (least, most) = (counts().min()?, counts().max()?);
    let many = if least == most { words::many(most as u64, "repeat") } else { format!("{least} to {most} repeats") };
    Some(match (over, most) {
        (Over::Each(each), _) => format!("over {many}, with the {each} of each"),
        (_, 1) => "one run each".into(),
        (Over::Median, _) => format!("median over {many}"),
        (Over::Pooled, _) => format!("{many} pooled"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statistic of one number per repeat is the one that the studies tabulate over ten repeats.
    #[test]
    fn statistics_over_repeats_are_those_of_their_numbers() {
        let values = [4.0, 8.0, 6.0, 2.0];
        let of = |statistic| over_repeats(&values, statistic);
        assert_eq!([of(Statistic::Min), of(Statistic::Mean), of(Statistic::Max)], [Some(2.0), Some(5.0), Some(8.0)]);
        assert!((of(Statistic::Sd).unwrap() - (20.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((of(Statistic::Variance).unwrap() - 5.0).abs() < 1e-12);
        assert_eq!((over_repeats(&[3.0], Statistic::Sd), over_repeats(&[], Statistic::Max)), (None, None));
        assert_eq!((median(&values), median(&[7.0]), median(&[])), (Some(5.0), Some(7.0), None));
    }
}
