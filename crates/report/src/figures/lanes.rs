//! A small timeline: what each CPU did while a sample was late.

use super::svg::{escape, number, text_width};
use crate::words;
use latido_judge::late::{Lane, Worst};
use std::fmt::Write as _;

const WIDTH: f64 = 1160.0;
const LEFT: f64 = 56.0;
const ROW: f64 = 22.0;
const TOP: f64 = 18.0;
/// The font size of the page, in pixels.
const SIZE: f64 = 11.5;

/// The largest number of drawn CPUs: the sample's own CPU and the first of the others.
const MOST: usize = 8;

/// Draws the picture; returns an empty text where nothing is known about that time.
pub fn svg(worst: &Worst) -> String {
    let lanes: &[Lane] = worst.lanes.get(..worst.lanes.len().min(MOST)).unwrap_or_default();
    let edges = lanes.iter().flat_map(|lane| &lane.stretches).flat_map(|stretch| [stretch.from, stretch.to]);
    let (Some(from), Some(to)) = (edges.clone().min(), edges.max()) else { return String::new() };
    let length = i64::try_from(worst.ns).unwrap_or(i64::MAX);
    let (from, to) = (from.min(0), to.max(length).max(1));
    let x = |at: i64| LEFT + (at - from) as f64 / (to - from) as f64 * (WIDTH - LEFT - 4.0);
    let high = TOP + ROW * lanes.len() as f64;
    let label = escape(&format!("What {} did meanwhile", words::many(lanes.len() as u64, "CPU")));
    let mut out = format!(
        "<svg class=\"meanwhile\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{label}\">",
        number(WIDTH),
        number(high)
    );
    let mut put = |piece: String| out.push_str(&piece);
    for (row, lane) in lanes.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        put(format!("<text x=\"0\" y=\"{}\">CPU {}</text>", number(y + 14.0), lane.cpu));
        for stretch in &lane.stretches {
            let (left, right) = (x(stretch.from), x(stretch.to));
            // Idle time is drawn low, as in the large timeline.
            let (top, tall) = if stretch.kind == "idle" { (y + 14.0, 4.0) } else { (y + 2.0, 16.0) };
            put(format!(
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                stretch.kind,
                number(left),
                number(top),
                number((right - left).max(0.5)),
                number(tall)
            ));
        }
    }
    let mut mark = |at: i64, text: &str| {
        let place = x(at);
        // Near the margin, the text moves inwards.
        let words = text_width(text, SIZE);
        let middle = place.clamp(words / 2.0, WIDTH - words / 2.0);
        let _ = write!(
            out,
            "<path class=\"edge\" d=\"M{} {}V{}\"/><text x=\"{}\" y=\"11\" class=\"edge\">{}</text>",
            number(place),
            number(TOP - 4.0),
            number(high),
            number(middle),
            escape(text)
        );
    };
    mark(0, "due");
    mark(length, &format!("+{}", words::value(worst.ns as f64, "ns")));
    out.push_str("</svg>");
    out
}
