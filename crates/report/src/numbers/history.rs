//! A statistic over time: where its level changed, and by how much.

use super::{Kind, number, p_text};
use crate::{
    statistics::{mean, median},
    terminal::{Paint, Style, hang, paint, table},
    words,
};
use latido_statistics::{
    Refusal,
    change::{Changes, LEVEL, Newest, SEGMENT, changes_and_newest},
    two::Scale,
};
use serde::Serialize;
use table::TextColumn;

/// So many values show whether each keeps a part of the one before it.
const DEPENDENCE: u64 = 30;

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

impl History {
    /// `the newest 3 runs cannot be judged yet: they lie above 56 of the 57 runs before, and a change takes 5`.
    pub fn newest_stand_out(&self, what: &str) -> String {
        let Newest { count, before, as_high } = self.newest;
        let (newest, they) = match count {
            1 => (format!("newest {what}"), "it lies"),
            many => (format!("newest {many} {what}s"), "they lie"),
        };
        let since = if self.changes.is_empty() { "" } else { " since the last change" };
        let above = match as_high {
            0 => format!("all {what}s"),
            some => format!("{} of the {before} {what}s", before - some),
        };
        let shortest = self.shortest;
        format!("the {newest} cannot be judged yet: {they} above {above} before{since}, and a change takes {shortest}")
    }

    /// `the values rise steadily, by 1.9 % from each to the next and to 2.1 times in all: no night of change`.
    pub fn drifts(&self, what: &str, difference: impl Fn(f64) -> String) -> Option<String> {
        let drift = self.drift?;
        let (each, whole) = match self.scale {
            Scale::Ratio => {
                (format!("{} %", number(100.0 * (drift.each - 1.0).abs())), format!("to {} times", number(drift.whole)))
            }
            Scale::Difference => (difference(drift.each.abs()), format!("by {}", difference(drift.whole.abs()))),
        };
        let way = if drift.rises { "rise" } else { "fall" };
        let end = match self.changes.is_empty() {
            true => format!(": no single {what} is a change"),
            false => ", beside the changes".into(),
        };
        Some(format!("the {what}s {way} steadily, by {each} from each to the next and {whole} in all{end}"))
    }

    /// A caution where changes were found among few values.
    pub fn doubt(&self) -> Option<String> {
        let few = self.count < DEPENDENCE && self.kept == 0.0 && !self.changes.is_empty();
        few.then(|| {
            format!(
                "fewer than {DEPENDENCE} values do not show whether each depends on the one before it: if they do, a change may be chance"
            )
        })
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
        if let Some(text) = self.doubt() {
            lines.extend(hang("note:", Paint::Dim, &text, style));
        }
        lines.extend(self.verdict(style));
        lines.join("\n") + "\n"
    }

    fn verdict(&self, style: Style) -> Vec<String> {
        let (label, tone, text) = match (self.outcome, &self.refused) {
            (Outcome::Undecided, why) => {
                ("undecided:", Paint::Warn, why.clone().unwrap_or_else(|| self.newest_stand_out("value")))
            }
            (Outcome::Worse, _) => {
                let drift = self.drifts("value", |value| self.unit.text(value));
                ("worse:", Paint::Bad, drift.unwrap_or_else(|| "the newest change is one to higher values".into()))
            }
            (Outcome::NotWorse, _) if self.drift.is_some() => {
                ("not worse:", Paint::Good, self.drifts("value", |value| self.unit.text(value)).unwrap_or_default())
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies that rise by 5 % a night are worse, and no night of them is a change; few values bring a caution.
    #[test]
    fn a_steady_rise_is_worse() {
        let points = |value: &dyn Fn(usize) -> f64| -> Vec<Point> {
            let noise = |at: usize| 1.0 + 0.03 * ((at * 7 % 5) as f64 - 2.0);
            (0..40).map(|at| Point { label: at.to_string(), value: value(at) * noise(at) }).collect()
        };
        let style = Style { width: 200, color: false };
        let of = |value: &dyn Fn(usize) -> f64| of(&points(value), Scale::Ratio, Kind::AsGiven).unwrap();
        let rise = of(&|at| 20.0 * 1.05_f64.powi(at as i32));
        assert_eq!((rise.outcome, rise.changes.len(), rise.newest.count), (Outcome::Worse, 0, 0));
        let text = rise.text("nights", style);
        assert!(text.contains("worse: the values rise steadily, by 5"), "{text}");
        let fall = of(&|at| 20.0 / 1.05_f64.powi(at as i32));
        assert_eq!(fall.outcome, Outcome::NotWorse);
        assert!(fall.text("nights", style).contains("not worse: the values fall steadily, by 4"), "{fall:?}");
        let step = of(&|at| if at < 20 { 20.0 } else { 40.0 });
        assert!(step.drift.is_none() && step.changes.len() == 1 && step.doubt().is_none(), "{step:?}");
    }
}
