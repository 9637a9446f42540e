//! A statistic over time: where its level changed, and by how much.

use super::{Kind, number, p_text};
use crate::{
    statistics::{mean, median},
    terminal::{Paint, Style, hang, paint, table},
    words,
};
use latido_statistics::{
    Refusal,
    change::{Changes, LEVEL, SEGMENT, changes},
    two::Scale,
};
use serde::Serialize;
use table::TextColumn;

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
    /// How many of the newest values lie above all values before them since the last change, where these are too few for a change;
    /// 0 where the newest value does not.
    pub standing_out: u64,
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

/// What the newest change says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The newest segment is higher than the one before it.
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
    let (Changes { changes: found, kept }, refused) = match changes(&taken) {
        Ok(found) => (found, None),
        Err(few @ Refusal::TooSmall { .. }) => (Changes::default(), Some(few.to_string())),
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
    let standing_out = standing_out(values.get(cuts.last().copied().unwrap_or(0)..).unwrap_or_default());
    let outcome = match (changes.last(), &refused) {
        (_, Some(_)) => Outcome::Undecided,
        (Some(newest), _) if newest.difference > 0.0 => Outcome::Worse,
        _ if standing_out > 0 => Outcome::Undecided,
        _ => Outcome::NotWorse,
    };
    let count = points.len() as u64;
    let shortest = SEGMENT;
    Ok(History { unit, scale, level: LEVEL, shortest, count, kept, segments, changes, standing_out, outcome, refused })
}

/// How many of the newest values, fewer than a change takes, lie above all others of their segment: the most that do. Of values that
/// nothing orders the newest one does so once in as many as there are.
fn standing_out(segment: &[f64]) -> u64 {
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let stand = |newest: &usize| {
        let (before, after) = segment.split_at(segment.len().saturating_sub(*newest));
        before.len() >= SEGMENT && after.iter().all(|value| *value > most(before))
    };
    (1..SEGMENT).rev().find(stand).unwrap_or(0) as u64
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

impl History {
    /// `the newest 3 runs cannot be judged yet: they lie above all runs before them, and a change takes 5`.
    pub fn newest_stand_out(&self, what: &str) -> String {
        let (newest, they) = match self.standing_out {
            1 => (format!("newest {what}"), "it lies"),
            many => (format!("newest {many} {what}s"), "they lie"),
        };
        let since = if self.changes.is_empty() { "" } else { " since the last change" };
        let shortest = self.shortest;
        format!(
            "the {newest} cannot be judged yet: {they} above all {what}s before{since}, and a change takes {shortest}"
        )
    }

    /// What a person is shown.
    pub fn text(&self, name: &str, style: Style) -> String {
        let title = format!("{name}: {}", words::many(self.count, "value"));
        let mut lines = vec![paint(&title, Paint::Bold, style)];
        let column = |head: &str, of: &dyn Fn(&Segment) -> String| TextColumn {
            name: head.into(),
            cells: self.segments.iter().map(of).collect(),
            ..TextColumn::default()
        };
        lines.extend(table::render(
            vec![
                TextColumn { left: true, ..column("from", &|one| one.from.clone()) },
                TextColumn { left: true, ..column("to", &|one| one.to.clone()) },
                column("values", &|one| one.count.to_string()),
                column("mean", &|one| self.unit.text(one.mean)),
                column("median", &|one| self.unit.text(one.median)),
            ],
            style,
        ));
        lines.push(String::new());
        for change in &self.changes {
            let by = match change.ratio {
                Some(ratio) => format!("{} times as much", number(ratio)),
                None if change.difference < 0.0 => format!("{} less", self.unit.text(-change.difference)),
                None => format!("{} more", self.unit.text(change.difference)),
            };
            let text = format!(
                "between {} and {}: {by} from then on (Q {}, p {})",
                change.after,
                change.before,
                number(change.q),
                p_text(change.p)
            );
            let tone = if change.difference > 0.0 { Paint::Bad } else { Paint::Good };
            lines.extend(hang("change:", tone, &text, style));
        }
        if self.kept > 0.0 {
            let percent = number(100.0 * self.kept);
            let text = format!(
                "each value keeps up to {percent} % of how far the one before it lay from its level: latido searched what it adds to that"
            );
            lines.extend(hang("dependence:", Paint::Dim, &text, style));
        }
        lines.extend(self.verdict(style));
        lines.join("\n") + "\n"
    }

    fn verdict(&self, style: Style) -> Vec<String> {
        let (label, tone, text) = match (self.outcome, &self.refused) {
            (Outcome::Undecided, why) => {
                ("undecided:", Paint::Warn, why.clone().unwrap_or_else(|| self.newest_stand_out("value")))
            }
            (Outcome::Worse, _) => ("worse:", Paint::Bad, "the newest change is one to higher values".into()),
            (Outcome::NotWorse, _) if self.changes.is_empty() => (
                "not worse:",
                Paint::Good,
                format!("no change of level was found (at {} %)", words::trimmed(self.level * 100.0)),
            ),
            (Outcome::NotWorse, _) => ("not worse:", Paint::Good, "the newest change is one to lower values".into()),
        };
        hang(label, tone, &text, style)
    }
}
