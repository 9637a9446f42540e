//! A figure of stored runs over time: one series per quantity and place, with where its level changed and what else changed there.

#[cfg(test)]
mod tests;

use crate::{
    numbers::{
        Kind, Scale,
        history::{self, History, Outcome, Point},
    },
    observed::{
        Figure, Measure, Metric, Observed, Quantity, Unlike, alike,
        differences::{self, Difference},
        grouping::{self, Group, Groups},
        taken::{is_continuous, nothing, quantities, taken},
        unlike::permitted,
    },
    statistics::median,
};
use latido_statistics::two::{holm, verdict::LEVEL};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// What the user requests.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which figure to follow, and which quantity decides.
    pub metric: Metric,
    /// Continue although runs are unlike in these.
    pub despite: Vec<Unlike>,
    /// How far apart the rates of loads may be, .25 for 25 %.
    pub load_margin: f64,
}

/// Stored runs over time.
#[derive(Debug, Serialize)]
pub struct Histories {
    /// `max`, `wakeup.latency.p99.9`.
    #[serde(serialize_with = "metric_as_text")]
    pub metric: Metric,
    /// The runs in order of time.
    pub runs: Vec<String>,
    /// What the runs are unlike in; latido used them nevertheless.
    pub despite: Vec<String>,
    /// Runs that give no value in some series, with the reasons.
    pub left_out: Vec<String>,
    /// One series per quantity and place.
    pub series: Vec<Series>,
    /// The joint outcome of the newest changes of the deciding series.
    pub outcome: Outcome,
}

/// A quantity in a place over time.
#[derive(Debug, Serialize)]
pub struct Series {
    /// The name of the probe.
    pub probe: String,
    /// The name of the quantity.
    pub quantity: String,
    /// What distinguishes it from others of the quantity.
    pub labels: BTreeMap<String, String>,
    /// What distinguishes the place from others of the probe; empty where there is only one place.
    pub place: String,
    /// Whether the series decides the exit status.
    pub decides: bool,
    /// `ns`, `share`, `per hour`.
    #[serde(rename = "measure", serialize_with = "name_of")]
    pub measure: Measure,
    /// One value per run.
    pub points: Vec<Night>,
    /// The changes of the series.
    #[serde(flatten)]
    pub found: History,
    /// The p of its newest change after Holm's correction, among all series that decide; `null` without a change.
    pub p_holm: Option<f64>,
    /// What differs between the runs before and after each change.
    pub differences: Vec<Vec<Difference>>,
}

/// The value of one run.
#[derive(Debug, Serialize)]
pub struct Night {
    /// The id of the run.
    pub run: String,
    /// When the run started.
    pub started: String,
    /// The median of its repeats; for counts, the rate of all repeats together.
    pub value: f64,
    /// The number of repeats.
    pub repeats: u64,
}

fn metric_as_text<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(metric)
}

fn name_of<S: Serializer>(measure: &Measure, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(measure.name())
}

/// Computes the histories of runs in order of time, each run with its repeats.
///
/// # Errors
/// The runs are unlike, or contain nothing that was requested.
pub fn of(runs: &[Vec<Observed>], asked: &Asked) -> Result<Histories, String> {
    let names: Vec<String> =
        runs.iter().map(|run| run.first().map(|one| one.run.clone()).unwrap_or_default()).collect();
    let Groups { mut all, unlike } = grouping::groups(&names, runs, None);
    let each = all.iter().flat_map(|group| alike::unlike(group, &names, None));
    let despite = permitted(unlike.into_iter().chain(each), &asked.despite)?;
    let Unusual { mut left_out, newest } = Unusual::taken_from(&mut all, &names, asked);
    let mut series = Vec::new();
    for group in &all {
        for quantity in quantities(group, &asked.metric) {
            series.extend(one(group, &names, quantity, asked, &mut left_out)?);
        }
    }
    if !series.iter().any(|one: &Series| one.decides) {
        return Err(nothing(&all.iter().collect::<Vec<_>>(), &asked.metric));
    }
    settle(&mut series);
    left_out.dedup();
    let outcome = match outcome(&series) {
        Outcome::NotWorse if newest => Outcome::Undecided,
        outcome => outcome,
    };
    let despite = despite.into_iter().map(|one| one.detail).collect();
    Ok(Histories { metric: asked.metric.clone(), runs: names, despite, left_out, series, outcome })
}

/// What latido removed from the places of a history because a load did unusually much or little: a run under another load says nothing
/// about the system.
struct Unusual {
    /// The removed runs, in words.
    left_out: Vec<String>,
    /// Whether the newest run is among them.
    newest: bool,
}

