//! Figures: one file each and one line in [`FIGURES`]; inline in the report, or each a picture of its own with its data.

pub mod axis;
mod bands;
mod cpus;
pub mod declared;
mod effects;
pub mod frame;
pub mod histogram;
pub(crate) mod incidents;
mod instances;
pub mod lanes;
mod load_over_time;
mod maxima;
mod moments;
mod ordered;
mod over_time;
mod pendulum;
mod percentiles;
pub mod printed_effects;
pub mod range_bar;
pub mod ratios;
pub mod repeats;
mod scatter;
mod sizes;
pub mod stages;
pub mod strip;
pub mod style;
pub mod svg;
mod thin;
pub mod timeline;

use crate::tree::{Chapter, SHOWN, Section, Sheet, emulated};
use svg::{Anchor, Drawing, NAME_SIZE, Svg, apart, number, text_width};

pub use over_time::points;

/// A figure over the series of a section.
#[derive(Debug)]
pub struct Chart {
    /// Short name, for file names and links.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// Whether it says anything of a section.
    pub fits: fn(&Section) -> bool,
    /// How to read it, in a sentence.
    pub about: fn(&Section) -> String,
    /// The pictures: one, or several forms to choose from.
    pub draw: fn(&Section) -> Vec<Drawing>,
    /// The data behind it.
    pub table: fn(&Section) -> Sheet,
}

impl Chart {
    /// How to read it, and what emulated samples are worth.
    pub fn caption(&self, section: &Section) -> String {
        with_worth((self.about)(section), emulated(section.series.iter()))
    }
}

impl Overview {
    /// As [`Chart::caption`].
    pub fn caption(&self, chapter: &Chapter) -> String {
        with_worth((self.about)(chapter), emulated(chapter.sections.iter().flat_map(|section| &section.series)))
    }
}

fn with_worth(about: String, worth: Option<String>) -> String {
    match worth {
        Some(worth) => format!("{about} The times are {worth}."),
        None => about,
    }
}

/// Every figure of a section, in the order of the report.
pub const FIGURES: &[Chart] = &[
    repeats::FIGURE,
    effects::FIGURE,
    histogram::FIGURE,
    cpus::FIGURE,
    percentiles::FIGURE,
    bands::FIGURE,
    over_time::FIGURE,
    load_over_time::FIGURE,
    scatter::FIGURE,
];

/// The forms of a figure for narrow screens, where it has some: as many as it has for others.
pub fn narrow(figure: &Chart, section: &Section) -> Vec<Drawing> {
    let draw: fn(&Section, f64) -> Vec<Drawing> = match figure.name {
        name if name == repeats::FIGURE.name => repeats::wide,
        name if name == histogram::FIGURE.name => histogram::wide,
        name if name == cpus::FIGURE.name => cpus::wide,
        name if name == percentiles::FIGURE.name => percentiles::wide,
        name if name == over_time::FIGURE.name => over_time::wide,
        _ => return Vec::new(),
    };
    draw(section, frame::NARROW)
}

/// A figure over all that a probe measured.
#[derive(Debug)]
pub struct Overview {
    /// Short name, for file names and links.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// Whether it says anything of a chapter.
    pub fits: fn(&Chapter) -> bool,
    /// How to read it, in a sentence.
    pub about: fn(&Chapter) -> String,
    /// The pictures: one, or several forms to choose from.
    pub draw: fn(&Chapter) -> Vec<Drawing>,
    /// The data behind it.
    pub table: fn(&Chapter) -> Sheet,
}

/// Every figure of a chapter, in the order of the report.
pub const OVERVIEWS: &[Overview] =
    &[maxima::FIGURE, instances::FIGURE, sizes::FIGURE, moments::FIGURE, pendulum::FIGURE];

/// A picture of its own: title and legend above, styles inside, light colours.
pub fn standalone(names: &[&str], drawing: &Drawing) -> String {
    // A picture without series needs no legend of them.
    let names = if drawing.body.contains(" data-s=") { names } else { &[] };
    let mut head = Svg::new(drawing.width, 0.0);
    head.text("head", (10.0, 20.0), Anchor::Start, &drawing.title);
    let (mut x, mut y) = (10.0, 42.0);
    let shown = apart(names.get(..SHOWN).unwrap_or(names), NAME_SIZE, drawing.width - 80.0);
    for (slot, name) in shown.iter().enumerate() {
        let width = text_width(name, NAME_SIZE) + 52.0;
        if x + width > drawing.width && x > 10.0 {
            (x, y) = (10.0, y + 20.0);
        }
        head.open_series(slot);
        head.line("curve", (x, y - 4.0), (x + 28.0, y - 4.0));
        head.marker(slot, (x + 14.0, y - 4.0), "");
        head.text("name", (x + 34.0, y), Anchor::Start, name);
        head.close();
        x += width;
    }
    let head = head.finish(None, "", "");
    let (width, height, below) = (number(drawing.width), number(drawing.height + y + 14.0), number(y + 14.0));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"DejaVu Sans, Arial, sans-serif\"><title>{}</title><desc>{}</desc>\
         <style>{}</style>{}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{}<g transform=\"translate(0 {below})\">\
         {}</g></svg>\n",
        svg::escape(&drawing.title),
        svg::escape(&drawing.description),
        style::standalone_rules(),
        style::symbols(),
        head.body,
        drawing.body,
    )
}

#[cfg(test)]
mod tests;
