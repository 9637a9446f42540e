//! The studies' bar chart: how many samples fall between fixed edges, with counts above the bars. The scale is linear for one system, and
//! logarithmic where the chart compares systems.

use super::{
    Chart,
    axis::{AxisScale, short_count},
    frame::{Frame, count_scale, is_narrow},
    svg::{Anchor, Drawing, Pen, Svg, apart, text_width, wrapped},
};
use crate::{
    tree::{Curve, Datum, Head, Section, Sheet, percent},
    words::{self, Unit},
};
use std::collections::BTreeSet;

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "bands",
    title: "Bands",
    // Series that another tool counted have that tool's bins instead.
    fits: |section| {
        let counted = |one: &Curve| !one.pooled.summary.bands.is_empty();
        section.unit == "ns" && section.has_samples() && section.series.iter().any(counted)
    },
    about: |section| {
        let scale = if section.shown().len() == 1 { "a linear" } else { "a log" };
        format!(
            "Bars: exact counts between fixed edges, written above them, on {scale} scale. Below: the share in the first band."
        )
    },
    draw: |section| vec![draw(section)],
    table,
};

/// Height of a line of text below the plot.
const LINE: f64 = 16.0;

/// A band: its upper edge, none for the last one, and the count of each series.
type BandCounts = (Option<i64>, Vec<u64>);

/// Returns the bands that all series share: the upper edge, and the count of each series, which is 0 for a series without samples.
fn common(series: &[Curve]) -> Vec<BandCounts> {
    let edges = |s: &Curve| s.pooled.summary.bands.iter().filter_map(|b| b.upto).collect::<BTreeSet<i64>>();
    let with_bands = || series.iter().filter(|s| !s.pooled.summary.bands.is_empty());
    let Some(shared) = with_bands().map(edges).reduce(|a, b| &a & &b) else { return Vec::new() };
    let edges: Vec<Option<i64>> = shared.into_iter().map(Some).chain([None]).collect();
    let mut below = None;
    let mut bands = Vec::new();
    for upto in edges {
        let belongs = |edge: Option<i64>| match (edge, below, upto) {
            (None, _, upto) => upto.is_none(),
            (Some(e), below, upto) => below.is_none_or(|b| e > b) && upto.is_none_or(|u| e <= u),
        };
        let count = |s: &Curve| {
            s.pooled.summary.bands.iter().filter(|b| belongs(b.upto)).map(|b| b.count).fold(0, u64::saturating_add)
        };
        bands.push((upto, series.iter().map(count).collect()));
        below = upto;
    }
    bands
}

/// Returns the names of the bands: `≤ 1 µs`, `1–5 µs`, `> 200 µs`.
fn names(bands: &[BandCounts], unit: &str) -> Vec<String> {
    // All names share one unit: an axis has only one.
    let edges = bands.iter().filter_map(|(upto, _)| upto.filter(|upto| *upto > 0)).map(|upto| upto as f64);
    let unit = Unit::fitting(unit, edges);
    let label = |v: i64| unit.round_value(v as f64);
    let mut below: Option<i64> = None;
    let mut names = Vec::new();
    for (upto, _) in bands {
        names.push(match (below, *upto) {
            (None, Some(to)) => format!("≤ {}", label(to)),
            (Some(from), Some(to)) => format!("{}–{}", words::trimmed(from as f64 / unit.per), label(to)),
            (Some(from), None) => format!("> {}", label(from)),
            (None, None) => "all".into(),
        });
        below = *upto;
    }
    names
}

/// The bars in pixels.
struct Bars {
    frame: Frame,
    /// The scale of the counts.
    y: AxisScale,
    /// The width of a band.
    band: f64,
    /// The width of a bar.
    bar: f64,
    /// Whether the counts above the bars are upright, because the bars are narrow.
    upright: bool,
    /// The number of bars in a band, one of each system.
    systems: usize,
}

impl Bars {
    /// Returns the layout for these bands.
    fn of(section: &Section, bands: &[BandCounts]) -> Self {
        let shown = section.shown();
        let band = (section.width - 80.0) / bands.len().max(1) as f64;
        let bar = (band * 0.84 / shown.len().max(1) as f64).min(64.0);
        let upright = bar < 27.0;
        let top = if upright { 44.0 } else { 24.0 };
        let bottom = if is_narrow(section.width) { 190.0 } else { 274.0 };
        let frame = Frame { left: 62.0, right: section.width - 18.0, top, bottom };
        let most = bands.iter().flat_map(|b| &b.1).copied().max().unwrap_or(0);
        // With one system the reader looks for shares; with several, for the rare samples that distinguish them.
        let y = match shown {
            [_] => AxisScale::linear(0.0, most.max(1) as f64 * 1.05, frame.bottom, frame.top),
            _ => count_scale(most, frame.bottom, frame.top),
        };
        Self { frame, y, band, bar, upright, systems: shown.len() }
    }

    /// Returns the middle of a band.
    fn middle(&self, band: usize) -> f64 {
        self.frame.left + self.band * (band as f64 + 0.5)
    }

