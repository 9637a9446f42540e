//! The few SVG elements that figures need. Every text is escaped and every number made finite in one place.

use crate::words;
use latido_model::clean;
use std::fmt::Write as _;

/// Escapes text for XML, in content and in attributes. Control characters, which XML forbids, become escape sequences.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean::line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Returns a coordinate in tenths of a pixel. A non-finite one becomes 0, so that no attribute is ever invalid.
fn tenths(v: f64) -> i64 {
    if v.is_finite() { (v * 10.0).round() as i64 } else { 0 }
}

/// Rounds a coordinate of a path to half pixels, in tenths of a pixel: finer steps are not visible in a line, and coarse ones keep the file
/// small.
fn halves(v: f64) -> i64 {
    if v.is_finite() { (v * 2.0).round() as i64 * 5 } else { 0 }
}

fn push_tenths(out: &mut String, tenths: i64) {
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, tenth) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    let _ = match (whole, tenth) {
        (_, 0) => write!(out, "{sign}{whole}"),
        (0, _) => write!(out, "{sign}.{tenth}"),
        _ => write!(out, "{sign}{whole}.{tenth}"),
    };
}

/// Formats a number as an attribute.
pub fn number(v: f64) -> String {
    let mut out = String::new();
    push_tenths(&mut out, tenths(v));
    out
}

/// Estimates the width of a text, in pixels at this font size.
pub fn text_width(text: &str, size: f64) -> f64 {
    let ems = |c: char| match c {
        'i' | 'l' | 'I' | '.' | ',' | ':' | '\'' | '|' | '\u{202f}' | 't' | 'f' | 'j' => 0.36,
        'm' | 'M' | 'w' | 'W' => 0.96,
        c if c.is_ascii_uppercase() => 0.72,
        c if (c as u32) > 0x2e80 => 1.05,
        _ => 0.64,
    };
    text.chars().map(ems).sum::<f64>() * size
}

/// Returns a text no wider than this, with its end cut off if necessary.
pub fn fit(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if text_width(&short, size) + size * 0.9 > width {
            break;
        }
    }
    short.push('…');
    short
}

/// Splits a text into lines no wider than this, between words. A wider word has a line to itself.
pub fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A value and its unit stay together, because the space between them is a non-breaking one.
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Shortens the names of one figure to this width. A long name keeps the part that distinguishes it from the others.
pub fn apart(names: &[&str], size: f64, width: f64) -> Vec<String> {
    words::apart(names, |text| text_width(text, size) <= width)
}

/// The font size of a series' name, in pixels: large enough for the width of its bold letters.
pub const NAME_SIZE: f64 = 13.0;

/// The position of a text's anchor.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// At its left end.
    Start,
    /// In its middle.
    Middle,
    /// At its right end.
    End,
}

/// A path's data, written with short relative coordinates that do not accumulate rounding errors.
#[derive(Debug, Default)]
pub struct Pen {
    data: String,
    at: (i64, i64),
    /// The start of the current outline.
    start: (i64, i64),
    command: char,
}

impl Pen {
    /// Moves without drawing.
    pub fn go(&mut self, x: f64, y: f64) {
        self.step('m', x, y);
    }

    /// Draws a straight line.
    pub fn line(&mut self, x: f64, y: f64) {
        self.step('l', x, y);
    }

    /// Draws a dot, as a zero-length line with round ends.
    pub fn dot(&mut self, x: f64, y: f64) {
        self.step('m', x, y);
        self.data.push_str("h0");
        self.command = 'h';
    }

    /// Returns whether nothing was drawn.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Closes the current outline.
    pub fn close(&mut self) {
        self.data.push('z');
        // SVG 1.1, 8.3.3: the current point is then the start of the outline.
        self.at = self.start;
        self.command = 'z';
    }

    fn step(&mut self, command: char, x: f64, y: f64) {
        let (x, y) = (halves(x), halves(y));
        let (dx, dy) = (x - self.at.0, y - self.at.1);
        if command == 'l' && (dx, dy) == (0, 0) && self.command != 'm' {
            return;
        }
        self.at = (x, y);
        if command == 'm' {
            self.start = (x, y);
        }
        if command == 'l' && (dx == 0 || dy == 0) {
            let letter = if dx == 0 { 'v' } else { 'h' };
            self.data.push(letter);
            push_tenths(&mut self.data, if dx == 0 { dy } else { dx });
            self.command = letter;
            return;
        }
        // Coordinates after "m" are implicit lines, so a second move needs its own command.
        if command == 'm' || !(self.command == 'l' || self.command == 'm') {
            self.data.push(command);
        } else if dx >= 0 {
            self.data.push(' ');
        }
        push_tenths(&mut self.data, dx);
        if dy >= 0 {
            self.data.push(' ');
        }
        push_tenths(&mut self.data, dy);
        self.command = command;
    }

