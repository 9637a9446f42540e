//! The figures that a plan declares, drawn as in its study: one file for each kind.

mod bands;
mod bars;
mod beside;
mod histogram;
mod instances;
mod moments;
mod panels;
pub mod points;
mod ramp;
mod time;

use super::svg::Drawing;
use crate::{
    tables::declared::{scaled, statistic_name},
    tree::{
        Datum, Head, PAGE, Sheet,
        declared::{Entry, Figured, Lookup, about_repeats, heading},
    },
};
use latido_model::plan::{Figure, Kind, Over, Pick, Statistic};
use panels::Panels;

/// A declared figure.
#[derive(Debug)]
pub struct DeclaredFigure {
    /// `Figure 4. Execution time of the small sizes`.
    pub heading: String,
    /// A name for files: `figure-4`.
    pub stem: String,
    /// How to read it.
    pub about: String,
    /// What the reader must know about it.
    pub note: Option<String>,
    /// The picture, which includes its legend.
    pub drawing: Drawing,
    /// What was measured of each curve.
    pub table: Sheet,
    /// The panel, the curve and the numbers of each caption.
    pub captions: Vec<(String, String, Vec<Figured>)>,
}

/// A panel and its curves.
struct Panel<'r, 'a> {
    name: String,
    curves: Vec<Drawn<'r, 'a>>,
}

/// A curve of a panel.
struct Drawn<'r, 'a> {
    name: String,
    /// The index of its colour.
    slot: usize,
    /// The entry at each place of the axis; a single entry where the figure has no axis.
    along: Vec<Entry<'r, 'a>>,
}

impl<'r, 'a> Drawn<'r, 'a> {
    /// Returns what was measured of it, for a figure without an axis.
    fn found(&self) -> Option<crate::tree::declared::Found<'r, 'a>> {
        self.along.first()?.found
    }

    fn is_measured(&self) -> bool {
        self.along.iter().any(|entry| entry.found.is_some())
    }

    /// Returns whether the study's values are drawn for it.
    fn is_published(&self, kind: &Kind) -> bool {
        let drawn = |statistic| self.along.iter().any(|entry| beside::point(entry, statistic).is_some());
        beside::drawn(kind).is_some_and(drawn)
    }
}

/// Returns the declared figures.
pub fn all(lookup: Lookup) -> Vec<DeclaredFigure> {
    let figures = &lookup.declared.plan.figures;
    figures.iter().enumerate().map(|(at, figure)| one(lookup, figure, stem(figure, at))).collect()
}

/// Returns a name for files.
fn stem(figure: &Figure, at: usize) -> String {
    match &figure.number {
        Some(number) => format!("figure-{}", number.replace(' ', "-")),
        None => format!("figure-of-plan-{}", at + 1),
    }
}

fn one(lookup: Lookup, figure: &Figure, stem: String) -> DeclaredFigure {
    let panels = panels(lookup, figure);
    let width = lookup.sections.first().map_or(PAGE, |section| section.width);
    let title = heading("Figure", figure.number.as_deref(), &figure.title);
    let entries: Vec<&Entry> = panels.iter().flat_map(|p| &p.curves).flat_map(|c| &c.along).collect();
    let repeats = about_repeats(&entries, figure.over).filter(|_| counts(figure));
    let numbers: Vec<String> = repeats.into_iter().chain(scaled(lookup).filter(|_| counts(figure))).collect();
    let numbers = Some(numbers.join("; ")).filter(|text| !text.is_empty());
    let curves = || panels.iter().flat_map(|panel| &panel.curves);
    let hollow = curves().any(|curve| curve.is_published(&figure.kind)).then(|| "Hollow: published.".to_owned());
    let about = [Some(about(figure)), hollow, numbers.map(|text| format!("Numbers: {text}."))];
    let captions = panels.iter().flat_map(|panel| {
        let of = |curve: &Drawn| {
            let figures = curve.along.first().map(|entry| entry.figures.clone()).unwrap_or_default();
            (panel.name.clone(), curve.name.clone(), figures)
        };
        panel.curves.iter().map(of).collect::<Vec<_>>()
    });
    DeclaredFigure {
        heading: title.clone(),
        stem,
        about: about.into_iter().flatten().collect::<Vec<_>>().join(" "),
        note: figure.note.clone(),
        table: table(figure, &panels, &title),
        captions: if figure.captions.is_empty() { Vec::new() } else { captions.collect() },
        drawing: Panels::of(figure, &panels, width).draw(&title, |svg, frame, panel| match &figure.kind {
            Kind::Bands(edges) => bands::draw(svg, frame, panel, figure, edges),
            Kind::Histogram => histogram::draw(svg, frame, panel, &panels),
            Kind::Instances => instances::draw(svg, frame, panel, &panels, figure),
            Kind::Moments => moments::draw(svg, frame, panel),
            Kind::Time => time::draw(svg, frame, panel, &panels, figure),
            Kind::Bars(statistic) => bars::draw(svg, frame, panel, figure, *statistic),
            Kind::Ramp(statistic) => ramp::draw(svg, frame, panel, figure, *statistic),
        }),
    }
}

