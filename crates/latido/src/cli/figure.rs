//! `latido figure`: a figure of a run for a paper, as SVG, PDF or PNG.

use super::{Usage, completions};
use crate::{
    durable,
    host::outcome,
    output::{tell, write_out, write_prose},
    store,
};
use anyhow::{Context, Result};
use clap_complete::ArgValueCompleter;
use latido_report::{
    judged::{self, JudgedRun},
    paper::{self, Figures, Picture, WIDTHS},
};
use std::path::{Path, PathBuf};

/// The height of the text area of an A4 page, in millimetres.
const PAGE: f64 = 240.0;

const NOTES: &str = "\
The figure is laid out for the width: its text is 6 points high or more on paper. Dashes, markers and patterns tell its
series apart, so that it may be printed in grey. The figure has no caption: latido prints a draft of one on stderr.

PDF and PNG use a font of this machine. latido takes the first that it finds of DejaVu Sans, Liberation Sans,
Arial, Helvetica, Nimbus Sans, Noto Sans and FreeSans, else any other; --font names one. A PDF contains the letters that it
shows; an SVG only names the font.

Examples:
  latido figure                                       the figures of the newest run
  latido figure histogram -o histogram.pdf            one column of a paper, 84 mm wide
  latido figure percentiles last -o p.svg --width 178mm --title
  latido figure wakeup.latency-histogram-linear-x last -o talk.png --width 250mm --dpi 200";

/// Write one figure of a run as PDF, SVG or PNG, as wide as a column of a paper
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Which figure; without one, list those of the run
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(completions::figures))]
    pub name: Option<String>,
    /// A run: an id, an unambiguous prefix, a path, or `last`
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), default_value = "last", hide_default_value = true)]
    pub run: String,
    /// The file, which ends in .pdf, .svg or .png [default: SVG to stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The width of the figure: 84mm, 8.4cm, 3.3in, 239pt
    #[arg(long, value_name = "LENGTH", default_value = "84mm", value_parser = millimetres)]
    pub width: f64,
    #[command(flatten)]
    pub look: Look,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// How a figure looks, apart from its width.
#[derive(clap::Args, Clone, Debug)]
pub struct Look {
    /// Write the figure's title above it
    #[arg(long)]
    pub title: bool,
    /// The font of its texts [default: the first that latido finds]
    #[arg(long, value_name = "NAME")]
    pub font: Option<String>,
    /// PNG: dots per inch
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u16).range(36..=1200))]
    pub dpi: u16,
}

/// Carries out `latido figure`.
///
/// # Errors
/// The run or the figure does not exist, no font is available for it, or the file cannot be written.
pub fn run(args: &Args) -> Result<u8> {
    let kind = args.output.as_deref().map_or(Ok(Kind::Svg), Kind::of)?;
    let root = store::root(args.store.as_deref())?;
    let (dir, name) = wanted(args, &root)?;
    let all = outcome::together(vec![outcome::judged(&dir)?]);
    let found = outcome::pooled(&all);
    outcome::warn_of_losses(&all, &found);
    let figures = Figures::of(&judged::input(&all, &found), args.width);
    let Some(name) = name else {
        if args.output.is_some() {
            return Err(Usage::new(format!("-o names a file, but no figure is named: {}", names(&figures))).into());
        }
        return write_prose(&list(&figures, &all));
    };
    let picture = figures.named(&name).map_err(Usage::new)?;
    let bytes = kind.printer(&args.look)?(picture)?;
    let Some(path) = &args.output else { return write_out(&String::from_utf8(bytes)?) };
    durable::write_named(path, &bytes).with_context(|| format!("cannot write the figure {}", path.display()))?;
    tell(&format!("caption: {}", picture.caption()));
    if picture.height() > PAGE {
        let (height, least) = (picture.height().round(), paper::ABREAST.ceil());
        tell(&format!(
            "note: the figure is {height} mm high, more than the text of a page: with --width {least}mm or more \
             latido puts two panels side by side"
        ));
    }
    write_out(&format!("{}\n", path.display()))
}

