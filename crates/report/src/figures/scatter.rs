//! The scatter plot of the interrupt-latency studies: one panel per configuration, one linear scale, mean and spread below.

use super::{
    Chart,
    axis::{AxisScale, round_up, time_axis},
    frame::{Frame, WIDTH, is_narrow},
    svg::{Anchor, Drawing, NAME_SIZE, Pen, Svg, apart, text_width, wrapped},
    timeline::{end, timeline, usual},
};
use crate::{
    tree::{Curve, Datum, Head, Kept, Section, Sheet},
    words::{self, Unit},
};

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "scatter",
    title: "Scatter",
    fits: |section| section.is_over_time() && section.labels.is_empty() && !section.is_ordered(),
    about: |section| {
        let high = scale_end(section);
        let usual = usual(section.shown());
        let means = |series: &Curve| {
            let over_time = timeline(series, end(section.shown()), usual, COLUMNS);
            over_time.columns.iter().flatten().any(|slice| slice.mean <= high)
        };
        let means = if section.shown().iter().any(means) { "; dashed: block means" } else { "" };
        let limits = section.limits();
        let limit = match limits.iter().filter(|limit| **limit <= high).count() {
            0 if limits.is_empty() => "",
            0 => "; the limit is above the scale",
            _ => "; red dashes: the limit",
        };
        format!(
            "Dots: the largest samples, smaller ones are not drawn{means}{limit}. One linear scale for all, from 0 to {}; \
             triangles at its upper edge are the largest above it.",
            words::round_value(high, section.unit)
        )
    },
    draw: |section| vec![draw(section)],
    table,
};

/// The most block means of a panel.
const COLUMNS: usize = 120;
/// The most dots of all panels together, so that the file stays small; [`MOST_DOTS`] is for one panel.
const ALL_DOTS: usize = 1_800;
const MOST_DOTS: usize = 900;
/// The most triangles of a panel; [`ALL_TRIANGLES`] is for all panels together.
const TRIANGLES: usize = 30;
const ALL_TRIANGLES: usize = 64;

/// The width of the labels of a panel's axis, in pixels.
const LABELS: f64 = 70.0;

/// The shares of a panel's dots that should stay on the scale, the largest share first. [`HEADROOM`] is the largest allowed ratio of the
/// scale's end to the median dot. Rare huge values become triangles, so that the other dots are not squeezed to the bottom.
const SHARES: [f64; 5] = [1.0, 0.999, 0.99, 0.95, 0.9];
const HEADROOM: f64 = 8.0;

/// Returns the end of the common scale. It includes all dots if the median dot stays visible, else fewer of them.
fn scale_end(section: &Section) -> f64 {
    // For each series the dot that this share of its dots does not exceed; the result is the largest over all series.
    let dot = |share: f64| {
        let of = |series: &Curve| {
            let kept = series.kept();
            let above = ((1.0 - share) * kept.len() as f64).round() as usize;
            kept.get(above.min(kept.len().saturating_sub(1))).map(|k| k.sample.value as f64)
        };
        section.shown().iter().filter_map(of).fold(0.0, f64::max)
    };
    let most = dot(0.5) * HEADROOM;
    let end = SHARES.into_iter().map(dot).find(|end| *end <= most).unwrap_or(most);
    if end <= 0.0 {
        return 10_000.0;
    }
    let step = round_up(end.max(1.0) / 10.0);
    (end.max(1.0) * 1.05 / step).ceil() * step
}

/// Counts the samples above the scale, as exactly as the histogram allows.
fn off_scale(series: &Curve, high: f64) -> u64 {
    series.buckets.iter().rev().take_while(|(value, _)| *value > high).map(|(_, count)| count).sum()
}

/// Returns mean and standard deviation, minimum and maximum of the whole run in one unit, as the study prints them below each panel: two
/// lines, which `draw` joins if there is room.
fn caption(section: &Section, series: &Curve, high: f64) -> Vec<String> {
    let summary = &series.pooled.summary;
    let unit = Unit::fitting(section.unit, [series.min(), summary.mean, series.max()].into_iter().flatten());
    let said =
        |v: Option<f64>| v.map_or(words::NOT_MEASURED.into(), |v| format!("{}\u{a0}{}", unit.text(v), unit.name));
    let off = match off_scale(series, high) {
        0 => String::new(),
        n => format!(" · {} off the scale", words::count(n)),
    };
    vec![
        format!("mean {} · sd {}", said(summary.mean), said(summary.sd)),
        format!("min {} · max {}{off}", said(series.min()), said(series.max())),
    ]
}

