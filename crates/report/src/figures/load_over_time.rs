//! What the loads did over time, drawn below the latency over time on the same time axis: each rate as a share of its mean.

use super::{
    Chart,
    axis::{AxisScale, round_up, time_axis},
    frame::Frame,
    over_time::{edges, gaps, points, seams},
    svg::{Anchor, Drawing, NAME_SIZE, Svg, apart, fit},
    timeline::{OverTime, Slice, end, filled, grid, usual},
};
use crate::{
    tree::{Datum, Head, Section, Sheet},
    words,
};
use latido_judge::{configuration::Configuration, trust::load_course::course};
use latido_model::record::LoadRecord;
use std::collections::BTreeSet;

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "load-over-time",
    title: "The load over time",
    fits: |section| section.is_over_time() && section.series.iter().any(|one| has_a_life(one.configuration)),
    about: |section| {
        let lives: Vec<String> = section.shown().iter().flat_map(|one| lives(&one.name, one.configuration)).collect();
        format!(
            "The rate that each load reports for each second, as a share of its own mean; repeats averaged. The time axis is that \
             of the figure above. Hatched: a stretch that the load does not report. {}",
            lives.join(" ")
        )
    },
    draw: |section| vec![draw(section)],
    table,
};

/// The most lines of a panel; the table contains all of them.
const LINES: usize = 4;
/// The names of the lines' strokes.
const STROKES: [&str; LINES] = ["solid", "dashed", "dotted", "dash-dotted"];
const HEIGHT: f64 = 74.0;
const PITCH: f64 = HEIGHT + 30.0;
/// The most rows of the table behind the figure.
const ROWS: usize = 48;

/// One rate of one load.
struct Line {
    /// `syncs`; with several loads `disk syncs`.
    name: String,
    /// Its mean per second.
    mean: f64,
    /// Its rate per second.
    rates: OverTime,
}

fn has_a_life(configuration: &Configuration) -> bool {
    configuration.loads().any(|load| load.life.is_some())
}

/// Returns every rate that the loads of a configuration reported step by step, averaged over its repeats.
fn lines(configuration: &Configuration, (step, columns): (f64, usize)) -> Vec<Line> {
    let most = configuration.repeats.iter().map(|repeat| repeat.loads.len()).max().unwrap_or(0);
    (0..most).flat_map(|place| of_place(configuration, place, step, columns)).collect()
}

/// Returns the rates of the loads at one index of each repeat: latido treats them as one load, measured again.
fn of_place(configuration: &Configuration, place: usize, step: f64, columns: usize) -> Vec<Line> {
    let loads: Vec<&LoadRecord> = configuration.repeats.iter().filter_map(|repeat| repeat.loads.get(place)).collect();
    let names: BTreeSet<&String> =
        loads.iter().flat_map(|load| &load.steps).flat_map(|one| one.counts.keys()).collect();
    let line = |name: &String| {
        let mut sums = vec![(0u64, 0.0); columns];
        let (mut own, mut done, mut time) = (0, 0.0, 0.0);
        for one in loads.iter().flat_map(|load| &load.steps) {
            let Some(rate) = one.rate(name) else { continue };
            let (start, length) = (one.start_ns as f64 / 1e9, one.length_ns as f64 / 1e9);
            (done, time) = (done + rate * length, time + length);
            let (first, past) = filled(start, length, step, columns);
            own = own.max(past);
            for (count, sum) in sums.get_mut(first..past).into_iter().flatten() {
                (*count, *sum) = (*count + 1, *sum + rate);
            }
        }
        let column = |(count, sum): (u64, f64)| {
            let mean = sum / count.max(1) as f64;
            (count > 0).then_some(Slice { count, mean, max: mean })
        };
        // With several loads, each needs its name.
        let load = loads.first().filter(|_| configuration.repeats.iter().any(|repeat| repeat.loads.len() > 1));
        Line {
            name: load.map_or_else(|| name.clone(), |load| format!("{} {name}", load.item.name)),
            mean: if time > 0.0 { done / time } else { 0.0 },
            rates: OverTime { step, columns: sums.into_iter().map(column).collect(), own },
        }
    };
    names.into_iter().map(line).collect()
}

/// Returns a sentence on each load of a configuration. It describes the first repeat in which the load started, ended or ramped during the
/// measurement, else the first repeat.
fn lives(name: &str, configuration: &Configuration) -> Vec<String> {
    let most = configuration.repeats.iter().map(|repeat| repeat.loads.len()).max().unwrap_or(0);
    let of_place = |place: usize| {
        let courses = configuration.repeats.iter().filter_map(|repeat| {
            let load = repeat.loads.get(place)?;
            Some((load, course(load, repeat.elapsed_ns)?))
        });
        let (load, course) = courses.reduce(|a, b| if !a.1.is_within() && b.1.is_within() { b } else { a })?;
        Some(format!("{name}: {} was {}.", load.item.name, course.sentence()))
    };
    (0..most).filter_map(of_place).collect()
}

