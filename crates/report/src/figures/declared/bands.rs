//! Counts between fixed edges, one bar per curve.

use super::{Drawn, Panel};
use crate::{
    figures::{
        axis::{AxisScale, short_count},
        frame::{Frame, count_scale},
        svg::{Anchor, Svg, text_width},
    },
    tree::declared::Found,
    words,
};
use latido_model::plan::{Figure, Over, Statistic};

/// Draws the bars of a panel.
pub fn draw(svg: &mut Svg, frame: &Frame, panel: &Panel, figure: &Figure, edges: &[i64]) {
    let shown: Vec<(&Drawn, Vec<f64>)> =
        panel.curves.iter().filter_map(|curve| Some((curve, counts(curve.found()?, edges, figure.over)?))).collect();
    let most = shown.iter().flat_map(|(_, counts)| counts).copied().fold(0.0, f64::max);
    let y = match figure.log {
        true => count_scale(most as u64, frame.bottom, frame.top),
        false => AxisScale::linear(0.0, most.max(1.0) * 1.05, frame.bottom, frame.top),
    };
    match figure.log {
        true => frame.count_y_axis(svg, &y, ""),
        false => frame.linear_count_y_axis(svg, &y, ""),
    }
    let pitch = (frame.right - frame.left) / (edges.len() + 1) as f64;
    let bar = (pitch * 0.84 / shown.len().max(1) as f64).min(60.0);
    for (band, name) in names(edges).iter().enumerate() {
        let middle = frame.left + pitch * (band as f64 + 0.5);
        let class = if text_width(name, 11.0) > pitch - 4.0 { "small" } else { "tick" };
        svg.text(class, (middle, frame.bottom + 16.0), Anchor::Middle, name);
        for (k, (curve, counts)) in shown.iter().enumerate() {
            let n = counts.get(band).copied().unwrap_or(0.0);
            let x = middle - bar * shown.len() as f64 / 2.0 + bar * k as f64;
            let top = if n > 0.0 { y.at(n) } else { frame.bottom };
            let tip = format!("{}, {name}: {}", curve.name, words::trimmed(n));
            svg.open_series(curve.slot);
            svg.rect("bar", (x + 1.0, top), (bar - 2.0, frame.bottom - top), &tip);
            let said = short_count(n.round() as u64);
            if bar < 27.0 {
                svg.upright("small", (x + bar / 2.0 + 3.5, top - 4.0), Anchor::Start, &said);
            } else {
                svg.text("small", (x + bar / 2.0, top - 5.0), Anchor::Middle, &said);
            }
            svg.close();
        }
    }
}

/// Returns the number of samples in each band: of all repeats together, or the median over the repeats.
pub fn counts(found: Found, edges: &[i64], over: Over) -> Option<Vec<f64>> {
    let above = |edge: &i64| match over {
        Over::Pooled => Some(vec![found.figure(Statistic::Above(*edge), Over::Pooled)?]),
        _ => Some(found.repeats(Statistic::Above(*edge))),
    };
    let mut higher: Vec<Vec<f64>> = vec![match over {
        Over::Pooled => vec![found.figure(Statistic::Count, Over::Pooled)?],
        _ => found.repeats(Statistic::Count),
    }];
    for edge in edges {
        higher.push(above(edge)?);
    }
    higher.push(Vec::new());
    let between = |pair: &[Vec<f64>]| {
        let [from, to] = pair else { return None };
        let mut each: Vec<f64> =
            from.iter().enumerate().map(|(i, n)| n - to.get(i).copied().unwrap_or_default()).collect();
        each.sort_by(f64::total_cmp);
        let (low, high) = (each.get(each.len().checked_sub(1)? / 2)?, each.get(each.len() / 2)?);
        Some((low + high) / 2.0)
    };
    higher.windows(2).map(between).collect()
}

/// Returns the names of the bands: `≤ 1 µs`, `1–5 µs`, `> 100 µs`.
pub fn names(edges: &[i64]) -> Vec<String> {
    let label = |edge: &i64| words::round_value(*edge as f64, "ns");
    let pairs = edges.windows(2).filter_map(|pair| {
        let [from, to] = pair else { return None };
        let (from, to) = (label(from), label(to));
        Some(match (from.split_once(' '), to.split_once(' ')) {
            (Some((number, a)), Some((_, b))) if a == b => format!("{number}–{to}"),
            _ => format!("{from}–{to}"),
        })
    });
    let first = edges.first().map(|edge| format!("≤ {}", label(edge)));
    let last = edges.last().map(|edge| format!("> {}", label(edge)));
    first.into_iter().chain(pairs).chain(last).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bands_lie_between_their_edges() {
        let names = super::names(&[1_000, 5_000, 100_000, 1_000_000]);
        assert_eq!(names, ["≤ 1 µs", "1–5 µs", "5–100 µs", "100 µs–1 ms", "> 1 ms"]);
        assert_eq!(super::names(&[1_000]), ["≤ 1 µs", "> 1 µs"]);
    }
}
