//! Both sides of a comparison in a line of text: a mark for each repeat, one side above the other.

use super::{
    axis::AxisScale,
    svg::{Anchor, Pen, Svg, apart, escape, number},
};
use latido_judge::measured::Pair;

const SIZE: (f64, f64) = (300.0, 30.0);
/// The horizontal range of the marks, in pixels; the names follow to its right.
const MARKS: (f64, f64) = (4.0, 170.0);
/// More marks than this look like a bar and take too many bytes for a line.
const MOST: usize = 40;

/// Draws the strip of a comparison; returns an empty text if a side has no repeat, or neither side has two.
pub fn of(pair: &Pair) -> String {
    let sides = [&pair.own, &pair.other];
    if pair.each.iter().any(Vec::is_empty) || pair.each.iter().all(|side| side.len() < 2) {
        return String::new();
    }
    let all = || pair.each.iter().flatten().copied();
    let (low, high) = all().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let (left, right) = MARKS;
    let x = match low > 0.0 {
        true => AxisScale::log(low * 0.98, (high * 1.02).max(low * 1.05), left, right),
        false => AxisScale::linear(low, if high > low { high } else { low + 1.0 }, left, right),
    };
    let mut svg = Svg::new(SIZE.0, SIZE.1);
    let names = apart(&sides.map(|side| side.name.as_str()), 11.0, SIZE.0 - right - 10.0);
    for (slot, (values, name)) in pair.each.iter().zip(&names).enumerate() {
        let y = SIZE.1 * (slot as f64 + 0.5) / 2.0;
        let mut marks = Pen::default();
        // Of many repeats, only the first are drawn, in the order of measurement.
        for value in values.iter().take(MOST) {
            marks.go(x.at(*value), y - 4.0);
            marks.line(x.at(*value), y + 4.0);
        }
        svg.line("grid", (left, y), (right, y));
        svg.open_series(slot);
        svg.path("solid", &marks);
        svg.close();
        svg.text("tick", (right + 8.0, y + 4.0), Anchor::Start, name);
    }
    let told = format!("The repeats: {} above {}", sides[0].name, sides[1].name);
    let (width, height) = (number(SIZE.0), number(SIZE.1));
    let body = svg.finish(None, "", "").body;
    format!(
        "<svg class=\"strip\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{body}</svg>",
        escape(&told)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::measured::{Compared, Ruling};

    fn pair(own: Vec<f64>, other: Vec<f64>) -> Pair {
        let side = |name: &str, all: &[f64]| Compared { name: name.into(), amount: None, repeats: all.len() };
        Pair {
            own: side("isolated, with a load of a long name", &own),
            other: side("stock", &other),
            apart: None,
            p: None,
            ruling: Ruling::Chance,
            left_out: Vec::new(),
            each: [own, other],
        }
    }

    /// Each repeat has its mark, up to [`MOST`] on a side, and a strip is small however many repeats there are. One run per side has no
    /// spread.
    #[test]
    fn each_repeat_has_a_mark_and_the_strip_is_small() {
        let ten: Vec<f64> = (1..=10).map(|k| 1e5 * f64::from(k)).collect();
        let strip = of(&pair(ten.clone(), vec![0.0; 200]));
        // Each mark is a vertical line of eight pixels.
        let marks = |strip: &str| strip.matches("v8").count();
        assert_eq!((marks(&of(&pair(ten.clone(), ten.clone()))), marks(&strip)), (20, 10 + MOST));
        assert!(strip.contains("isolated") && strip.contains(">stock<") && !strip.contains("NaN"), "{strip}");
        assert!(of(&pair(ten.clone(), ten.clone())).len() < 1_200, "{}", of(&pair(ten.clone(), ten.clone())));
        assert!(strip.len() < 2_000, "{}", strip.len());
        assert_eq!(of(&pair(vec![1.0], vec![2.0])), "");
        assert_eq!(of(&pair(Vec::new(), ten)), "");
    }
}
