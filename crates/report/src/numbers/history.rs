//! A statistic over time as text.

use super::{number, p_text};
use crate::{
    terminal::{Paint, Style, hang, paint, table},
    words,
};
use latido_judge::numbers::history::{History, Outcome, Segment};
use latido_statistics::{change::Newest, two::Scale};
use table::TextColumn;

/// The number of values from which latido can see whether each value depends on the one before it.
const DEPENDENCE: u64 = 30;

/// Returns a sentence like `the newest 3 runs cannot be judged yet: they lie above 56 of the 57 runs before, and a change needs 5`.
pub fn newest_stand_out(history: &History, what: &str) -> String {
    let Newest { count, before, as_high } = history.newest;
    let (newest, they) = match count {
        1 => (format!("newest {what}"), "it lies"),
        many => (format!("newest {many} {what}s"), "they lie"),
    };
    let since = if history.changes.is_empty() { "" } else { " since the last change" };
    let above = match as_high {
        0 if before == 1 => format!("the only {what}"),
        0 => format!("all {what}s"),
        some => format!("{} of the {before} {what}s", before - some),
    };
    let shortest = history.shortest;
    format!("the {newest} cannot be judged yet: {they} above {above} before{since}, and a change needs {shortest}")
}

/// Returns a phrase like `the values rise steadily, by 1.9 % from each to the next and to 2.1 times in all: no single value is a change`.
pub fn drifts(history: &History, what: &str, difference: impl Fn(f64) -> String) -> Option<String> {
    let drift = history.drift?;
    let (each, whole) = match history.scale {
        Scale::Ratio => {
            (format!("{} %", number(100.0 * (drift.each - 1.0).abs())), format!("to {} times", number(drift.whole)))
        }
        Scale::Difference => (difference(drift.each.abs()), format!("by {}", difference(drift.whole.abs()))),
    };
    let way = if drift.rises { "rise" } else { "fall" };
    let end = match history.changes.is_empty() {
        true => format!(": no single {what} is a change"),
        false => ", in addition to the changes".into(),
    };
    Some(format!("the {what}s {way} steadily, by {each} from each to the next and {whole} in all{end}"))
}

/// Returns a caution where changes were found among few values.
pub fn doubt(history: &History) -> Option<String> {
    let few = history.count < DEPENDENCE && history.kept == 0.0 && !history.changes.is_empty();
    few.then(|| {
        format!(
            "fewer than {DEPENDENCE} values do not show whether each depends on the one before it: if they do, a change may be chance"
        )
    })
}

/// Returns the text for people.
pub fn text(history: &History, name: &str, style: Style) -> String {
    let title = format!("{name}: {}", words::many(history.count, "value"));
    let mut lines = vec![paint(&title, Paint::Bold, style)];
    let column = |head: &str, of: &dyn Fn(&Segment) -> String| TextColumn {
        name: head.into(),
        cells: history.segments.iter().map(of).collect(),
        ..TextColumn::default()
    };
    lines.extend(table::render(
        vec![
            TextColumn { left: true, ..column("from", &|one| one.from.clone()) },
            TextColumn { left: true, ..column("to", &|one| one.to.clone()) },
            column("values", &|one| one.count.to_string()),
            column("mean", &|one| history.unit.text(one.mean)),
            column("median", &|one| history.unit.text(one.median)),
        ],
        style,
    ));
    lines.push(String::new());
    for change in &history.changes {
        let by = match change.ratio {
            Some(ratio) => format!("{} times as much", number(ratio)),
            None if change.difference < 0.0 => format!("{} less", history.unit.text(-change.difference)),
            None => format!("{} more", history.unit.text(change.difference)),
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
    if history.kept > 0.0 {
        let percent = number(100.0 * history.kept);
        let text = format!(
            "each value keeps up to {percent} % of the deviation of the value before it; latido searched the rest for changes"
        );
        lines.extend(hang("dependence:", Paint::Dim, &text, style));
    }
    if let Some(text) = doubt(history) {
        lines.extend(hang("note:", Paint::Dim, &text, style));
    }
    lines.extend(verdict(history, style));
    lines.join("\n") + "\n"
}

fn verdict(history: &History, style: Style) -> Vec<String> {
    let (label, tone, text) = match (history.outcome, &history.refused) {
        (Outcome::Undecided, why) => {
            ("undecided:", Paint::Warn, why.clone().unwrap_or_else(|| newest_stand_out(history, "value")))
        }
        (Outcome::Worse, _) => {
            let drift = drifts(history, "value", |value| history.unit.text(value));
            ("worse:", Paint::Bad, drift.unwrap_or_else(|| "the newest change is to higher values".into()))
        }
        (Outcome::NotWorse, _) if history.drift.is_some() => {
            ("not worse:", Paint::Good, drifts(history, "value", |value| history.unit.text(value)).unwrap_or_default())
        }
        (Outcome::NotWorse, _) if history.changes.is_empty() => (
            "not worse:",
            Paint::Good,
            format!("no change of level was found (at {} %)", words::trimmed(history.level * 100.0)),
        ),
        (Outcome::NotWorse, _) => ("not worse:", Paint::Good, "the newest change is to lower values".into()),
    };
    hang(label, tone, &text, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::numbers::{
        Kind,
        history::{Point, of},
    };

    /// Latencies that rise by 5 % per run are worse, although no single run is a change; few values add a caution.
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
        let text = text(&rise, "nights", style);
        assert!(text.contains("worse: the values rise steadily, by 5"), "{text}");
        let fall = of(&|at| 20.0 / 1.05_f64.powi(at as i32));
        assert_eq!(fall.outcome, Outcome::NotWorse);
        assert!(super::text(&fall, "nights", style).contains("not worse: the values fall steadily, by 4"), "{fall:?}");
        let step = of(&|at| if at < 20 { 20.0 } else { 40.0 });
        assert!(step.drift.is_none() && step.changes.len() == 1 && doubt(&step).is_none(), "{step:?}");
    }
}