/// Returns the reason why a panel is empty.
fn nothing(configuration: &Configuration) -> String {
    let mut loads = configuration.loads().filter(|load| !load.argv.is_empty()).peekable();
    if loads.peek().is_none() {
        return "no load".into();
    }
    let why = loads.find_map(|load| load.unaccounted.clone());
    let why = why.unwrap_or_else(|| "the load does not report every second".into());
    format!("{}: {why}", words::NOT_MEASURED)
}

fn draw(section: &Section) -> Drawing {
    let shown = section.shown();
    let over = (end(shown), usual(shown));
    let columns = grid(over.0, over.1, points(shown.len()));
    let mut svg = Svg::new(section.width, PITCH * shown.len() as f64 + 46.0);
    let (left, right) = edges(section);
    let x = AxisScale::linear(0.0, over.0, left, right);
    let ticks = time_axis(&x);
    let mut said = Vec::new();
    let names = apart(&section.names(), NAME_SIZE, (right - left) / 2.0);
    for (slot, (series, name)) in shown.iter().zip(&names).enumerate() {
        let top = PITCH * slot as f64 + 26.0;
        let frame = Frame { left, right, top, bottom: top + HEIGHT };
        let all = lines(series.configuration, columns);
        let told = all.get(..LINES).unwrap_or(&all);
        let y = shares(told, &frame);
        let last = slot + 1 == shown.len();
        let named: Vec<_> = ticks.iter().map(|(at, t)| (*at, if last { t.clone() } else { String::new() })).collect();
        frame.x_axis(&mut svg, &named, if last { "time since the first sample" } else { "" });
        if !told.is_empty() {
            axis(&mut svg, &frame, &y);
        }
        svg.open_series(slot);
        svg.marker(slot, (left + 6.0, top - 10.0), "");
        let short = heading(name, told, all.len());
        svg.text("name", (left + 16.0, top - 6.0), Anchor::Start, &fit(&short, 12.0, right - left - 20.0));
        for (line, kind) in told.iter().zip(0..) {
            let share = |slice: &Slice| Some(y.at(share(slice.mean, line.mean)).round());
            svg.path(&format!("rate rate{kind}"), &line.rates.steps(&x, share));
        }
        seams(&mut svg, series, &x, &frame);
        svg.close();
        match told.first() {
            Some(line) => gaps(&mut svg, &line.rates, "not told", &x, &frame),
            None => frame.nothing(&mut svg, &nothing(series.configuration)),
        }
        said.push(heading(&series.name, told, all.len()));
    }
    svg.finish(None, &format!("{}: the load over time", section.title()), &format!("{}.", said.join("; "))).named()
}

/// Draws the axis of shares of the mean, and a line at the mean itself.
fn axis(svg: &mut Svg, frame: &Frame, y: &AxisScale) {
    let marks = [0.0, y.high / 2.0, y.high].map(|share| (y.at(share), format!("{} %", (share * 100.0).round())));
    frame.ticks_y_axis(svg, &marks);
    svg.line("usual", (frame.left, y.at(1.0)), (frame.right, y.at(1.0)));
}

/// Returns the heading of a panel: `busy: mean syncs 15 /s (solid), reads 3 k/s (dashed)`.
fn heading(name: &str, told: &[Line], all: usize) -> String {
    let each: Vec<String> = told
        .iter()
        .zip(STROKES)
        .map(|(line, stroke)| match told.len() {
            1 => format!("{} {}", line.name, words::per_second(line.mean)),
            _ => format!("{} {} ({stroke})", line.name, words::per_second(line.mean)),
        })
        .collect();
    let more = if all > told.len() { format!(", {} more in the table", all - told.len()) } else { String::new() };
    match each.is_empty() {
        true => name.to_owned(),
        false => format!("{name}: mean {}{more}", each.join(", ")),
    }
}

fn share(rate: f64, mean: f64) -> f64 {
    if mean > 0.0 { rate / mean } else { 0.0 }
}

/// Returns a scale from 0 to a round share above the largest.
fn shares(told: &[Line], frame: &Frame) -> AxisScale {
    let columns =
        told.iter().flat_map(|line| line.rates.columns.iter().flatten().map(|one| share(one.mean, line.mean)));
    let most = columns.fold(1.0, f64::max);
    AxisScale::linear(0.0, round_up(most * 1.05), frame.bottom, frame.top)
}