    /// Shades the bands above the limit, if all systems have the same.
    fn shade_above_limit(&self, svg: &mut Svg, section: &Section, bands: &[BandCounts]) {
        let (frame, limits) = (&self.frame, section.limits());
        let [limit] = limits[..] else { return };
        let first = bands.iter().position(|b| b.0.is_some_and(|upto| upto as f64 >= limit)).map(|i| i + 1);
        let Some(first) = first.filter(|i| *i < bands.len()) else { return };
        let x = frame.left + self.band * first as f64;
        svg.rect("over", (x, frame.top), (frame.right - x, frame.bottom - frame.top), "above the limit");
        let text = format!("above the limit of {}", words::round_value(limit, section.unit));
        let fits = x + 5.0 + text_width(&text, 11.0) < frame.right;
        let (x, anchor) = if fits { (x + 5.0, Anchor::Start) } else { (frame.right, Anchor::End) };
        svg.text("limit-name", (x, frame.top - if self.upright { 32.0 } else { 12.0 }), anchor, &text);
    }

    /// Writes the names of the bands below the plot, and a zero into each band without samples. Returns where the axis' name goes.
    fn write_names(&self, svg: &mut Svg, bands: &[BandCounts], names: &[String]) -> f64 {
        let bottom = self.frame.bottom;
        // Names that are wider than their bands are drawn upright below them.
        let widest = names.iter().map(|name| text_width(name, 10.0)).fold(0.0, f64::max);
        let upright = widest > self.band - 2.0 && is_narrow(svg.width);
        for (i, name) in names.iter().enumerate() {
            let middle = self.middle(i);
            if empty(bands, i) {
                svg.text("small", (middle, bottom - 5.0), Anchor::Middle, "0");
            }
            let class = if text_width(name, 11.0) > self.band - 4.0 { "small" } else { "tick" };
            if upright {
                svg.upright("small", (middle + 3.5, bottom + 6.0), Anchor::End, name);
            } else {
                svg.text(class, (middle, bottom + 16.0), Anchor::Middle, name);
            }
        }
        if upright { bottom + widest + 22.0 } else { bottom + 36.0 }
    }

    /// Draws the bars of a system, each with its count above it.
    fn draw(&self, svg: &mut Svg, slot: usize, bands: &[BandCounts]) {
        let bottom = self.frame.bottom;
        svg.open_series(slot);
        let mut bars = Pen::default();
        for (i, (_, counts)) in bands.iter().enumerate() {
            if empty(bands, i) {
                // One zero stands for all systems, near the axis.
                continue;
            }
            let n = counts.get(slot).copied().unwrap_or(0);
            let start = self.middle(i) - self.bar * self.systems as f64 / 2.0;
            let x = start + self.bar * slot as f64;
            // The smallest visible height: a single sample among millions is a bar too.
            let top = if n == 0 { bottom } else { self.y.at(n as f64).min(bottom - 0.5) };
            if n > 0 {
                let (left, right) = ((x + 1.0).round(), (x + self.bar - 1.0).round());
                bars.go(left, bottom);
                bars.line(left, top);
                bars.line(right, top);
                bars.line(right, bottom);
                bars.close();
            }
            if self.upright {
                svg.upright("small", (x + self.bar / 2.0 + 3.5, top - 4.0), Anchor::Start, &short_count(n));
            } else {
                svg.text("small", (x + self.bar / 2.0, top - 5.0), Anchor::Middle, &short_count(n));
            }
        }
        svg.path("bar", &bars);
        svg.close();
    }
}

fn draw(section: &Section) -> Drawing {
    let bands = common(section.shown());
    let names = names(&bands, section.unit);
    let bars = Bars::of(section, &bands);
    let frame = &bars.frame;
    let mut svg = Svg::new(section.width, 0.0);
    bars.shade_above_limit(&mut svg, section, &bands);
    let noun = words::plural(section.noun());
    match section.shown() {
        [_] => frame.linear_count_y_axis(&mut svg, &bars.y, &noun),
        _ => frame.count_y_axis(&mut svg, &bars.y, &noun),
    }
    if bands.is_empty() {
        frame.nothing(&mut svg, "no samples");
    }
    let below = bars.write_names(&mut svg, &bands, &names);
    for slot in 0..bars.systems {
        bars.draw(&mut svg, slot, &bands);
    }
    svg.text("label", ((frame.left + frame.right) / 2.0, below), Anchor::Middle, section.quantity);
    let (bottom, said) = systems(&mut svg, section, &bands, &names, (frame, below + 20.0));
    svg.height = bottom - 12.0;
    svg.finish(None, &format!("{}: counts per band", section.title()), &format!("{}.", said.join("; "))).named()
}

