//! Figures: one file each and one line in [`FIGURES`]; inline in the report, or each a picture of its own with its data.

pub mod axis;
mod bands;
mod frame;
mod histogram;
mod over_time;
mod percentiles;
pub mod range_bar;
mod scatter;
pub mod style;
pub mod svg;
pub mod timeline;

use super::{
    ReportInput, csv,
    section::{Section, sections},
    sheet::Sheet,
};
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
    /// How to read it, in a sentence.
    pub about: fn(&Section) -> String,
    /// The pictures: one, or several forms to choose from.
    pub draw: fn(&Section) -> Vec<Drawing>,
    /// The data behind it.
    pub table: fn(&Section) -> Sheet,
}

/// Every figure, in the order of the report.
pub const FIGURES: &[Figure] =
    &[histogram::FIGURE, percentiles::FIGURE, bands::FIGURE, over_time::FIGURE, scatter::FIGURE];

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
    for section in sections(input.configurations) {
        for figure in FIGURES {
            let stem = format!("{}-{}", file_name(&section.key()), figure.name);
            for drawing in (figure.draw)(&section) {
                let form = drawing.variant.map_or(String::new(), |v| format!("-{}", file_name(v)));
                put(format!("{stem}{form}.svg"), standalone(&section, &drawing))?;
            }
            put(format!("{stem}.csv"), csv::sheet(&(figure.table)(&section))?)?;
        }
    }
    Ok(written)
}

/// Only letters, digits, dots and dashes: a quantity's name comes from a record and must not leave the directory.
fn file_name(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    text.chars().map(safe).collect::<String>().trim_start_matches('.').to_owned()
}

/// A picture of its own: title and legend above, styles inside, light colours.
fn standalone(section: &Section, drawing: &Drawing) -> String {
    let mut head = Svg::new(drawing.width, 0.0);
    head.text("head", (10.0, 20.0), Anchor::Start, &drawing.title);
    let (mut x, mut y) = (10.0, 42.0);
    for (slot, series) in section.shown().iter().enumerate() {
        let name = fit(&series.name, 12.0, drawing.width - 80.0);
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