fn table(section: &Section) -> Sheet {
    let shown = section.shown();
    let (step, columns) = grid(end(shown), usual(shown), ROWS);
    let named: Vec<(&str, Vec<Line>)> =
        shown.iter().map(|one| (one.name.as_str(), lines(one.configuration, (step, columns)))).collect();
    let all = || named.iter().flat_map(|(name, lines)| lines.iter().map(move |line| (name, line)));
    let heads = all().map(|(name, line)| Head::from(format!("{name}: {} a second", line.name)));
    let head = std::iter::once(Head::from("from")).chain(heads).collect();
    let row = |at: usize| {
        let start = words::clock((step * at as f64 * 1e9) as u64);
        let rate = |line: &Line| Datum::value(line.rates.columns.get(at).copied().flatten().map(|one| one.mean));
        std::iter::once(Datum::Text(start)).chain(all().map(|(_, line)| rate(line))).collect()
    };
    Sheet::plain(format!("{}: the load over time", section.title()), head, (0..columns).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};
    use latido_model::{
        cell::Item,
        record::{LoadLife, LoadStep},
    };

    /// Returns a load that runs for a minute and does 1200 operations per second, except between seconds 20 and 30, where it does none.
    fn collapsing() -> LoadRecord {
        let step = |second: i64| LoadStep {
            start_ns: second * 1_000_000_000,
            length_ns: 1_000_000_000,
            counts: [("work".to_owned(), if (20..30).contains(&second) { 0 } else { 1_200 })].into(),
        };
        LoadRecord {
            item: Item { name: "disk".into(), ..Item::default() },
            argv: vec!["disk".into()],
            alive: true,
            life: Some(LoadLife { started_ns: -2_000_000_000, worked_ns: Some(-1_500_000_000), ended_ns: None }),
            steps: (0..60).map(step).collect(),
            ..LoadRecord::default()
        }
    }

    #[test]
    fn a_rate_that_collapses_is_drawn_on_the_axis_of_the_latency() {
        let mut all = sample::configurations(2);
        all[0].repeats[0].loads = vec![collapsing()];
        let sections = sections(&all);
        assert!((FIGURE.fits)(&sections[0]));
        let line = lines(&all[0], grid(60.0, 1.0, 600)).remove(0);
        assert_eq!((line.mean, line.name.as_str(), line.rates.columns.len()), (1_000.0, "work", 60));
        let rate = |second: usize| line.rates.columns[second].unwrap().mean;
        assert_eq!((rate(19), rate(20), rate(29), rate(30)), (1_200.0, 0.0, 0.0, 1_200.0));
        let svg = draw(&sections[0]).inline();
        // The line has three levels: 120 %, zero, and 120 % again. The second configuration has no load.
        let path = svg.split("class=\"rate rate0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('m').count(), 1, "one line without a break: {path}");
        assert_eq!(path.matches('v').count(), 2, "down and up again: {path}");
        assert!(svg.contains("mean work 1 k/s") && svg.contains(">no load<"), "{svg}");
        let ticks = |svg: &str| {
            svg.split("class=\"tick\"")
                .map(|t| t.split('<').next().unwrap_or("").to_owned())
                .filter(|t| t.contains(" s"))
                .collect::<Vec<_>>()
        };
        let above = (super::super::over_time::FIGURE.draw)(&sections[0])[0].inline();
        let place = |tick: &String| tick.split('"').nth(1).unwrap().parse::<f64>().unwrap();
        let places = ticks(&svg).iter().map(place).collect::<Vec<_>>();
        assert_eq!(places.len(), 6, "10 s to 60 s: {places:?}");
        assert_eq!(places, ticks(&above).iter().map(place).collect::<Vec<_>>());
        let sheet = table(&sections[0]);
        assert_eq!(sheet.headings(), ["from".to_owned(), format!("{}: work a second", sections[0].series[0].name)]);
        assert_eq!(sheet.rows.len(), 48);
    }

    #[test]
    fn who_does_not_tell_is_said_to_be_not_measured() {
        let mut all = sample::configurations(1);
        let silent = LoadRecord {
            steps: Vec::new(),
            unaccounted: Some("the program did not report its work during the measurement".into()),
            ..collapsing()
        };
        all[0].repeats[0].loads = vec![silent];
        let svg = draw(&sections(&all)[0]).inline();
        assert!(svg.contains("not measured: the program did not report"), "{svg}");
        all[0].repeats[0].loads[0].life = None;
        assert!(!(FIGURE.fits)(&sections(&all)[0]), "an older record says nothing of this");
    }

    /// The second repeat does half the work: the chart shows the mean of both.
    #[test]
    fn repeats_are_averaged() {
        let mut all = sample::configurations(1);
        let mut half = collapsing();
        half.steps.iter_mut().for_each(|step| step.counts.values_mut().for_each(|count| *count /= 2));
        let mut again = sample::configurations(1).remove(0).repeats.remove(0);
        (again.loads, all[0].repeats[0].loads) = (vec![half], vec![collapsing()]);
        all[0].repeats.push(again);
        let line = lines(&all[0], grid(60.0, 1.0, 600)).remove(0);
        assert_eq!((line.mean, line.rates.columns[0].unwrap().mean), (750.0, 900.0));
    }
}
