//! Histories for a terminal: a line per run, a rule where the level changed, and what changed with it.

mod figures;

pub use figures::figures;

use crate::{
    numbers::{history as of_values, number, p_text},
    terminal::{Paint, Style, hang, paint},
    words,
};
use latido_judge::{
    history::{Histories, Series},
    numbers::history::{Change, Outcome},
    observed::Measure,
};
use latido_model::clean;
use latido_statistics::change::SEGMENT;

/// The most runs that are drawn: the newest ones.
const DRAWN: usize = 60;
/// With more series than this, a series without a change is only one line.
const WHOLE: usize = 4;

/// Returns the text for people.
pub fn text(histories: &Histories, style: Style) -> String {
    let head = format!("{} over {}", histories.metric, words::many(histories.runs.len() as u64, "run"));
    let mut lines = vec![paint(&head, Paint::Bold, style)];
    for one in &histories.despite {
        lines.extend(hang("not alike:", Paint::Warn, one, style));
    }
    for one in &histories.left_out {
        lines.extend(hang("left out:", Paint::Warn, one, style));
    }
    for one in &histories.series {
        lines.push(String::new());
        lines.push(paint(&title(one), Paint::Plain, style));
        if one.decides && (histories.series.len() <= WHOLE || !one.found.changes.is_empty()) {
            lines.extend(drawn(one, style));
        }
        lines.extend(changes(one, style));
    }
    lines.push(String::new());
    lines.extend(last_word(histories, style));
    lines.join("\n") + "\n"
}

/// Returns a remark on how far the search reaches.
fn reach(histories: &Histories) -> String {
    let last = histories.runs.last().map_or("RUN", |run| run.as_str());
    format!(
        "; a change needs {SEGMENT} runs, and none of the newest {} stands out (to test {last} alone: --against last:10)",
        SEGMENT - 1
    )
}

fn last_word(histories: &Histories, style: Style) -> Vec<String> {
    let deciding: Vec<&Series> = histories.series.iter().filter(|one| one.decides).collect();
    let of = |outcome: Outcome| {
        let named = deciding.iter().filter(|one| one.outcome() == outcome).map(|one| name(one));
        named.collect::<Vec<_>>().join("; ")
    };
    let (label, tone, text) = match histories.outcome {
        Outcome::Worse => {
            let drifts = deciding.iter().all(|one| one.outcome() != Outcome::Worse || one.found.drift.is_some());
            let what = if drifts { "values rise steadily" } else { "the newest change is for the worse" };
            ("worse:", Paint::Bad, format!("{what}: {}", of(Outcome::Worse)))
        }
        Outcome::Undecided => {
            let open = of(Outcome::Undecided);
            let text = if open.is_empty() { "the newest run is left out and may be worse".into() } else { open };
            ("undecided:", Paint::Warn, text)
        }
        Outcome::NotWorse if deciding.iter().all(|one| one.found.changes.is_empty()) => {
            ("not worse:", Paint::Good, format!("no change of level was found{}", reach(histories)))
        }
        Outcome::NotWorse => {
            ("not worse:", Paint::Good, format!("the newest change is not for the worse{}", reach(histories)))
        }
    };
    hang(label, tone, &text, style)
}

/// Returns a series' name: `wakeup latency, busy`.
pub fn name(series: &Series) -> String {
    let quantity = format!("{} {}", series.probe, series.quantity.replace('_', " "));
    let parts = [quantity, words::labels(&series.labels), series.place.clone()];
    let all = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    clean::line(&all).into_owned()
}

fn title(series: &Series) -> String {
    let repeats = || series.points.iter().map(|night| night.repeats);
    // The count of a run is that of all its repeats together.
    let which = if matches!(series.measure, Measure::Per(_)) { "rate" } else { "median" };
    let of = match (repeats().min(), repeats().max()) {
        (Some(1), Some(1)) | (None, _) | (_, None) => String::new(),
        (Some(a), Some(b)) if a == b => format!(", each the {which} of {a} repeats"),
        (Some(a), Some(b)) => format!(", each the {which} of {a} to {b} repeats"),
    };
    format!("{}: {}{of}", name(series), words::many(series.points.len() as u64, "value"))
}

