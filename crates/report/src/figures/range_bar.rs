//! The small bar of the summary table: a line from the smallest to the largest sample, a box for the bulk, a dashed line for the limit.

use super::{
    axis::{AxisScale, short_number},
    svg::{Drawing, Svg},
};
use crate::{
    tree::{Curve, Section},
    words::Unit,
};

const WIDTH: f64 = 176.0;
const HEIGHT: f64 = 18.0;

/// Returns the scale that all bars of a section share.
pub fn scale(section: &Section) -> AxisScale {
    let values = section.series.iter().flat_map(|s| [s.min(), s.max()]).flatten();
    AxisScale::log_over(values, 3.0, WIDTH - 5.0)
}

/// Returns the heading above the bars: `1 µs–10 ms, log`.
pub fn heading(section: &Section) -> String {
    let scale = scale(section);
    let end = |v: f64| {
        let unit = Unit::at(v, section.unit);
        (short_number(v / unit.per), unit.name)
    };
    let (low, high) = (end(scale.low), end(scale.high));
    let first = if low.1 == high.1 { low.0 } else { format!("{} {}", low.0, low.1) };
    format!("{first}–{} {}, log", high.0, high.1)
}

/// Draws the bar: a line from minimum to maximum, a box from the median to p99.99 or the rarest known quantile, and a dot at the maximum.
pub fn draw(section: &Section, series: &Curve, slot: usize) -> Option<Drawing> {
    let (min, max) = (series.min()?, series.max()?);
    let x = scale(section);
    let middle = HEIGHT / 2.0;
    let mut svg = Svg::new(WIDTH, HEIGHT);
    svg.line("grid", (3.0, middle), (WIDTH - 5.0, middle));
    if let Some(limit) = series.limit().filter(|l| (x.low..=x.high).contains(l)) {
        svg.line("limit", (x.at(limit), 1.0), (x.at(limit), HEIGHT - 1.0));
    }
    svg.open_series(slot);
    svg.line("solid", (x.at(min), middle), (x.at(max), middle));
    let rare = ["0.9999", "0.999", "0.99", "0.9"].iter().find_map(|key| series.quantile(key));
    if let (Some(median), Some(rare)) = (series.quantile("0.5"), rare) {
        svg.rect("body", (x.at(median), 4.0), ((x.at(rare) - x.at(median)).max(1.0), 10.0), "");
        svg.line("solid", (x.at(median), 2.0), (x.at(median), HEIGHT - 2.0));
    }
    svg.marker(slot, (x.at(max), middle), "");
    svg.close();
    let said = format!("{} to {}", section.value(min), section.value(max));
    Some(svg.finish(None, &format!("{}: range", series.name), &said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    #[test]
    fn nothing_measured_is_no_bar() {
        let all = [sample::empty("x"), sample::of("y", &[1_000], None)];
        let sections = sections(&all);
        assert!(draw(&sections[0], &sections[0].series[0], 0).is_none());
        assert!(draw(&sections[0], &sections[0].series[1], 1).is_some());
    }
}
