//! Each series over time as a picture, with its data.

use super::name;
use crate::{
    figures::{
        axis::{AxisScale, value_axis},
        frame::{Frame, WIDTH},
        svg::{Anchor, Drawing, Pen, Svg, fit},
    },
    tree::{Datum, Head, Sheet},
    words,
};
use latido_judge::{
    history::{Histories, Night, Series},
    numbers::history::Change,
};

/// Returns a name for files, the picture and its data, for each series that decides.
pub fn figures(histories: &Histories) -> Vec<(String, Drawing, Sheet)> {
    let deciding = histories.series.iter().filter(|one| one.decides);
    let title = |one: &Series| format!("{}: {}", name(one), histories.metric);
    deciding
        .map(|one| (format!("history-{}", name(one)), picture(one, &title(one)), values(one, &title(one))))
        .collect()
}

/// Draws a mark for each run, and a vertical line before the first run of each new level.
fn picture(series: &Series, title: &str) -> Drawing {
    let frame = Frame { left: 92.0, right: WIDTH - 20.0, top: 24.0, bottom: 264.0 };
    let mut svg = Svg::new(WIDTH, frame.bottom + 44.0);
    let values = || series.points.iter().map(|one| one.value);
    let y = match values().all(|value| value > 0.0) {
        true => AxisScale::log_over(values(), frame.bottom, frame.top),
        false => {
            let (low, high) = values().fold((0.0, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
            AxisScale::linear(low * 1.05, if high > low { high * 1.05 } else { 1.0 }, frame.bottom, frame.top)
        }
    };
    let x = AxisScale::linear(0.5, series.points.len() as f64 + 0.5, frame.left, frame.right);
    let ticks: Vec<_> = whole(&x).map(|number| (x.at(number), words::trimmed(number))).collect();
    frame.x_axis(&mut svg, &ticks, "run, in order of time");
    frame.ticks_y_axis(&mut svg, &value_axis(&y, 7, series.measure.name()));
    for change in &series.found.changes {
        let at = x.at(change.index as f64 + 0.5);
        svg.line("limit", (at, frame.top), (at, frame.bottom));
        let room = (frame.right - at - 4.0).max(at - frame.left - 4.0);
        let anchor = if frame.right - at >= at - frame.left { Anchor::Start } else { Anchor::End };
        let beside = if frame.right - at >= at - frame.left { at + 4.0 } else { at - 4.0 };
        svg.text("limit-name", (beside, frame.top - 6.0), anchor, &fit(&change.before, 11.0, room));
    }
    svg.open_series(0);
    let mut line = Pen::default();
    for (number, one) in (1u32..).zip(&series.points) {
        let at = (x.at(f64::from(number)), y.at(one.value));
        if number == 1 {
            line.go(at.0, at.1)
        } else {
            line.line(at.0, at.1)
        }
        svg.marker(0, at, &format!("{}: {}", one.run, series.measure.text(one.value)));
    }
    svg.path("lead", &line);
    svg.close();
    let change = |change: &_| {
        let Change { after, before, .. } = change;
        format!("a change between {after} and {before}")
    };
    let changes: Vec<String> = series.found.changes.iter().map(change).collect();
    let drift = series.found.drift.map(|drift| if drift.rises { "a steady rise" } else { "a steady fall" });
    let said = if changes.is_empty() { drift.unwrap_or("no change of level").into() } else { changes.join("; ") };
    svg.finish(None, title, &format!("{}: {said}.", words::many(series.points.len() as u64, "run")))
}

fn values(series: &Series, title: &str) -> Sheet {
    let row = |one: &Night| {
        let (run, started) = (one.run.clone(), one.started.clone());
        vec![Datum::Text(run), Datum::Text(started), Datum::Value(one.value), Datum::Count(one.repeats)]
    };
    let typical: Vec<f64> = series.points.iter().map(|one| one.value).collect();
    let head = ["run", "begun", "value", "repeats"].map(Head::from).into();
    Sheet::new(title.to_owned(), head, series.points.iter().map(row).collect(), series.measure.name(), &typical)
}

/// Returns the whole numbers among the ticks of an axis.
fn whole(x: &AxisScale) -> impl Iterator<Item = f64> {
    x.ticks(10).into_iter().filter(|tick| tick.fract() == 0.0 && *tick >= 1.0)
}