/// Writes the two figures of each system in lines below the plot. Returns where they end, and each as a sentence.
fn systems(
    svg: &mut Svg,
    section: &Section,
    bands: &[BandCounts],
    names: &[String],
    (frame, mut y): (&Frame, f64),
) -> (f64, Vec<String>) {
    let mut said = Vec::new();
    let width = frame.right - frame.left;
    let short = apart(&section.names(), 11.0, width.min(560.0));
    for (slot, series) in section.shown().iter().enumerate() {
        let line = line(section, series, slot, bands, names);
        svg.open_series(slot);
        svg.marker(slot, (frame.left + 6.0, y - 4.0), "");
        svg.close();
        let text = format!("{}: {line}", short.get(slot).map_or("", String::as_str));
        let lines = if is_narrow(section.width) { wrapped(&at_commas(&text), 11.0, width - 16.0) } else { vec![text] };
        for line in &lines {
            svg.text("tick", (frame.left + 16.0, y), Anchor::Start, line);
            y += LINE;
        }
        said.push(format!("{}: {line}", series.name));
    }
    (y, said)
}

/// Makes a text break only after commas and colons, so that a number and its unit stay together.
fn at_commas(text: &str) -> String {
    text.replace(' ', "\u{a0}").replace(",\u{a0}", ", ").replace(":\u{a0}", ": ")
}

/// Returns whether no system has a sample in a band.
fn empty(bands: &[BandCounts], band: usize) -> bool {
    bands.get(band).is_none_or(|(_, counts)| counts.iter().all(|n| *n == 0))
}

/// Returns the study's figures of a system: `maximum 294 µs, 99.9 % ≤ 1 µs, 8 readings > 200 µs`.
fn line(section: &Section, series: &Curve, slot: usize, bands: &[BandCounts], names: &[String]) -> String {
    let Some(max) = series.max() else { return words::NOT_MEASURED.into() };
    let total = series.pooled.summary.count.max(1) as f64;
    let of = |band: Option<&BandCounts>| band.and_then(|b| b.1.get(slot)).copied().unwrap_or(0);
    let mut text = format!("maximum {}", section.value(max));
    if let [first, .., last] = names {
        let share = percent(of(bands.first()) as f64 / total);
        let rare = words::many(of(bands.last()), section.noun());
        text.push_str(&format!(", {share} {first}, {rare} {last}"));
    }
    text
}

fn table(section: &Section) -> Sheet {
    let shown = section.shown();
    let bands = common(shown);
    let names = names(&bands, section.unit);
    let mut head = vec![Head::from("band")];
    for series in shown {
        head.extend([series.name.clone().into(), "share".into()]);
    }
    let row = |((_, counts), name): (&BandCounts, &String)| {
        let mut row = vec![Datum::Text(name.clone())];
        for (n, series) in counts.iter().zip(shown) {
            let total = series.pooled.summary.count;
            let share = if total == 0 { Datum::Absent } else { Datum::Share(*n as f64 / total as f64) };
            row.extend([Datum::Count(*n), share]);
        }
        row
    };
    Sheet::plain(format!("{}, counts per band", section.title()), head, bands.iter().zip(&names).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};
    use latido_model::record::Band;

    #[test]
    fn series_with_different_edges_share_the_common_ones_and_lose_no_sample() {
        let band = |upto, count| Band { upto, count };
        let mut a = sample::of("a", &[500, 7_000, 90_000], None);
        a.quantities[0].summary.bands = vec![band(Some(1_000), 1), band(Some(8_000), 1), band(None, 1)];
        let mut b = sample::of("b", &[500, 7_000, 90_000], None);
        b.quantities[0].summary.bands = vec![band(Some(1_000), 1), band(Some(50_000), 1), band(None, 1)];
        let all = [a, b];
        let sections = sections(&all);
        assert_eq!(common(&sections[0].series), [(Some(1_000), vec![1, 1]), (None, vec![2, 2])]);
    }

    /// The chart is drawn as in the study: shares for one system, rare samples for several, and the decisive figures next to both.
    #[test]
    fn one_system_is_linear_and_says_maximum_and_share() {
        let mut values = vec![500; 999];
        values.push(294_000);
        let all = [sample::of("stock", &values, None), sample::of("isolated", &[500; 1_000], None)];
        let (one, two) = (sections(&all[..1]), sections(&all));
        let heights = |svg: &str| -> Vec<f64> {
            let paths = svg.split("class=\"bar\" d=\"").skip(1).map(|path| path.split('"').next().unwrap());
            let upwards = paths.flat_map(|path| path.split("v-").skip(1));
            upwards.map(|step| step.split(|c: char| c.is_alphabetic()).next().unwrap().parse().unwrap()).collect()
        };
        let linear = heights(&draw(&one[0]).inline());
        assert!(linear[0] > 400.0 * linear[1], "{linear:?}");
        let log = heights(&draw(&two[0]).inline());
        assert!(log[0] < 20.0 * log[1], "{log:?}");
        let text = draw(&one[0]).body.replace('\u{a0}', " ");
        assert!(text.contains("stock: maximum 294 µs, 99.90 % ≤ 1 µs, 1 wake-up &gt; 200 µs"), "{text}");
    }

    #[test]
    fn bands_read_as_ranges() {
        let bands = [Some(900), Some(5_000), Some(8_000), Some(1_000_000), None].map(|upto| (upto, vec![]));
        assert_eq!(names(&bands, "ns"), ["≤ 0.9 µs", "0.9–5 µs", "5–8 µs", "8–1000 µs", "> 1000 µs"]);
    }
}
