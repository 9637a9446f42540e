//! Figures: one file each and one line in [`FIGURES`]; inline in the report, or each a picture of its own with its data.

pub mod axis;
mod bands;
mod frame;
mod histogram;
mod instances;
mod maxima;
mod moments;
mod ordered;
mod over_time;
mod pendulum;
mod percentiles;
pub mod range_bar;
mod scatter;
pub mod style;
pub mod svg;
mod thin;
pub mod timeline;

use crate::{ReportInput, formats::{csv, latex, markdown}, tables::characterisation::characterisation, tree::{Chapter, SHOWN, Section, Sheet, chapters, sections}};
use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};
use svg::{Anchor, Drawing, Svg, fit, number, text_width};

pub use over_time::points;

/// A figure over the series of a section.
#[derive(Debug)]
pub struct Figure {
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

/// Every figure of a section, in the order of the report.
pub const FIGURES: &[Figure] =
    &[histogram::FIGURE, percentiles::FIGURE, bands::FIGURE, over_time::FIGURE, scatter::FIGURE];

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
pub const OVERVIEWS: &[Overview] = &[maxima::FIGURE, instances::FIGURE, moments::FIGURE, pendulum::FIGURE];

/// Writes each figure as an SVG file and its data as CSV into a directory, which is made if need be. Returns the paths.
///
/// # Errors
/// The directory or a file cannot be written.
pub fn write(input: &ReportInput, dir: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).with_context(|| format!("making the directory {}", dir.display()))?;
    let mut written = Vec::new();
    let mut put = |name: String, text: String| -> Result<()> {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        written.push(path);
        Ok(())
    };
    put("summary.csv".into(), csv::summary(input.configurations)?)?;
    let sections = sections(input.configurations);
    for chapter in chapters(&sections) {
        let stem = file_name(chapter.probe);
        if let Some(table) = characterisation(&chapter, input) {
            put(format!("{stem}-table.csv"), csv::sheet(&table.data())?)?;
            put(format!("{stem}-table.tex"), latex::table(&table.sheet()))?;
            put(format!("{stem}-table.md"), markdown::table(&table.sheet()))?;
        }
        for figure in OVERVIEWS.iter().filter(|figure| (figure.fits)(&chapter)) {
            let names: Vec<&str> = chapter.systems.iter().map(String::as_str).collect();
            for drawing in (figure.draw)(&chapter) {
                put(format!("{stem}-{}{}.svg", figure.name, form(&drawing)), standalone(&names, &drawing))?;
            }
            put(format!("{stem}-{}.csv", figure.name), csv::sheet(&(figure.table)(&chapter))?)?;
        }
    }
    for section in &sections {
        let stem = file_name(&section.stem());
        let names: Vec<&str> = section.series.iter().map(|series| series.name.as_str()).collect();
        for figure in FIGURES.iter().filter(|figure| (figure.fits)(section)) {
            for drawing in (figure.draw)(section) {
                put(format!("{stem}-{}{}.svg", figure.name, form(&drawing)), standalone(&names, &drawing))?;
            }
            put(format!("{stem}-{}.csv", figure.name), csv::sheet(&(figure.table)(section))?)?;
        }
    }
    Ok(written)
}

/// The end of a file's name that tells the form.
fn form(drawing: &Drawing) -> String {
    drawing.variant.as_ref().map_or(String::new(), |variant| format!("-{}", file_name(variant)))
}

/// Only letters, digits, dots and dashes: a quantity's name comes from a record and must not leave the directory.
fn file_name(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    text.chars().map(safe).collect::<String>().trim_start_matches('.').to_owned()
}

/// A picture of its own: title and legend above, styles inside, light colours.
fn standalone(names: &[&str], drawing: &Drawing) -> String {
    let mut head = Svg::new(drawing.width, 0.0);
    head.text("head", (10.0, 20.0), Anchor::Start, &drawing.title);
    let (mut x, mut y) = (10.0, 42.0);
    for (slot, name) in names.iter().take(SHOWN).enumerate() {
        let name = fit(name, 12.0, drawing.width - 80.0);
        let width = text_width(&name, 12.0) + 52.0;
        if x + width > drawing.width && x > 10.0 {
            (x, y) = (10.0, y + 20.0);
        }
        head.open_series(slot);
        head.line("curve", (x, y - 4.0), (x + 28.0, y - 4.0));
        head.marker(slot, (x + 14.0, y - 4.0), "");
        head.text("name", (x + 34.0, y), Anchor::Start, &name);
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
