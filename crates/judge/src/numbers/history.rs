//! A statistic over time: where its level changed, and by how much.

use super::Kind;
use crate::statistics::{mean, median};
use latido_statistics::{
    Refusal,
    change::{Changes, LEVEL, Newest, SEGMENT, changes_and_newest},
    two::Scale,
};
use serde::Serialize;

/// A value and what it is of: a night, a commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What it is of.
    pub label: String,
    /// The value.
    pub value: f64,
}

/// Values over time.
#[derive(Debug, Clone, Serialize)]
pub struct History {
    /// Of all values.
    pub unit: Kind,
    /// Whether logarithms were searched (`ratio`) or the values as they are (`difference`).
    pub scale: Scale,
    /// The level of a change.
    pub level: f64,
    /// The fewest values between two changes.
    pub shortest: usize,
    /// How many values there are.
    pub count: u64,
    /// The part of the one before it that latido takes each value to keep: the estimate and its error; 0 where values are independent.
    pub kept: f64,
    /// What lies between changes, in order of time.
    pub segments: Vec<Segment>,
    /// The changes, in order of time.
    pub changes: Vec<Change>,
    /// How the values rise or fall steadily, where that explains them better than changes of level alone.
    pub drift: Option<Drift>,
    /// The newest values, too few for a change, where they stand out of those before them.
    #[serde(flatten)]
    pub newest: Newest,
    /// Whether the newest change is one for the worse.
    pub outcome: Outcome,
    /// Why nothing could be found, where nothing could.
    pub refused: Option<String>,
}

/// Values between two changes.
#[derive(Debug, Clone, Serialize)]
pub struct Segment {
    /// Of its first value.
    pub from: String,
    /// Of its last value.
    pub to: String,
    /// How many values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
}

/// A change of level.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The first value after it, from 0.
    pub index: usize,
    /// The label of the last value before it.
    pub after: String,
    /// The label of the first value behind it.
    pub before: String,
    /// The divergence of the two sides, scaled by their numbers.
    pub q: f64,
    /// Its p by permutations.
    pub p: f64,
    /// The median behind it less that before it.
    pub difference: f64,
    /// The median behind it over that before it, where ratios were asked for.
    pub ratio: Option<f64>,
}

/// A steady rise or fall.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Drift {
    /// From each value to the next: a difference, or a ratio where ratios were asked for.
    pub each: f64,
    /// From the first to the last, likewise.
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

/// What the newest change says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The newest segment is higher than the one before it, or the values rise steadily.
    Worse,
    /// Too few values to find any change, or newest values that stand out and are too few for one.
    Undecided,
    /// No change, or the newest is one to lower values.
    NotWorse,
}

/// Finds the changes of values in order of time. Too few of them are an answer: nothing is decided.
///
/// # Errors
/// There are too many, or one cannot be taken so.
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
