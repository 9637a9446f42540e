//! Colours, dashes and markers: the Okabe-Ito palette (jfly.uni-koeln.de/color), darkened where it would be too pale on white.

use std::fmt::Write as _;

/// Name, colour on white, colour on black.
const COLOURS: &[(&str, &str, &str)] = &[
    ("bg", "#ffffff", "#14171a"),
    ("pan", "#f6f7f9", "#1c2024"),
    ("fg", "#16191d", "#e8eaed"),
    ("mu", "#5a636e", "#a2abb5"),
    ("gr", "#e3e6ea", "#2b3138"),
    ("ln", "#cfd4da", "#3a424b"),
    ("bad", "#b3261e", "#ff8a80"),
    ("warn", "#8a5a00", "#f0c24b"),
    ("good", "#00694e", "#4fd8a8"),
    ("badw", "#fbf2f1", "#241c1e"),
    ("s0", "#d55e00", "#ff8b3d"),
    ("s1", "#0072b2", "#56b4e9"),
    ("s2", "#00795a", "#3ecf9f"),
    ("s3", "#a94c80", "#e79ac3"),
    ("s4", "#b07700", "#f0b429"),
    ("s5", "#3f92c9", "#a8dcfb"),
    ("s6", "#857c00", "#f0e442"),
    ("s7", "#30363d", "#c9d1d9"),
];

/// The dashes of the series, so that readers can distinguish curves without colour.
const DASHES: [&str; 8] = ["", "8 3", "3 1.6", "10 3 2 3", "5 2", "1.5 2.5", "14 3", "6 2 2 2 2 2"];

/// The markers of the series, as outlines around the origin.
const MARKERS: [&str; 8] = [
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0-6.8 0z",
    "M-3-3h6v6h-6z",
    "M0-4.2l4 7h-8z",
    "M0-4.4l4.4 4.4-4.4 4.4-4.4-4.4z",
    "M0 4.2l4-7h-8z",
    "M-3.6-2.2l1.4-1.4 2.2 2.2 2.2-2.2 1.4 1.4-2.2 2.2 2.2 2.2-1.4 1.4-2.2-2.2-2.2 2.2-1.4-1.4 2.2-2.2z",
    "M-1-4h2v3h3v2h-3v3h-2v-3h-3v-2h3z",
    "M0-4.2l4 2.9-1.5 4.7h-5l-1.5-4.7z",
];

/// The CSS rules for figures, with the colours as variables.
const FIGURE_CSS: &str = include_str!("../../templates/figures.css");

/// Returns the colours of a page, for light and dark mode.
pub fn page_variables() -> String {
    let mut css = String::from(":root{");
    for (name, light, dark) in COLOURS {
        let _ = write!(css, "--{name}:light-dark({light},{dark});");
    }
    css.push('}');
    css
}

/// Returns the CSS rules for figures on a page that defines the variables.
pub fn page_rules() -> String {
    let mut css = FIGURE_CSS.to_owned();
    for (slot, dash) in DASHES.iter().enumerate() {
        let _ = write!(
            css,
            ".s{slot}{{color:var(--s{slot});stroke-dasharray:{}}}",
            if dash.is_empty() { "none" } else { dash }
        );
    }
    css
}

/// Returns the CSS rules for a separate picture: with literal light colours, for programs that do not support variables.
pub fn standalone_rules() -> String {
    let mut css = page_rules();
    for (name, light, _) in COLOURS {
        css = css.replace(&format!("var(--{name})"), light);
    }
    css
}

/// Returns the CSS rules for a figure on paper, which may be printed in grey. Where a page uses only colour to distinguish series, paper
/// uses dashes for lines and patterns for surfaces.
pub fn paper_rules() -> String {
    let mut css = standalone_rules();
    for (slot, dash) in DASHES.iter().enumerate().filter(|(_, dash)| !dash.is_empty()) {
        let _ = write!(css, ".s{slot} .fine{{stroke-dasharray:{dash}}}");
    }
    // The first series is solid.
    for (slot, _) in HATCHES.iter().enumerate().skip(1) {
        let _ = write!(
            css,
            ".s{slot} .bar,.s{slot} .band{{fill:url(#h{slot});fill-opacity:1;stroke:{};stroke-width:.8;stroke-dasharray:none}}",
            colour(slot)
        );
    }
    css
}

/// Patterns for surfaces, in squares of 6 pixels, so that readers can distinguish them without colour; the first series has none.
const HATCHES: [&str; 8] = [
    "",
    "M-1 1l2-2M0 6l6-6M5 7l2-2",
    "M1 1h1.6v1.6h-1.6zM4 4h1.6v1.6h-1.6z",
    "M-1 5l2 2M0 0l6 6M5-1l2 2",
    "M0 1h6M0 4h6",
    "M1 0v6M4 0v6",
    "M0 0l6 6M0 6l6-6",
    "M3 0v6M0 3h6",
];

/// Returns the colour of a series on white.
fn colour(slot: usize) -> &'static str {
    let name = format!("s{slot}");
    COLOURS.iter().find(|(own, ..)| *own == name).map_or("#000", |(_, light, _)| light)
}

/// Returns the patterns that [`paper_rules`] refers to.
pub fn patterns() -> String {
    let mut out = String::from("<defs>");
    for (slot, lines) in HATCHES.iter().enumerate().skip(1) {
        let colour = colour(slot);
        let _ = write!(
            out,
            "<pattern id=\"h{slot}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"M0 0h6v6h-6z\" fill=\"#fff\"/><path d=\"{lines}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"1.1\"/></pattern>"
        );
    }
    out.push_str("</defs>");
    out
}

/// Returns the shared symbols: the markers, the ring and the triangle.
pub fn symbols() -> String {
    let mut out = String::from("<defs>");
    for (slot, outline) in MARKERS.iter().enumerate() {
        let _ = write!(out, "<path id=\"m{slot}\" class=\"mk\" d=\"{outline}\"/>");
    }
    out.push_str(
        "<circle id=\"ring\" class=\"ring\" r=\"3.2\"/><path id=\"off\" class=\"off\" d=\"M0-5l4 7h-8z\"/></defs>",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contrast of two colours according to WCAG 2.2.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let channel = |i: usize| {
                let v = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
                if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        if a > b { a / b } else { b / a }
    }

    #[test]
    fn every_colour_is_seen_on_its_ground() {
        let ground = COLOURS[0];
        for (name, light, dark) in COLOURS {
            let least = match *name {
                "bg" | "pan" | "gr" | "ln" | "badw" => continue,
                "fg" | "mu" | "bad" | "warn" | "good" => 4.5,
                _ => 3.0,
            };
            assert!(contrast(light, ground.1) >= least, "{name} on white: {}", contrast(light, ground.1));
            assert!(contrast(dark, ground.2) >= least, "{name} on black: {}", contrast(dark, ground.2));
        }
    }

    #[test]
    fn a_picture_of_its_own_needs_no_variables() {
        assert!(!standalone_rules().contains("var("), "{}", standalone_rules());
    }
}
