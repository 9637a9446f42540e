//! Ratios with their intervals around 1, one row each: effects of factors, shifts of quantiles.

use super::{
    axis::AxisScale,
    frame::{Frame, WIDTH},
    svg::{Anchor, Drawing, NAME_SIZE, Svg, fit, text_width},
};
use crate::words;

/// The height of a row, in pixels.
const ROW: f64 = 24.0;

/// A row.
#[derive(Clone, Debug)]
pub struct Ratio {
    /// The name of its row.
    pub name: String,
    /// The ratio.
    pub value: f64,
    /// Its 95 % interval, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// Draws ratios, or the reason why there are none, in this width in pixels.
pub fn picture(title: &str, axis: &str, width: f64, rows: Result<Vec<Ratio>, String>) -> Drawing {
    let rows = match rows {
        Ok(rows) => rows,
        Err(why) => return nothing(title, &why, width),
    };
    // Names and numbers need the width of a page: in less, they are above their rows.
    let narrow = width < WIDTH;
    let (left, right) = if narrow { (16.0, width - 16.0) } else { (420.0, width - 200.0) };
    let row = if narrow { ROW + 12.0 } else { ROW };
    let frame = Frame { left, right, top: 8.0, bottom: 8.0 + row * rows.len() as f64 };
    let reach = rows
        .iter()
        .flat_map(|one| [one.value, one.interval.map_or(one.value, |i| i.0), one.interval.map_or(one.value, |i| i.1)]);
    // The axis reaches equally far to both sides of 1; ratios beyond a factor of 1000 are drawn at the edge.
    let far = reach.map(|ratio| ratio.ln().abs()).filter(|far| far.is_finite()).fold(1.25_f64.ln(), f64::max);
    let far = (far * 1.06).min(1e3_f64.ln()).exp();
    let x = AxisScale::log(1.0 / far, far, frame.left, frame.right);
    let mut svg = Svg::new(width, frame.bottom + 44.0);
    let ticks: Vec<(f64, String)> = x.ticks(9).into_iter().map(|v| (x.at(v), words::trimmed(v))).collect();
    frame.x_axis(&mut svg, &ticks, axis);
    svg.line("usual", (x.at(1.0), frame.top), (x.at(1.0), frame.bottom));
    let mut said = Vec::new();
    for (at, one) in rows.iter().enumerate() {
        let y = frame.top + row * (at as f64 + if narrow { 0.75 } else { 0.5 });
        let sure = one.interval.is_none_or(|(low, high)| low > 1.0 || high < 1.0);
        let text = amount(one);
        if let Some((low, high)) = one.interval {
            svg.line("solid", (x.at(low), y), (x.at(high), y));
        }
        svg.marker(if sure { 0 } else { 1 }, (x.at(one.value), y), &format!("{}: {text}", one.name));
        let class = if sure { "head" } else { "tick" };
        if narrow {
            let room = right - left - text_width(&text, 11.0) - 12.0;
            svg.text(class, (left, y - 11.0), Anchor::Start, &fit(&one.name, NAME_SIZE, room));
            svg.text("tick", (right, y - 11.0), Anchor::End, &text);
        } else {
            svg.text(class, (left - 12.0, y + 4.0), Anchor::End, &fit(&one.name, 12.0, left - 24.0));
            svg.text("tick", (right + 12.0, y + 4.0), Anchor::Start, &text);
        }
        said.push(format!("{}: {text}", one.name));
    }
    svg.finish(None, title, &format!("{}.", said.join("; ")))
}

fn nothing(title: &str, why: &str, width: f64) -> Drawing {
    let mut svg = Svg::new(width, 70.0);
    let frame = Frame { left: 20.0, right: width - 20.0, top: 10.0, bottom: 60.0 };
    svg.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    frame.nothing(&mut svg, &fit(why, 11.5, width - 60.0));
    svg.finish(None, title, &format!("{why}."))
}

/// Returns the text of a ratio: `0.31 (0.25 to 0.39)`.
fn amount(one: &Ratio) -> String {
    let number = |v: f64| if (1e-3..1e4).contains(&v) { words::plain(v) } else { format!("{v:.0e}") };
    match one.interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
        Some((low, high)) => format!("{} ({} to {})", number(one.value), number(low), number(high)),
        None => number(one.value),
    }
}
