//! Figures: one file each and one line in [`FIGURES`]. They are inline in the report, or separate pictures with their data.

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
use svg::{Anchor, Drawing, NAME_SIZE, Svg, apart, number, text_width, wrapped};

pub use over_time::points;

/// A figure over the series of a section.
#[derive(Debug)]
pub struct Chart {
    /// Short name, for file names and links.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// Whether the figure applies to a section.
    pub fits: fn(&Section) -> bool,
    /// A sentence that explains how to read it.
    pub about: fn(&Section) -> String,
    /// The pictures: one, or several variants to choose from.
    pub draw: fn(&Section) -> Vec<Drawing>,
    /// The data behind it.
    pub table: fn(&Section) -> Sheet,
}

impl Chart {
    /// Returns how to read the figure, and a warning if its samples are emulated.
    pub fn caption(&self, section: &Section) -> String {
        with_worth((self.about)(section), emulated(section.series.iter()))
    }
}

impl Overview {
    /// Returns the same as [`Chart::caption`].
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

/// Draws the variants of a figure for narrow screens, if it has some: as many as for wide screens.
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

/// A figure over everything that a probe measured.
#[derive(Debug)]
pub struct Overview {
    /// Short name, for file names and links.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// Whether the figure applies to a chapter.
    pub fits: fn(&Chapter) -> bool,
    /// A sentence that explains how to read it.
    pub about: fn(&Chapter) -> String,
    /// The pictures: one, or several variants to choose from.
    pub draw: fn(&Chapter) -> Vec<Drawing>,
    /// The data behind it.
    pub table: fn(&Chapter) -> Sheet,
}

/// Every figure of a chapter, in the order of the report.
pub const OVERVIEWS: &[Overview] =
    &[maxima::FIGURE, instances::FIGURE, sizes::FIGURE, moments::FIGURE, pendulum::FIGURE];

/// The surroundings of a drawing in a separate picture file.
#[derive(Clone, Copy, Debug)]
pub struct Dress<'d> {
    /// Whether the picture includes its title.
    pub title: bool,
    /// Whether the picture names its series above the drawing.
    pub legend: bool,
    /// Millimetres per pixel of the drawing, for a picture with a size on paper.
    pub millimetres: Option<f64>,
    /// The font, or a list of fonts: the viewer takes the first that it has.
    pub font: &'d str,
}

/// Returns a separate picture: title and legend above, styles inside, light colours.
pub fn standalone(names: &[&str], drawing: &Drawing) -> String {
    let dress = Dress { title: true, legend: true, millimetres: None, font: "DejaVu Sans, Arial, sans-serif" };
    dressed(names, drawing, dress)
}

/// Returns a drawing as a separate picture file, in this dress.
pub fn dressed(names: &[&str], drawing: &Drawing, dress: Dress) -> String {
    // A picture without series needs no legend.
    let names = if dress.legend && drawing.body.contains(" data-s=") { names } else { &[] };
    let (head, below) = head(names, drawing, dress);
    let (width, height, below) = (number(drawing.width), drawing.height + below, number(below));
    let (size, rules, patterns) = match dress.millimetres {
        None => (format!("width=\"{width}\" height=\"{}\"", number(height)), style::standalone_rules(), String::new()),
        Some(scale) => (
            format!("width=\"{:.2}mm\" height=\"{:.2}mm\"", drawing.width * scale, height * scale),
            style::paper_rules(),
            style::patterns(),
        ),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {}\" {size} role=\"img\" \
         font-family=\"{}\"><title>{}</title><desc>{}</desc>\
         <style>{rules}</style>{}{patterns}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{head}\
         <g transform=\"translate(0 {below})\">{}</g></svg>\n",
        number(height),
        svg::escape(dress.font),
        svg::escape(&drawing.title),
        svg::escape(&drawing.description),
        style::symbols(),
        drawing.body,
    )
}

/// Draws the title and the legend. Returns them and their height.
fn head(names: &[&str], drawing: &Drawing, dress: Dress) -> (String, f64) {
    let mut head = Svg::new(drawing.width, 0.0);
    let mut bottom = 0.0;
    let paper = dress.millimetres.is_some();
    if dress.title {
        let lines =
            if paper { wrapped(&drawing.title, NAME_SIZE, drawing.width - 20.0) } else { vec![drawing.title.clone()] };
        for line in &lines {
            bottom += if bottom == 0.0 { 20.0 } else { 15.0 };
            head.text("head", (10.0, bottom), Anchor::Start, line);
        }
        bottom += 14.0;
    }
    let (mut x, mut y) = (10.0, if dress.title { bottom + 8.0 } else { 16.0 });
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
    // On a page, every picture has the height of a legend.
    let below = if paper && shown.is_empty() { f64::max(bottom, 6.0) } else { y + 14.0 };
    (head.finish(None, "", "").body, below)
}

#[cfg(test)]
mod tests;
