//! A statistic over time: where its level changed, and by how much.

use super::Kind;
use crate::statistics::{mean, median};
use latido_statistics::{
    Refusal,
    change::{Changes, LEVEL, Newest, SEGMENT, changes_and_newest},
    two::Scale,
};
use serde::Serialize;

/// A value and its label: a date, a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The label.
    pub label: String,
    /// The value.
    pub value: f64,
}

/// Values over time.
#[derive(Debug, Clone, Serialize)]
pub struct History {
    /// The unit of all values.
    pub unit: Kind,
    /// Whether the search used logarithms (`ratio`) or the values themselves (`difference`).
    pub scale: Scale,
    /// The significance level of a change.
    pub level: f64,
    /// The fewest values between two changes.
    pub shortest: usize,
    /// The number of values.
    pub count: u64,
    /// The fraction of the previous value that each value keeps, by latido's model: the estimate and its error; 0 where values are
    /// independent.
    pub kept: f64,
    /// The segments between changes, in order of time.
    pub segments: Vec<Segment>,
    /// The changes, in order of time.
    pub changes: Vec<Change>,
    /// A steady rise or fall, where that explains the values better than changes of level alone.
    pub drift: Option<Drift>,
    /// The newest values, if they stand out from those before them but are too few for a change.
    #[serde(flatten)]
    pub newest: Newest,
    /// Whether the newest change is for the worse.
    pub outcome: Outcome,
    /// Why there is no result.
    pub refused: Option<String>,
}

/// The values between two changes.
#[derive(Debug, Clone, Serialize)]
pub struct Segment {
    /// The label of the first value.
    pub from: String,
    /// The label of the last value.
    pub to: String,
    /// The number of values.
    pub count: u64,
    /// The mean of the values.
    pub mean: f64,
    /// The median of the values.
    pub median: f64,
}

/// A change of level.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The index of the first value after it, from 0.
    pub index: usize,
    /// The label of the last value before the change.
    pub after: String,
    /// The label of the first value after the change.
    pub before: String,
    /// The divergence of the two sides, scaled by their sizes.
    pub q: f64,
    /// Its p-value by permutation.
    pub p: f64,
    /// The median after the change minus the median before it.
    pub difference: f64,
    /// The median after the change divided by the median before it, if ratios were requested.
    pub ratio: Option<f64>,
}

/// A steady rise or fall.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Drift {
    /// The step from each value to the next: a difference, or a ratio if ratios were requested.
    pub each: f64,
    /// The step from the first value to the last, in the same way.
    pub whole: f64,
    /// Whether it rises.
    pub rises: bool,
}

impl Drift {
    fn of(slope: f64, count: usize, scale: Scale) -> Self {
        let whole = slope * count.saturating_sub(1) as f64;
        let taken = |step: f64| if scale == Scale::Ratio { step.exp() } else { step };
        Self { each: taken(slope), whole: taken(whole), rises: slope > 0.0 }
    }
}

/// The outcome of the newest change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The newest segment is higher than the one before it, or the values rise steadily.
    Worse,
    /// There are too few values to find any change, or the newest values stand out but are too few for one.
    Undecided,
    /// There is no change, or the newest change is to lower values.
    NotWorse,
}

/// Finds the changes of values in order of time. With too few values it succeeds, but decides nothing.
///
/// # Errors
/// There are too many values, or a value cannot be used on this scale.
pub fn of(points: &[Point], scale: Scale, unit: Kind) -> Result<History, Refusal> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let taken: Vec<f64> = match scale {
        Scale::Ratio if values.iter().any(|value| *value <= 0.0) => return Err(Refusal::NotPositive),
        Scale::Ratio => values.iter().map(|value| value.ln()).collect(),
        Scale::Difference => values.clone(),
    };
    let ((Changes { changes: found, kept, drift }, newest), refused) = match changes_and_newest(&taken) {
        Ok(found) => (found, None),
        Err(few @ Refusal::TooSmall { .. }) => (Default::default(), Some(few.to_string())),
        Err(refusal) => return Err(refusal),
    };
    let cuts: Vec<usize> = found.iter().map(|change| change.index).collect();
    let ends = || cuts.iter().copied().chain([points.len()]);
    let segments: Vec<Segment> = [0]
        .into_iter()
        .chain(cuts.iter().copied())
        .zip(ends())
        .filter_map(|(from, to)| segment(points.get(from..to)?))
        .collect();
    let told = found.iter().zip(segments.iter().zip(segments.iter().skip(1)));
    let changes: Vec<Change> = told
        .map(|(change, (old, new))| Change {
            index: change.index,
            after: old.to.clone(),
            before: new.from.clone(),
            q: change.q,
            p: change.p,
            difference: new.median - old.median,
            ratio: (scale == Scale::Ratio).then(|| new.median / old.median),
        })
        .collect();
    let drift = drift.map(|slope| Drift::of(slope, points.len(), scale));
    let outcome = match (changes.last(), &refused) {
        (_, Some(_)) => Outcome::Undecided,
        _ if drift.is_some_and(|drift| drift.rises) => Outcome::Worse,
        (Some(newest), _) if newest.difference > 0.0 => Outcome::Worse,
        _ if newest.count > 0 => Outcome::Undecided,
        _ => Outcome::NotWorse,
    };
    let count = points.len() as u64;
    let shortest = SEGMENT;
    let level = LEVEL;
    Ok(History { unit, scale, level, shortest, count, kept, segments, changes, drift, newest, outcome, refused })
}

fn segment(points: &[Point]) -> Option<Segment> {
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    Some(Segment {
        from: points.first()?.label.clone(),
        to: points.last()?.label.clone(),
        count: points.len() as u64,
        mean: mean(&values),
        median: median(&values),
    })
}