/// Finds the run, and its figure: a single word may name either.
fn wanted(args: &Args, root: &Path) -> Result<(PathBuf, Option<String>)> {
    let Some(name) = &args.name else { return Ok((store::find(root, &args.run)?, None)) };
    if args.run == "last" {
        // No figure has the name of a run.
        if let Ok(dir) = store::find(root, name) {
            return Ok((dir, None));
        }
    }
    Ok((store::find(root, &args.run)?, Some(name.clone())))
}

fn names(figures: &Figures) -> String {
    let names: Vec<String> = figures.list().into_iter().map(|(name, _)| name).collect();
    if names.is_empty() { "this run has no figures".into() } else { format!("write one of {}", names.join(", ")) }
}

fn list(figures: &Figures, all: &[JudgedRun]) -> String {
    let listed = figures.list();
    let run = all.first().map_or("", |one| one.run.meta.id.as_str());
    if listed.is_empty() {
        return format!("The run {run} has no figures: nothing was measured.\n");
    }
    let widest = listed.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: String = listed.iter().map(|(name, title)| format!("  {name:widest$}  {title}\n")).collect();
    format!(
        "Figures of the run {run}; the last part of a name suffices if only one figure has it:\n{lines}`latido figure \
         NAME {run} -o FILE.pdf` writes one.\n"
    )
}

/// Reads a length and returns it in millimetres: `84mm`, `8.4cm`, `3.3in`, `239pt`.
pub(super) fn millimetres(text: &str) -> Result<f64, String> {
    // A point is the TeX point, 72.27 per inch.
    let units = [("mm", 1.0), ("cm", 10.0), ("in", 25.4), ("pt", 25.4 / 72.27)];
    let read =
        units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * factor));
    let length = read.ok_or_else(|| "write a number followed by mm, cm, in or pt, for example 84mm".to_owned())?;
    let (least, most) = WIDTHS;
    match (least..=most).contains(&length) {
        true => Ok(length),
        false => Err(format!("a figure is {least} mm to {most} mm wide: below that there is no room for its labels")),
    }
}

/// The formats of a figure file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Svg,
    Pdf,
    Png,
}

impl Kind {
    fn of(path: &Path) -> Result<Self, Usage> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("pdf") => Ok(Self::Pdf),
            Some("png") => Ok(Self::Png),
            _ => Err(Usage::new(format!(
                "-o {}: the ending of the file selects the format: name a file that ends in .pdf, .svg or .png",
                path.display()
            ))),
        }
    }

    /// Returns a function that makes files of this kind. It loads the machine's fonts once.
    pub(super) fn printer(self, look: &Look) -> Result<Printer<'_>> {
        if self != Self::Svg {
            return converting(self, look);
        }
        // Programs that show an SVG find a font by themselves.
        let font = look.font.as_ref().map_or(FALLBACK.into(), |font| format!("{font}, {FALLBACK}"));
        Ok(Box::new(move |picture| Ok(picture.svg(look.title, &font).into_bytes())))
    }
}

/// Makes the bytes of a figure file.
pub(super) type Printer<'l> = Box<dyn Fn(Picture<'_>) -> Result<Vec<u8>> + 'l>;

/// The fonts that an SVG names.
const FALLBACK: &str = "DejaVu Sans, Liberation Sans, Arial, Helvetica, sans-serif";

#[cfg(not(feature = "pictures"))]
fn converting(_: Kind, _: &Look) -> Result<Printer<'_>> {
    anyhow::bail!(
        "this latido writes figures only as SVG: it was built without the feature `pictures`. Name a file that ends \
         in .svg, or build latido with `cargo build --release --features full`"
    )
}

#[cfg(feature = "pictures")]
fn converting(kind: Kind, look: &Look) -> Result<Printer<'_>> {
    convert::converting(kind, look)
}

/// Converts SVG to PDF and PNG, with the fonts of this machine.
#[cfg(feature = "pictures")]
mod convert {
    use super::{Kind, Look, Printer};
    use anyhow::{Context, Result, anyhow, bail};
    use resvg::{tiny_skia, usvg};
    use std::sync::Arc;

    /// Sans-serif fonts that are no wider than latido assumes.
    const FONTS: [&str; 7] =
        ["DejaVu Sans", "Liberation Sans", "Arial", "Helvetica", "Nimbus Sans", "Noto Sans", "FreeSans"];

    /// CSS pixels per inch: the SVG's millimetres convert at this rate.
    const CSS_DPI: f32 = 96.0;

