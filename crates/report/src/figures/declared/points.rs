//! The points of each figure without a picture, for programs that draw it again: columns of numbers, one set per curve.

use super::{Drawn, Panel, bands, beside, panels::unit_of_statistics, ramp};
use crate::{
    figures::{
        histogram,
        moments::running,
        ordered,
        timeline::{end, timeline, usual},
    },
    tree::{
        Report,
        declared::{Entry, Lookup, heading},
    },
    words,
};
use latido_model::plan::{Figure, Kind};

/// A figure as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Plotted {
    /// `Figure 4. Execution time of the small sizes`.
    pub heading: String,
    /// A name for files: `figure-4`.
    pub stem: String,
    /// The names of each curve's columns, with their units.
    pub columns: Vec<String>,
    /// How the points are drawn.
    pub mark: Mark,
    /// The names of the places 1, 2 and so on along the axis, where the places are not numbers.
    pub places: Vec<String>,
    /// Whether the axis of the first column is logarithmic, and whether the axis of the others is.
    pub log: (bool, bool),
    /// The panels, side by side.
    pub panels: Vec<PlottedPanel>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through them.
    Line,
    /// A line through them, with error bars that reach up and down by the value of the third column.
    ErrorLine,
    /// Steps.
    Steps,
    /// A bar for each, with the bars of one place side by side.
    Bars,
    /// Two lines, one above the other: the second column and the third.
    TwoLines,
}

/// A panel as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PlottedPanel {
    /// Its name; empty where it is the only one.
    pub name: String,
    /// The name and the rows of each curve that has rows.
    pub curves: Vec<(String, Vec<Vec<f64>>)>,
}

/// The most points of a curve over time, or of running moments.
const POINTS: usize = 1_000;

/// Returns the figures that the plan declares, if any.
pub fn declared(report: &Report) -> Vec<Plotted> {
    let Some(lookup) = Lookup::of(report) else { return Vec::new() };
    let figures = lookup.declared.plan.figures.iter().enumerate();
    figures.map(|(at, figure)| one(lookup, figure, super::stem(figure, at))).collect()
}

/// Returns the distribution of each quantity, one figure per quantity. Every run has these.
pub fn distributions(report: &Report) -> Vec<Plotted> {
    let of = |section: &crate::tree::Section| {
        let scale = words::in_ns(section.unit).unwrap_or(1.0);
        let rows = |curve: &crate::tree::Curve| {
            let rows = histogram::by_decade(curve).into_iter();
            (curve.name.clone(), rows.map(|(value, count)| vec![value * scale, count as f64]).collect())
        };
        let panel = PlottedPanel { name: String::new(), curves: section.series.iter().map(rows).collect() };
        Plotted {
            heading: section.title(),
            stem: section.stem(),
            columns: vec![unit_of_statistics(section.unit).into(), "samples".into()],
            mark: Mark::Steps,
            places: Vec::new(),
            log: (true, true),
            panels: vec![panel],
        }
    };
    report.sections.iter().map(of).collect()
}

fn one(lookup: Lookup, figure: &Figure, stem: String) -> Plotted {
    let all = super::panels(lookup, figure);
    let curves = || all.iter().flat_map(|panel| &panel.curves);
    let unit = curves().find_map(|curve| Some(unit_of_statistics(curve.found()?.section.unit).to_owned()));
    let unit = unit.unwrap_or_else(|| "ns".into());
    let places = || figure.axis.iter().map(latido_model::plan::Pick::heading).collect();
    let (mark, places, columns) = match &figure.kind {
        Kind::Bands(edges) => (Mark::Bars, bands::names(edges), vec!["band".into(), "samples".into()]),
        Kind::Histogram => (Mark::Steps, Vec::new(), vec![unit, "samples".into()]),
        Kind::Instances => (Mark::Line, Vec::new(), vec!["instance".into(), unit]),
        Kind::Moments => {
            let moments = [format!("mean, {unit}"), format!("variance (1/n), {unit}²")];
            (Mark::TwoLines, Vec::new(), [vec!["instance".into()], moments.into()].concat())
        }
        Kind::Time => (Mark::Line, Vec::new(), vec!["s".into(), unit]),
        Kind::Bars(statistic) => (Mark::Bars, places(), vec!["place".into(), format!("{statistic}, {unit}")]),
        Kind::Ramp(statistic) => {
            let columns = vec!["place".into(), format!("{statistic}, {unit}"), format!("sd, {unit}")];
            (Mark::ErrorLine, Vec::new(), columns)
        }
    };
    Plotted {
        heading: heading("Figure", figure.number.as_deref(), &figure.title),
        stem,
        columns,
        mark,
        places,
        log: (figure.kind == Kind::Histogram, figure.log || figure.kind == Kind::Histogram),
        panels: all.iter().map(|panel| plotted(panel, figure)).collect(),
    }
}