/// Returns whether the figure gives numbers over repeats.
fn counts(figure: &Figure) -> bool {
    !figure.captions.is_empty() || matches!(figure.kind, Kind::Bands(_) | Kind::Bars(_) | Kind::Ramp(_))
}

fn panels<'r, 'a>(lookup: Lookup<'r, 'a>, figure: &Figure) -> Vec<Panel<'r, 'a>> {
    let (tables, statistics) = (beside::tables(lookup, figure), beside::statistics(figure));
    let entry = |pick: &_| lookup.entry(pick, &tables, &statistics, figure.over);
    let panel = |panel: &Pick| Panel {
        name: panel.heading(),
        curves: figure
            .curves
            .iter()
            .enumerate()
            .map(|(slot, curve)| {
                let both = panel.with(curve);
                let along = match figure.axis.as_slice() {
                    [] => vec![entry(&both)],
                    axis => axis.iter().map(|at| entry(&both.with(at))).collect(),
                };
                Drawn { name: curve.heading(), slot: slot % crate::tree::SHOWN, along }
            })
            .collect(),
    };
    figure.panels.iter().map(panel).collect()
}

/// Returns a sentence that explains how to read the figure.
fn about(figure: &Figure) -> String {
    let scale = if figure.log { "Log scale" } else { "Linear scale" };
    match figure.kind {
        Kind::Bands(_) => format!("{scale}. Exact counts between fixed edges; the last band is above the last edge."),
        Kind::Histogram => "Log scales: how often each value occurred.".into(),
        Kind::Instances => format!("{scale}. The samples in their order, repeats after each other."),
        Kind::Moments => "Mean (above) and variance (1/n, below) of each instance and all instances before it.".into(),
        Kind::Time => format!(
            "{scale}, the same in all panels. Line: the largest of each stretch; dashed: its mean. Triangles: beyond the \
             scale."
        ),
        Kind::Bars(statistic) => format!("{scale}. Each bar: {}.", statistic_name(statistic, figure.over)),
        Kind::Ramp(_) => format!("{scale}. Error bars: the standard deviation between repeats."),
    }
}

/// Returns the measured values of each curve as a table, for people and programs.
fn table(figure: &Figure, panels: &[Panel], title: &str) -> Sheet {
    let statistics = match figure.kind {
        Kind::Bars(statistic) | Kind::Ramp(statistic) => vec![statistic],
        _ => vec![Statistic::Min, Statistic::Mean, Statistic::Max],
    };
    // The study's values have a separate column where the figure draws them.
    let published = beside::drawn(&figure.kind)
        .filter(|_| panels.iter().flat_map(|panel| &panel.curves).any(|curve| curve.is_published(&figure.kind)));
    let (mut rows, mut typical, mut stored) = (Vec::new(), Vec::new(), "ns");
    for (panel, curve) in panels.iter().flat_map(|panel| panel.curves.iter().map(move |curve| (panel, curve))) {
        for (at, entry) in curve.along.iter().enumerate() {
            let place = figure.axis.get(at).map(|pick| pick.heading()).unwrap_or_default();
            let names = [panel.name.clone(), curve.name.clone(), place];
            let name = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
            let values: Vec<Option<f64>> =
                statistics.iter().map(|one| entry.found.and_then(|found| found.figure(*one, figure.over))).collect();
            stored = entry.found.map_or(stored, |found| panels::unit_of_statistics(found.section.unit));
            let printed = published.map(|one| beside::point(entry, one).map(|(value, _)| value));
            typical.extend(values.iter().chain(&printed).flatten());
            let repeats = entry.found.map_or(0, |found| found.curve.configuration.repeats.len());
            let cells = values.into_iter().chain(printed).map(Datum::value);
            rows.push([Datum::Text(name), Datum::Count(repeats as u64)].into_iter().chain(cells).collect());
        }
    }
    let head = ["", "repeats"].map(String::from).into_iter();
    let head = head.chain(statistics.iter().map(|one| statistic_name(*one, figure.over)));
    let head = head.chain(published.map(|one| format!("{} {one}", beside::PUBLISHED))).map(Head::from).collect();
    Sheet::new(title.to_owned(), head, rows, stored, &typical)
}

/// Returns a line of a caption: `max 294 µs, up to 1 µs 99.9 %`.
fn caption(figures: &[Figured], over: Over, text: impl Fn(&Figured) -> Option<String>) -> Option<String> {
    let said = figures.iter().filter_map(|one| Some(format!("{} {}", statistic_name(one.statistic, over), text(one)?)));
    Some(said.collect::<Vec<_>>().join(", ")).filter(|said| !said.is_empty())
}

#[cfg(test)]
mod tests;