    pub fn converting(kind: Kind, look: &Look) -> Result<Printer<'_>> {
        let mut fonts = usvg::fontdb::Database::new();
        fonts.load_system_fonts();
        let font = font(&fonts, look.font.as_deref())?;
        fonts.set_sans_serif_family(&font);
        let fontdb = Arc::new(fonts);
        let options = usvg::Options { dpi: CSS_DPI, font_family: font.clone(), fontdb, ..usvg::Options::default() };
        Ok(Box::new(move |picture| {
            let svg = picture.svg(look.title, &font);
            let tree = usvg::Tree::from_str(&svg, &options);
            let tree = tree.context("latido cannot read the figure that it drew as SVG")?;
            if kind == Kind::Png { png(&tree, look.dpi) } else { pdf(&tree) }
        }))
    }

    fn pdf(tree: &usvg::Tree) -> Result<Vec<u8>> {
        let page = svg2pdf::PageOptions { dpi: CSS_DPI };
        let made = svg2pdf::to_pdf(tree, svg2pdf::ConversionOptions::default(), page);
        made.map_err(|error| anyhow!("latido cannot make PDF of the figure: {error}; write .svg instead"))
    }

    /// Returns the name of a font that this machine has.
    fn font(fonts: &usvg::fontdb::Database, asked: Option<&str>) -> Result<String> {
        let family = |face: &usvg::fontdb::FaceInfo| face.families.first().map(|(name, _)| name.clone());
        let has = |name: &str| {
            let own =
                |face: &&usvg::fontdb::FaceInfo| face.families.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
            fonts.faces().find(own).and_then(family)
        };
        if let Some(name) = asked {
            return has(name).with_context(|| {
                format!(
                    "--font {name}: this machine has no font of that name (`fc-list : family` lists those that it has)"
                )
            });
        }
        match FONTS.iter().find_map(|name| has(name)).or_else(|| fonts.faces().find_map(family)) {
            Some(name) => Ok(name),
            None => bail!(
                "this machine has no fonts, and PDF and PNG need one: install one (`apt install fonts-dejavu-core`), or write \
                 the figure as .svg, which needs none"
            ),
        }
    }

    fn png(tree: &usvg::Tree, dpi: u16) -> Result<Vec<u8>> {
        let scale = f32::from(dpi) / CSS_DPI;
        let (width, height) = (tree.size().width() * scale, tree.size().height() * scale);
        let (width, height) = (width.round().max(1.0) as u32, height.round().max(1.0) as u32);
        let mut pixels = tiny_skia::Pixmap::new(width, height)
            .with_context(|| format!("a picture of {width} by {height} pixels is too large: lower --dpi"))?;
        pixels.fill(tiny_skia::Color::WHITE);
        resvg::render(tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
        Ok(with_size(&pixels.encode_png().context("latido cannot make PNG of the figure")?, dpi))
    }

    /// Adds a chunk with the size of a pixel (PNG, third edition, 11.3.4.3) after the header chunk.
    fn with_size(png: &[u8], dpi: u16) -> Vec<u8> {
        // The signature, and length, name, content and checksum of the header.
        const HEADER: usize = 8 + 4 + 4 + 13 + 4;
        let metre = ((f64::from(dpi) / 0.0254).round() as u32).to_be_bytes();
        let content = [b"pHYs".as_slice(), &metre, &metre, &[1]].concat();
        let mut sum = flate2::Crc::new();
        sum.update(&content);
        let (header, rest) = png.split_at(HEADER.min(png.len()));
        [header, &9_u32.to_be_bytes(), &content, &sum.sum().to_be_bytes(), rest].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_has_a_unit() {
        assert_eq!(millimetres("84mm"), Ok(84.0));
        assert_eq!(millimetres("8.4cm"), Ok(84.0));
        assert!((millimetres("3.5in").unwrap() - 88.9).abs() < 1e-9);
        assert!((millimetres("239pt").unwrap() - 84.0).abs() < 0.01);
        for (wrong, why) in
            [("84", "mm, cm, in or pt"), ("wide", "for example 84mm"), ("1mm", "60 mm to 420 mm"), ("NaNmm", "60 mm")]
        {
            assert!(millimetres(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}
