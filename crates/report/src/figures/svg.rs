//! The few SVG elements that figures need; every text is escaped and every number made finite in one place.

use crate::words;
use latido_model::clean;
use std::fmt::Write as _;

/// Text that XML takes as text, in content and in attributes. Control characters, which XML forbids, are written out.
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

/// A coordinate in tenths of a pixel; what is not finite is at the origin, so that no attribute is ever invalid.
fn tenths(v: f64) -> i64 {
    if v.is_finite() { (v * 10.0).round() as i64 } else { 0 }
}

/// A point of a path: half pixels are all that can be seen of a line, and keep the file small.
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

/// A number as an attribute.
pub fn number(v: f64) -> String {
    let mut out = String::new();
    push_tenths(&mut out, tenths(v));
    out
}

/// Roughly how wide a text is, in pixels at this font size.
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

/// A text no wider than this, shortened at its end if need be.
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

/// A text in lines no wider than this, broken between words; a word that is wider stands alone.
pub fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A value and its unit stay together: between them is no plain space.
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

/// Names of one figure, none wider than this; what is too long is shortened by what tells it from the others.
pub fn apart(names: &[&str], size: f64, width: f64) -> Vec<String> {
    words::apart(names, |text| text_width(text, size) <= width)
}

/// The size of a series' name, in pixels as wide as its bold letters are.
pub const NAME_SIZE: f64 = 13.0;

/// Where a text's anchor is.
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
    /// Where the current outline began.
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

    /// A dot, as a zero-length line with round ends.
    pub fn dot(&mut self, x: f64, y: f64) {
        self.step('m', x, y);
        self.data.push_str("h0");
        self.command = 'h';
    }

    /// Whether nothing was drawn.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Closes the current outline.
    pub fn close(&mut self) {
        self.data.push('z');
        // SVG 1.1, 8.3.3: the current point is then the beginning of the outline.
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
        // Coordinates after "m" are lines: a second move must say so.
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

    /// The data.
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
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.body.write_fmt(element);
    }

    /// A line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut pen = Pen::default();
        pen.go(from.0, from.1);
        pen.line(to.0, to.1);
        self.path(class, &pen);
    }

    /// An outline or area.
    pub fn path(&mut self, class: &str, pen: &Pen) {
        if !pen.is_empty() {
            self.add(format_args!("<path class=\"{class}\" d=\"{}\"/>", pen.data()));
        }
    }

    /// A rectangle, with a tooltip if there is one.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), tip: &str) {
        let [x, y, w, h] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(number);
        self.add(format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""));
        self.tip("rect", tip);
    }

    /// A text.
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

    /// A text that reads upwards, from its lower end.
    pub fn upright(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.turned(class, at, anchor, text, &format!(" transform=\"rotate(-90 {x} {y})\""));
    }

    /// The marker of a series (see `style::MARKERS`), with a tooltip if there is one.
    pub fn marker(&mut self, slot: usize, at: (f64, f64), tip: &str) {
        let (x, y) = (number(at.0), number(at.1));
        self.add(format_args!("<use href=\"#m{slot}\" x=\"{x}\" y=\"{y}\""));
        self.tip("use", tip);
    }

    /// A ring around a sample above the limit, or a triangle for one off the scale: symbols `ring` and `off`.
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

    /// Opens the group of a series: its colour, and what the legend switches.
    pub fn open_series(&mut self, slot: usize) {
        self.add(format_args!("<g class=\"s{slot}\" data-s=\"{slot}\">"));
    }

    /// Opens a group in the colour of a series that no legend of the page switches.
    pub fn open_colour(&mut self, slot: usize) {
        self.add(format_args!("<g class=\"s{slot}\">"));
    }

    /// Closes the group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// The finished picture.
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
    /// The name of this form, where a figure has several to choose from.
    pub variant: Option<String>,
    /// What it shows.
    pub title: String,
    /// What it says to those who cannot see it.
    pub description: String,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// The elements.
    pub body: String,
    /// Whether its names of series stand in it: then it needs no legend.
    pub named: bool,
}

impl Drawing {
    /// Its names of series stand in it.
    pub fn named(self) -> Self {
        Self { named: true, ..self }
    }

    /// As an element of a page that has the styles and symbols.
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