impl Unusual {
    fn taken_from(places: &mut [Group], names: &[String], asked: &Asked) -> Self {
        let mut taken = Self { left_out: Vec::new(), newest: false };
        if asked.despite.contains(&Unlike::Load) {
            return taken;
        }
        for group in places {
            for (run, why) in alike::unusual_rates(group, names, asked.load_margin) {
                taken.left_out.push(format!("{why}; --despite load includes it anyway"));
                taken.newest |= run + 1 == names.len();
                group.arms.get_mut(run).into_iter().for_each(Vec::clear);
            }
        }
        taken
    }
}

/// Computes the series of one quantity in one place.
fn one(
    group: &Group,
    names: &[String],
    quantity: &Quantity,
    asked: &Asked,
    left_out: &mut Vec<String>,
) -> Result<Option<Series>, String> {
    let mut nights: Vec<(Night, &Vec<&Observed>)> = Vec::new();
    for (name, arm) in names.iter().zip(&group.arms).filter(|(_, arm)| !arm.is_empty()) {
        let taken = taken(arm, quantity);
        left_out.extend(taken.left_out().into_iter().map(|why| format!("{name}: {why}")));
        let Some(value) = pooled(&taken.figures()) else { continue };
        let started = arm.first().map(|one| one.started.clone()).unwrap_or_default();
        nights.push((Night { run: name.clone(), started, value, repeats: taken.repeats.len() as u64 }, arm));
    }
    if nights.is_empty() {
        return Ok(None);
    }
    let points: Vec<Point> =
        nights.iter().map(|(night, _)| Point { label: night.run.clone(), value: night.value }).collect();
    let scale = if points.iter().all(|point| point.value > 0.0) { Scale::Ratio } else { Scale::Difference };
    let measure = Measure::of(asked.metric.statistic, &quantity.unit, is_continuous(group, quantity));
    let kind = if measure.name() == "ns" { Kind::Ns } else { Kind::AsGiven };
    let found = history::of(&points, scale, kind).map_err(|refusal| refusal.to_string())?;
    let between = |index: usize| {
        let sides = index.checked_sub(1).and_then(|before| Some([nights.get(before)?, nights.get(index)?]));
        let sides = sides.map(|sides| sides.map(|(_, arm)| (*arm).clone())).unwrap_or_default();
        differences::of(&sides)
    };
    let differences = found.changes.iter().map(|change| between(change.index)).collect();
    Ok(Some(Series {
        probe: group.probe.clone(),
        quantity: quantity.name.clone(),
        labels: quantity.labels.clone(),
        place: group.place_text(),
        decides: asked.metric.decides(&group.probe, &quantity.name),
        measure,
        points: nights.into_iter().map(|(night, _)| night).collect(),
        found,
        p_holm: None,
        differences,
    }))
}

/// Returns the median of a run's repeats; for counts, the rate of all repeats together.
fn pooled(figures: &[Figure]) -> Option<f64> {
    let counts = figures.iter().map(|figure| match figure {
        Figure::Count { count, exposure } => Some((*count as f64, *exposure)),
        Figure::Value(_) => None,
    });
    if let Some(counts) = counts.collect::<Option<Vec<_>>>().filter(|counts| !counts.is_empty()) {
        let sum = |of: fn(&(f64, f64)) -> f64| counts.iter().map(of).sum::<f64>();
        return Some(sum(|one| one.0) / sum(|one| one.1));
    }
    let values: Vec<f64> = figures.iter().map(|figure| figure.value()).collect();
    (!values.is_empty()).then(|| median(&values))
}

/// With several series a chance change is more likely than with one: the newest change of each gets its p after Holm's correction.
fn settle(series: &mut [Series]) {
    let mut deciding: Vec<&mut Series> = series.iter_mut().filter(|one| one.decides).collect();
    let p: Vec<f64> = deciding.iter().map(|one| one.found.changes.last().map_or(1.0, |change| change.p)).collect();
    for (one, p) in deciding.iter_mut().zip(holm(&p)) {
        one.p_holm = one.found.changes.last().map(|_| p);
    }
}

/// Returns the joint outcome of the deciding series; worse takes precedence over undecided.
fn outcome(series: &[Series]) -> Outcome {
    let each = || series.iter().filter(|one| one.decides).map(Series::outcome);
    if each().any(|one| one == Outcome::Worse) {
        Outcome::Worse
    } else if each().any(|one| one == Outcome::Undecided) {
        Outcome::Undecided
    } else {
        Outcome::NotWorse
    }
}

impl Series {
    /// Returns the outcome of its newest change; undecided if the other series make the change doubtful.
    pub fn outcome(&self) -> Outcome {
        match self.found.outcome {
            Outcome::Worse if self.p_holm.is_some_and(|p| p > LEVEL) => Outcome::Undecided,
            outcome => outcome,
        }
    }
}