    /// Returns the path data.
    pub fn data(&self) -> &str {
        &self.data
    }
}

/// A picture being drawn.
#[derive(Debug)]
pub struct Svg {
    /// Width of the drawing area.
    pub width: f64,
    /// Height of the drawing area.
    pub height: f64,
    body: String,
}

impl Svg {
    /// Returns an empty picture.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(element);
    }

    /// Draws a line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut pen = Pen::default();
        pen.go(from.0, from.1);
        pen.line(to.0, to.1);
        self.path(class, &pen);
    }

    /// Draws an outline or area.
    pub fn path(&mut self, class: &str, pen: &Pen) {
        if !pen.is_empty() {
            self.add(format_args!("<path class=\"{class}\" d=\"{}\"/>", pen.data()));
        }
    }

    /// Draws a rectangle, with a tooltip if `tip` is not empty.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let [x, y, w, h] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(number);
        self.add(format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""));
        self.tip("rect", tip);
    }

    /// Writes a text.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.turned(class, at, anchor, text, "");
    }

    fn turned(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str, how: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, text) = (number(at.0), number(at.1), escape(text));
        self.add(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}{how}>{text}</text>"));
    }

    /// Writes a text that reads upwards from its lower end.
    pub fn upright(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.turned(class, at, anchor, text, &format!(" transform=\"rotate(-90 {x} {y})\""));
    }

    /// Draws the marker of a series (see `style::MARKERS`), with a tooltip if `tip` is not empty.
    pub fn marker(&mut self, slot: usize, at: (f64, f64), tip: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.add(format_args!("<use href=\"#m{slot}\" x=\"{x}\" y=\"{y}\""));
        self.tip("use", tip);
    }

    /// Draws one of two symbols: `ring`, around a sample above the limit, or `off`, a triangle for a sample off the scale.
    pub fn symbol(&mut self, name: &str, at: (f64, f64), tip: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.add(format_args!("<use href=\"#{name}\" x=\"{x}\" y=\"{y}\""));
        self.tip("use", tip);
    }

    fn tip(&mut self, element: &str, tip: &str) {
        match tip {
            "" => self.body.push_str("/>"),
            _ => self.add(format_args!("><title>{}</title></{element}>", escape(tip))),
        }
    }

    /// Opens the group of a series, which sets its colour and which the legend can switch.
    pub fn open_series(&mut self, slot: usize) {
        self.add(format_args!("<g class=\"s{slot}\" data-s=\"{slot}\">"));
    }

    /// Opens a group in the colour of a series. The page's legend does not switch it.
    pub fn open_colour(&mut self, slot: usize) {
        self.add(format_args!("<g class=\"s{slot}\">"));
    }

    /// Closes the group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// Returns the finished picture.
    pub fn finish(self, variant: Option<&str>, title: &str, description: &str) -> Drawing {
        Drawing {
            variant: variant.map(String::from),
            title: title.to_owned(),
            description: description.to_owned(),
            width: self.width,
            height: self.height,
            body: self.body,
            named: false,
        }
    }
}

/// A finished picture.
#[derive(Debug)]
pub struct Drawing {
    /// The name of this variant, for a figure with several variants to choose from.
    pub variant: Option<String>,
    /// A short title.
    pub title: String,
    /// A description for readers who cannot see it.
    pub description: String,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// The elements.
    pub body: String,
    /// Whether the picture itself names its series: then it needs no legend.
    pub named: bool,
}

impl Drawing {
    /// Marks the picture as one that names its series itself.
    pub fn named(self) -> Self {
        Self { named: true, ..self }
    }

    /// Returns an element for a page that has the styles and symbols.
    pub fn inline(&self) -> String {
        format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" class=\"figure\"><title>{}</title><desc>{}</desc>{}</svg>",
            number(self.width),
            number(self.height),
            escape(&self.title),
            escape(&self.description),
            self.body,
        )
    }
}

#[cfg(test)]
mod tests;