fn draw(section: &Section) -> Drawing {
    let shown = section.shown();
    let (end, usual, high) = (end(shown), usual(shown), scale_end(section));
    let across = if shown.len() > 1 && !is_narrow(section.width) { 2.0 } else { 1.0 };
    let (width, height) =
        ((section.width - 24.0 * (across - 1.0)) / across, if shown.len() > 4 { 108.0 } else { 150.0 });
    // Where a panel is narrower than on a page, the caption takes more lines.
    let tight = section.width < WIDTH;
    let pitch = height + if tight { 100.0 } else { 74.0 };
    let down = (shown.len() as f64 / across).ceil();
    let mut svg = Svg::new(section.width, pitch * down);
    let most = (ALL_DOTS / shown.len().max(1)).min(MOST_DOTS);
    let names = apart(&section.names(), NAME_SIZE, width - LABELS - 40.0);
    for (slot, (series, name)) in shown.iter().zip(&names).enumerate() {
        let (column, row) = ((slot as f64) % across, (slot as f64 / across).floor());
        let left = column * (width + 24.0) + LABELS;
        let top = row * pitch + 22.0;
        let frame = Frame { left, right: left + width - LABELS - 12.0, top, bottom: top + height };
        let x = AxisScale::linear(0.0, end, frame.left, frame.right);
        let y = AxisScale::linear(0.0, high, frame.bottom, frame.top);
        let ticks = time_axis(&x);
        frame.x_axis(&mut svg, &ticks, "");
        frame.value_y_axis(&mut svg, &y, section, "", if height > 120.0 { 6 } else { 5 });
        frame.limits_across(&mut svg, &y, section, false);
        svg.open_series(slot);
        svg.marker(slot, (left + 6.0, top - 10.0), "");
        svg.text("name", (left + 16.0, top - 6.0), Anchor::Start, name);
        svg.path("dots", &dots(series, &x, &y, most));
        let line = timeline(series, end, usual, COLUMNS);
        svg.path("mean over-dots", &line.steps(&x, |c| (c.mean <= high).then(|| y.at(c.mean))));
        svg.close();
        triangles(&mut svg, section, series, &x, &y);
        if series.tracks().all(|t| t.blocks.is_empty() && t.largest.is_empty()) {
            frame.nothing(&mut svg, "no samples");
        }
        let middle = (frame.left + frame.right) / 2.0;
        let told = caption(section, series, high);
        let fits = text_width(&told.join(" · "), 11.5) < width;
        let lines = if fits { vec![told.join(" · ")] } else { told };
        let lines = lines
            .iter()
            .flat_map(|line| wrapped(line, 11.5, if tight { frame.right - frame.left + 24.0 } else { width }));
        for (line, below) in lines.zip([33.0, 48.0, 62.0, 76.0]) {
            svg.text("label", (middle, frame.bottom + below), Anchor::Middle, &line);
        }
    }
    let said: Vec<_> = shown.iter().map(|s| format!("{}: {}", s.name, caption(section, s, high).join(" · "))).collect();
    let description = format!("Vertical scale to {}. {}.", words::round_value(high, section.unit), said.join("; "));
    svg.finish(None, &format!("{}: scatter over time", section.title()), &description).named()
}

/// Draws the kept samples on the scale, with one dot for samples that would overlap. The grid gets coarser until the dots are few enough.
fn dots(series: &Curve, x: &AxisScale, y: &AxisScale, most: usize) -> Pen {
    let place = |kept: &Kept| (x.at(kept.sample.at_ns as f64 / 1e9), y.at(kept.sample.value as f64));
    let inside: Vec<(f64, f64)> =
        series.kept().iter().filter(|k| !y.is_over(k.sample.value as f64)).map(place).collect();
    let mut cell = 1.5;
    loop {
        // Each grid cell keeps one sample at its real place, chosen by hash. Cell centres or largest samples would look like a pattern of
        // the machine.
        let number = |(x, y): &(f64, f64)| ((x / cell).floor() as i64, (y / cell).floor() as i64);
        let mut cells: Vec<((i64, i64), u32, usize)> =
            inside.iter().enumerate().map(|(i, at)| (number(at), scattered(i), i)).collect();
        cells.sort_unstable();
        cells.dedup_by_key(|(cell, ..)| *cell);
        if cells.len() <= most || cell > 200.0 {
            let mut pen = Pen::default();
            for (x, y) in cells.iter().filter_map(|(.., i)| inside.get(*i)) {
                pen.dot(x.round(), y.round());
            }
            return pen;
        }
        cell *= 1.5;
    }
}