/// Returns a line per run: its name, its value, and a mark at the value's position between the smallest and the largest.
fn drawn(series: &Series, style: Style) -> Vec<String> {
    let earlier = series.points.len().saturating_sub(DRAWN);
    let shown = series.points.get(earlier..).unwrap_or_default();
    let extreme = |pick: fn(f64, f64) -> f64| series.points.iter().map(|one| one.value).reduce(pick).unwrap_or(0.0);
    let (low, high) = (extreme(f64::min), extreme(f64::max));
    let share = |value: f64| match high - low {
        span if span <= 0.0 => 0.0,
        // A logarithmic scale, because the user looks for ratios.
        _ if low > 0.0 => (value / low).ln() / (high / low).ln(),
        span => (value - low) / span,
    };
    let texts: Vec<String> = shown.iter().map(|one| series.measure.text(one.value)).collect();
    let width = |all: &mut dyn Iterator<Item = &str>| all.map(|text| text.chars().count()).max().unwrap_or(0);
    let name = width(&mut shown.iter().map(|one| one.run.as_str()));
    let value = width(&mut texts.iter().map(String::as_str));
    let room = style.width.saturating_sub(name + value + 6).clamp(8, 60);
    let mut lines = Vec::new();
    if earlier > 0 {
        lines.push(paint(&format!("  {} earlier", words::many(earlier as u64, "run")), Paint::Dim, style));
    }
    for (at, (one, text)) in shown.iter().zip(&texts).enumerate() {
        if series.found.changes.iter().any(|change| change.index == at + earlier) {
            lines.push(paint(&format!("  {}", "-".repeat(name + value + room + 3)), Paint::Warn, style));
        }
        let place = (share(one.value) * (room - 1) as f64).round() as usize;
        let run = paint(&format!("{:<name$}", one.run), Paint::Dim, style);
        lines.push(format!("  {run}  {text:>value$} |{}*", " ".repeat(place.min(room - 1))));
    }
    lines
}

fn changes(series: &Series, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (change, differences) in series.found.changes.iter().zip(&series.differences) {
        let tone = if change.difference > 0.0 { Paint::Bad } else { Paint::Good };
        lines.extend(hang("change:", tone, &changed(change, series), style));
        let told = |one: &latido_judge::observed::differences::Difference| {
            let value = |at: usize| one.values.get(at).filter(|value| !value.is_empty()).map_or("unknown", |v| v);
            format!("{} from {} to {}", one.what, value(0), value(1))
        };
        let text = match differences.is_empty() {
            true => "nothing that latido recorded".into(),
            false => differences.iter().map(told).collect::<Vec<_>>().join("; "),
        };
        lines.extend(hang("  differs there:", Paint::Dim, &text, style));
    }
    if series.decides {
        lines.extend(remarks(series, style));
    }
    lines
}

/// Returns what a reader must know of a series that decides, besides its changes.
fn remarks(series: &Series, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if series.found.changes.is_empty() {
        let text = series.found.refused.clone().or_else(|| drift(series));
        lines.extend(hang("  ", Paint::Dim, &text.unwrap_or_else(|| UNCHANGED.into()), style));
    } else {
        lines.extend(drift(series).iter().flat_map(|text| hang("drift:", Paint::Warn, text, style)));
    }
    if let Some(text) = of_values::doubt(&series.found) {
        lines.extend(hang("note:", Paint::Dim, &text, style));
    }
    if series.found.refused.is_none() && series.found.outcome == Outcome::Undecided {
        lines.extend(hang("undecided:", Paint::Warn, &of_values::newest_stand_out(&series.found, "run"), style));
    }
    if series.found.outcome != series.outcome() {
        lines.extend(hang("undecided:", Paint::Warn, &by_chance(series), style));
    }
    lines
}

/// Returns what decides the outcome of a series, as one sentence.
pub(crate) fn newest(series: &Series) -> String {
    let found = &series.found;
    let change = found.changes.last().map(|change| changed(change, series));
    // A fall with a step up in it is worse by the step.
    let drifts = found.drift.is_some_and(|drift| drift.rises || found.changes.is_empty());
    match &found.refused {
        Some(why) => why.clone(),
        None if found.outcome == Outcome::Undecided => of_values::newest_stand_out(found, "run"),
        None if found.outcome != series.outcome() => by_chance(series),
        None => drift(series).filter(|_| drifts).or(change).unwrap_or_else(|| UNCHANGED.into()),
    }
}

/// The text for a series without a change.
const UNCHANGED: &str = "no change of level was found";

/// Returns the sentence on a change: `between RUN and RUN: 1.50 times as much from then on (p .001)`.
fn changed(change: &Change, series: &Series) -> String {
    let by = match change.ratio {
        Some(ratio) => format!("{} times as much", number(ratio)),
        None if change.difference < 0.0 => format!("{} less", series.measure.text(-change.difference)),
        None => format!("{} more", series.measure.text(change.difference)),
    };
    format!("between {} and {}: {by} from then on (p {})", change.after, change.before, p_text(change.p))
}

/// Returns the sentence on a steady rise or fall.
fn drift(series: &Series) -> Option<String> {
    of_values::drifts(&series.found, "run", |value| series.measure.text(value))
}