fn plotted(panel: &Panel, figure: &Figure) -> PlottedPanel {
    let ours = panel.curves.iter().map(|curve| (curve.name.clone(), rows(curve, figure)));
    let printed = panel.curves.iter().map(|curve| {
        let name = format!("{}, {}", curve.name, beside::PUBLISHED);
        (name.trim_start_matches(", ").to_owned(), printed(curve, figure))
    });
    let curves = ours.chain(printed).filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty()).collect();
    PlottedPanel { name: panel.name.clone(), curves }
}

/// Returns the number of each place along the axis: its name, where a ramp's name is a number, else its position from 1.
fn numbers(figure: &Figure) -> impl Iterator<Item = f64> + '_ {
    let named = matches!(figure.kind, Kind::Ramp(_));
    let own = move |pick: &latido_model::plan::Pick| pick.name.parse().ok().filter(|_| named);
    figure.axis.iter().zip(1u32..).map(move |(pick, place)| own(pick).unwrap_or_else(|| f64::from(place)))
}

/// Returns the rows of what was measured for a curve.
fn rows(curve: &Drawn, figure: &Figure) -> Vec<Vec<f64>> {
    let along = |value: &dyn Fn(&Entry) -> Option<Vec<f64>>| -> Vec<Vec<f64>> {
        let places = numbers(figure).zip(&curve.along);
        places.filter_map(|(number, entry)| Some([vec![number], value(entry)?].concat())).collect()
    };
    match &figure.kind {
        Kind::Bars(statistic) => {
            return along(&|entry| entry.found?.figure(*statistic, figure.over).map(|value| vec![value]));
        }
        Kind::Ramp(statistic) => {
            return along(&|entry| ramp::point(entry, figure.over, *statistic).map(|(value, sd)| vec![value, sd]));
        }
        _ => {}
    }
    let Some(found) = curve.found() else { return Vec::new() };
    // The columns are in ns, as statistics are.
    let ns = words::in_ns(found.section.unit).unwrap_or(1.0);
    let counted = |counts: Vec<f64>| (1u32..).zip(counts).map(|(at, n)| vec![f64::from(at), n]).collect();
    match &figure.kind {
        Kind::Bands(edges) => bands::counts(found, edges, figure.over).map(counted).unwrap_or_default(),
        Kind::Histogram => {
            let bins = super::histogram::by_decade(&found).into_iter();
            bins.map(|(value, count)| vec![value * ns, count as f64]).collect()
        }
        Kind::Instances => counted(ordered::values(found.curve).map(|value| value as f64 * ns).collect()),
        Kind::Moments => {
            let points = running(found.curve, POINTS).into_iter();
            points.map(|(at, mean, variance)| vec![at as f64, mean * ns, variance * ns * ns]).collect()
        }
        Kind::Time => {
            let own = std::slice::from_ref(found.curve);
            let line = timeline(found.curve, end(own), usual(own), POINTS);
            let columns = line.columns.iter().enumerate();
            columns.filter_map(|(at, slice)| Some(vec![at as f64 * line.step, slice.as_ref()?.max * ns])).collect()
        }
        Kind::Bars(_) | Kind::Ramp(_) => Vec::new(),
    }
}

/// Returns the rows of what the study printed for a curve.
fn printed(curve: &Drawn, figure: &Figure) -> Vec<Vec<f64>> {
    let Some(statistic) = beside::drawn(&figure.kind) else { return Vec::new() };
    let with_sd = matches!(figure.kind, Kind::Ramp(_));
    let row = |(number, entry): (f64, &Entry)| {
        let (value, sd) = beside::point(entry, statistic)?;
        Some([vec![number, value], if with_sd { vec![sd.unwrap_or(0.0)] } else { Vec::new() }].concat())
    };
    numbers(figure).zip(&curve.along).filter_map(row).collect()
}