/// Returns a number that looks random but is always the same for `i` (Knuth's multiplicative hash).
fn scattered(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761)
}

fn triangles(svg: &mut Svg, section: &Section, series: &Curve, x: &AxisScale, y: &AxisScale) {
    let most = (ALL_TRIANGLES / section.shown().len().max(1)).min(TRIANGLES);
    for kept in series.kept().iter().take(most).take_while(|k| y.is_over(k.sample.value as f64)) {
        let tip = format!("{} at {}", section.value(kept.sample.value as f64), words::clock(kept.sample.at_ns));
        svg.symbol("off", (x.at(kept.sample.at_ns as f64 / 1e9), y.at(y.high) + 5.0), &tip);
    }
}

fn table(section: &Section) -> Sheet {
    let high = scale_end(section);
    let typical: Vec<f64> = section.series.iter().flat_map(|s| [s.quantile("0.5"), s.max()]).flatten().collect();
    let row = |series: &Curve| {
        let summary = &series.pooled.summary;
        vec![
            Datum::Text(series.name.clone()),
            Datum::value(summary.mean),
            Datum::value(summary.sd),
            Datum::value(series.min()),
            Datum::value(series.max()),
            Datum::Count(off_scale(series, high)),
        ]
    };
    let head = ["configuration", "mean", "sd", "min", "max", "off the scale"].map(Head::from).into();
    let rows = section.series.iter().map(row).collect();
    let scale = format!("; scale to {}", words::round_value(high, section.unit));
    Sheet::new(section.title(), head, rows, section.unit, &typical).remark(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    #[test]
    fn few_dots_stay_and_many_are_thinned() {
        let values: Vec<i64> = (1..=4_000).map(|i| i * 7 % 9_973).collect();
        let all = [sample::of("x", &values, None), sample::of("y", &[10, 5_000], None)];
        let sections = sections(&all);
        let (x, y) = (AxisScale::linear(0.0, 1.0, 0.0, 1_000.0), AxisScale::linear(0.0, 1e4, 200.0, 0.0));
        let count = |i: usize| dots(&sections[0].series[i], &x, &y, 300).data().matches("h0").count();
        assert!((100..=300).contains(&count(0)), "{}", count(0));
        assert_eq!(count(1), 2);
    }

    #[test]
    fn the_caption_is_in_microseconds_and_counts_what_is_off_the_scale() {
        let mut values = vec![5_000; 2_000];
        values.extend([80_000; 3]);
        let all = [sample::of("x", &values, None)];
        let sections = sections(&all);
        let text =
            caption(&sections[0], &sections[0].series[0], 40_000.0).join(" · ").replace(['\u{a0}', '\u{202f}'], " ");
        assert_eq!(text, "mean 5.11 µs · sd 2.90 µs · min 5.00 µs · max 80.0 µs · 3 off the scale");
    }

    #[test]
    fn without_giants_all_dots_are_on_the_scale() {
        let values: Vec<i64> = (1..=1_000).map(|i| 2_000 + i * 10).collect();
        let all = [sample::of("x", &values, None), sample::of("y", &values, None)];
        let sections = sections(&all);
        let end = scale_end(&sections[0]);
        assert!((12_000.0..15_000.0).contains(&end), "{end}");
    }

    #[test]
    fn one_outlier_does_not_press_the_rest_to_the_ground() {
        let mut values = vec![5_000; 20_000];
        values.push(80_000_000);
        let all = [sample::of("x", &values, None)];
        let sections = sections(&all);
        let end = scale_end(&sections[0]);
        assert!((5_000.0..100_000.0).contains(&end), "{end}");
    }
}