/// Returns the sentence on a newest change that may be chance among several series.
fn by_chance(series: &Series) -> String {
    let p = series.p_holm.map(p_text).unwrap_or_default();
    format!("among all deciding series, the newest change may be chance (p {p} after Holm)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Style;
    use latido_judge::{
        history::{Asked, of},
        observed::{Observed, Wanted, of_run},
    };
    use latido_model::{
        plan::Statistic,
        sample::{Fixture, cell},
    };

    /// Returns runs of one cell each with these maxima, in us.
    fn histories(maxima: &[i64], change: impl Fn(&mut Observed)) -> Histories {
        let night = |(number, max): (usize, &i64)| {
            let samples = (0..500).map(|k| 2_000 + k % 7).chain([max * 1_000]).collect();
            let fixture = Fixture::new(vec![(cell(), vec![samples])]);
            let wanted = Wanted { statistic: Statistic::Max, samples: false };
            let mut all = of_run(&fixture.run, wanted, &fixture, &mut Vec::new()).unwrap();
            all.iter_mut().for_each(|one| one.run = format!("night {number}"));
            all.iter_mut().for_each(&change);
            all
        };
        let nights: Vec<Vec<Observed>> = maxima.iter().enumerate().map(night).collect();
        let asked = Asked { metric: "max".parse().unwrap(), despite: Vec::new(), load_margin: 0.25 };
        of(&nights, &asked).unwrap()
    }

    fn shown(maxima: &[i64]) -> String {
        text(&histories(maxima, |_| ()), Style { width: 200, color: false })
    }

    /// The picture of a series has a mark for each run and a line at the change; the data are next to it.
    #[test]
    fn a_change_is_drawn() {
        let maxima: Vec<i64> = (0..14).map(|n| if n < 8 { 100 } else { 150 } + n % 4).collect();
        let figures = figures(&histories(&maxima, |_| ()));
        let [(name, picture, table)] = figures.as_slice() else { panic!("{figures:?}") };
        assert_eq!((name.as_str(), picture.body.matches("#m0").count()), ("history-wakeup latency", maxima.len()));
        assert!(picture.body.contains(">night 8<") && picture.description.contains("between night 7 and night 8"));
        assert_eq!(table.rows.len(), maxima.len());
        let steady: Vec<i64> = (0..14).map(|n| 50 + n % 3).collect();
        let steady = super::figures(&histories(&steady, |_| ()));
        assert!(steady[0].1.description.contains("no change of level"), "{}", steady[0].1.description);
    }

    /// Names in a run from outside start no line of the terminal.
    #[test]
    fn a_hostile_name_is_one_line() {
        let hostile = |one: &mut Observed| {
            one.quantities.iter_mut().for_each(|of| of.labels = [("board\nok 1".to_owned(), "x\ty".to_owned())].into());
        };
        let text = text(&histories(&[100; 12], hostile), Style { width: 200, color: false });
        assert!(
            text.contains("\\u000aok 1") && !text.lines().any(|line| line.starts_with("ok 1")) && !text.contains('\t'),
            "{text}"
        );
    }

    /// A CI system fails at a level that is worse, and at newest runs that nobody can judge yet.
    #[test]
    fn a_history_is_a_test_for_a_ci_system() {
        let level = |from: usize, high: i64| -> Vec<i64> {
            (0..20).map(|n| if n < from { 100 + n as i64 % 7 } else { high + n as i64 % 7 }).collect()
        };
        let fall = (0..20).map(|n| if n < 12 { 400 - 20 * n } else { 900 - 20 * n }).collect();
        for (maxima, counts, why) in [
            (
                level(10, 300),
                "failures=\"1\" errors=\"0\"",
                "<failure type=\"fail\" message=\"between night 9 and night 10",
            ),
            (level(17, 300), "failures=\"0\" errors=\"1\"", "message=\"the newest 3 runs cannot be judged yet"),
            (level(20, 0), "failures=\"0\" errors=\"0\"", "<system-out>no change of level was found"),
            // A fall with a step up in it: the step is what is worse.
            (fall, "failures=\"1\" errors=\"0\"", "message=\"between night 11 and night 12"),
        ] {
            let text = crate::export::compared::histories(&histories(&maxima, |_| ()));
            assert!(text.contains(counts) && text.contains(why), "{text}");
            assert!(
                text.contains("name=\"history: wakeup latency: max\"") && text.contains("value=\"night 19\""),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_open_is_said() {
        let high = |from: usize, maximum: i64| -> Vec<i64> {
            (0..20).map(|n| if n < from { 100 + n as i64 % 7 } else { maximum }).collect()
        };
        let text = shown(&high(17, 300));
        assert!(text.contains("the newest 3 runs cannot be judged yet: they lie above all runs before"), "{text}");
        let mut calm = high(20, 0);
        calm[9] = 900;
        let text = shown(&calm);
        assert!(text.contains("none of the newest 4 stands out") && text.contains("--against last:10"), "{text}");
        let text = shown(&high(20, 0)[..9]);
        assert!(text.contains("too few values in order of time: 9; the minimum is 10"), "{text}");
    }
}
