//! How often each value occurred: counts on a log scale, values on a log or linear one.

use super::{
    Chart,
    axis::{AxisScale, round_up},
    frame::{FlagReach, Frame, WIDTH, count_scale, inside, is_narrow, limit_name, rows},
    svg::{Anchor, Drawing, Pen, Svg, text_width},
};
use crate::{
    tree::{Curve, Datum, Head, Section, Sheet},
    words,
};
use latido_judge::repeat::{OUTLINE_BINS, outline_bin};

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "histogram",
    title: "Histogram",
    fits: |section| section.has_samples(),
    about: |section| {
        format!(
            "Counts on a log scale, so that one late {} in millions still shows. Flags mark the maxima.",
            section.noun()
        )
    },
    draw: |section| wide(section, section.width),
    table,
};

const LINEAR_BINS: usize = 100;
const ROW: f64 = 17.0;
/// With more series than this, flags have only the marker, because names would overlap.
const NAMED: usize = 3;

#[derive(Clone, Copy, PartialEq)]
enum XAxis {
    Log,
    Linear,
}

/// Returns a value's bin: 20 per decade, 0 for 1 ns and below.
fn log_bin(v: f64) -> usize {
    usize::from(outline_bin(v))
}

/// Returns the start of a bin on a logarithmic axis.
pub(super) fn log_edge(bin: usize) -> f64 {
    10f64.powf(bin as f64 / OUTLINE_BINS)
}

/// Draws both variants in this width.
pub(super) fn wide(section: &Section, width: f64) -> Vec<Drawing> {
    vec![draw(section, XAxis::Log, width), draw(section, XAxis::Linear, width)]
}

/// Counts the samples in each bin; values above the last bin are left out.
fn binned(series: &Curve, bins: usize, bin: impl Fn(f64) -> usize) -> Vec<u64> {
    let mut counts = vec![0u64; bins];
    for (v, n) in &series.buckets {
        if let Some(slot) = counts.get_mut(bin(*v)) {
            *slot = slot.saturating_add(*n);
        }
    }
    counts
}

/// Returns the start of each bin, in the stored unit, and the number of samples in it, at 20 bins per decade: from the first to the last
/// bin with samples, then one empty bin.
pub fn by_decade(series: &Curve) -> Vec<(f64, u64)> {
    let bins = series.buckets.iter().map(|(value, _)| log_bin(*value));
    let (Some(first), Some(last)) = (bins.clone().min(), bins.max()) else { return Vec::new() };
    let counts = binned(series, last + 2, log_bin).into_iter().enumerate().skip(first);
    counts.map(|(bin, count)| (log_edge(bin), count)).collect()
}

/// Returns the end of the linear axis: the 99.9 % quantile of the slowest series plus a margin, rounded.
fn linear_end(section: &Section) -> f64 {
    let reach = |s: &Curve| s.quantile("0.999").or(s.max()).unwrap_or(0.0);
    let end = section.shown().iter().map(reach).fold(0.0, f64::max) * 1.25;
    if end > 0.0 { round_up(end).min((end / round_up(end / 8.0)).ceil() * round_up(end / 8.0)) } else { 10_000.0 }
}

fn draw(section: &Section, form: XAxis, width: f64) -> Drawing {
    let shown = section.shown();
    let (left, right) = (62.0, width - if is_narrow(section.width) { 16.0 } else { 30.0 });
    let values = shown.iter().flat_map(|s| [s.min(), s.max()]).flatten();
    let x = match form {
        XAxis::Log => AxisScale::log_over(values, left, right),
        XAxis::Linear => AxisScale::linear(0.0, linear_end(section), left, right),
    };
    let step = x.high / LINEAR_BINS as f64;
    let bins = if form == XAxis::Log { log_bin(x.high) + 1 } else { LINEAR_BINS };
    let edge = |bin: usize| if form == XAxis::Log { log_edge(bin) } else { bin as f64 * step };
    let counts: Vec<Vec<u64>> = shown
        .iter()
        .map(|s| match form {
            XAxis::Log => binned(s, bins, log_bin),
            XAxis::Linear => binned(s, bins, |v| (v / step) as usize),
        })
        .collect();

    let flags = flags(section, &x, left, right);
    let levels = flags.iter().map(|f| f.row + 1).max().unwrap_or(0);
    let top = 8.0 + ROW * levels as f64;
    let height = match () {
        () if is_narrow(section.width) => 170.0,
        () if width < WIDTH => 210.0,
        () => 270.0,
    };
    let frame = Frame { left, right, top, bottom: top + height };
    let mut svg = Svg::new(width, frame.bottom + 44.0);
    if let Some(limit) = inside(section, &x).first() {
        let at = x.at(*limit);
        svg.rect("over", (at, top), (right - at, frame.bottom - top), "");
    }
    let most = counts.iter().flatten().copied().max().unwrap_or(0);
    let y = count_scale(most, frame.bottom, frame.top);
    let bins = if form == XAxis::Log { "20 bins per decade" } else { "100 bins" };
    frame.value_x_axis(&mut svg, &x, section, &format!("{} ({bins})", section.quantity));
    frame.count_y_axis(&mut svg, &y, &format!("{} per bin", words::plural(section.noun())));
    if most == 0 {
        frame.nothing(&mut svg, "no samples");
    }
    for (slot, counts) in counts.iter().enumerate() {
        svg.open_series(slot);
        let class = if shown.len() > NAMED { "curve" } else { "outline" };
        outline(&mut svg, class, frame.bottom, counts, |bin| x.at(edge(bin)), |n| y.at(n));
        svg.close();
    }
    for flag in &flags {
        flag.draw(&mut svg, &frame);
    }
    let (variant, beyond) = match form {
        XAxis::Log => ("log x", String::new()),
        XAxis::Linear => {
            ("linear x", format!(" Values above {} are beyond the axis.", words::round_value(x.high, section.unit)))
        }
    };
    let maxima: Vec<_> =
        shown.iter().filter_map(|s| Some(format!("{}: largest {}", s.name, section.value(s.max()?)))).collect();
    svg.finish(Some(variant), &format!("{}: histogram", section.title()), &format!("{}.{beyond}", maxima.join("; ")))
}

/// Draws the stepped outline of a histogram down to `ground`; runs of empty bins are left out.
pub(super) fn outline(
    svg: &mut Svg,
    class: &str,
    ground: f64,
    counts: &[u64],
    x: impl Fn(usize) -> f64,
    y: impl Fn(f64) -> f64,
) {
    let (mut line, mut open) = (Pen::default(), false);
    for (bin, n) in counts.iter().enumerate() {
        if *n == 0 {
            if open {
                line.line(x(bin), ground);
            }
            open = false;
            continue;
        }
        if !open {
            line.go(x(bin), ground);
            open = true;
        }
        let height = y(*n as f64).round();
        line.line(x(bin), height);
        line.line(x(bin + 1), height);
    }
    if open {
        line.line(x(counts.len()), ground);
    }
    svg.path(class, &line);
}

/// A flag above the plot: the limit, or the maximum of a series.
struct Flag {
    slot: Option<usize>,
    at: f64,
    text: String,
    leftwards: bool,
    beyond: bool,
    row: usize,
}

fn flags(section: &Section, x: &AxisScale, left: f64, right: f64) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    let names = super::svg::apart(&section.names(), 12.0, ((right - left) / 2.0 - 120.0).max(90.0));
    for limit in inside(section, x) {
        flags.push(Flag::new(None, x.at(limit), limit_name(section, limit), false, right));
    }
    for (slot, series) in section.shown().iter().enumerate() {
        if let Some(max) = series.max() {
            let mut text = format!("max {}", section.value(max));
            // In a column of a paper, only the legend names the series.
            if section.shown().len() <= NAMED && !is_narrow(section.width) {
                text.push_str(&format!(" · {}", names.get(slot).map_or("", String::as_str)));
            }
            flags.push(Flag::new(Some(slot), x.at(max), text, x.is_over(max), right));
        }
    }
    // First the texts to the right of their poles, from right to left, then those to the left, from left to right: see `rows`.
    let order = |f: &Flag| if f.leftwards { (1, f.at) } else { (0, -f.at) };
    flags.sort_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(std::cmp::Ordering::Equal));
    let extents: Vec<_> = flags.iter().map(Flag::extent).collect();
    for (flag, row) in flags.iter_mut().zip(rows(&extents)) {
        flag.row = row;
    }
    flags
}

impl Flag {
    fn new(slot: Option<usize>, at: f64, mut text: String, beyond: bool, right: f64) -> Self {
        if beyond {
            text.push_str(" →");
        }
        let leftwards = at + text_width(&text, 12.0) + 12.0 > right;
        Self { slot, at, text, leftwards, beyond, row: 0 }
    }

    fn extent(&self) -> FlagReach {
        let width = text_width(&self.text, 12.0) + 22.0;
        let reach = if self.leftwards { (self.at - width, self.at + 8.0) } else { (self.at - 8.0, self.at + width) };
        FlagReach { pole: self.at, reach }
    }

    fn draw(&self, svg: &mut Svg, frame: &Frame) {
        let y = frame.top - 8.0 - ROW * self.row as f64;
        let (anchor, x) = if self.leftwards { (Anchor::End, self.at - 8.0) } else { (Anchor::Start, self.at + 8.0) };
        match self.slot {
            Some(slot) => {
                svg.open_series(slot);
                if !self.beyond {
                    svg.line("thin", (self.at, y), (self.at, frame.bottom));
                }
                svg.marker(slot, (self.at, y), "");
                svg.text("name", (x, y + 4.0), anchor, &self.text);
                svg.close();
            }
            None => {
                svg.line("limit", (self.at, y), (self.at, frame.bottom));
                svg.text("limit-name", (x - 3.0, y + 4.0), anchor, &self.text);
            }
        }
    }
}

fn table(section: &Section) -> Sheet {
    let shown = section.shown();
    let last = shown.iter().flat_map(|s| s.buckets.last()).map(|(v, _)| log_bin(*v)).max().map_or(0, |b| b + 1);
    let counts: Vec<Vec<u64>> = shown.iter().map(|s| binned(s, last, log_bin)).collect();
    let cell = |series: &Vec<u64>, bin: usize| Datum::Count(series.get(bin).copied().unwrap_or(0));
    let row = |bin: usize| {
        let edges =
            [Datum::Value(if bin == 0 { 0.0 } else { log_edge(bin).round() }), Datum::Value(log_edge(bin + 1).round())];
        edges.into_iter().chain(counts.iter().map(|c| cell(c, bin))).collect::<Vec<_>>()
    };
    let occupied = |bin: &usize| counts.iter().any(|c| c.get(*bin).is_some_and(|n| *n > 0));
    let typical: Vec<f64> = shown.iter().flat_map(|s| [s.quantile("0.5"), s.max()]).flatten().collect();
    let head = ["from", "below"].map(Head::from).into_iter().chain(shown.iter().map(|s| s.name.clone().into()));
    let rows = (0..last).filter(occupied).map(row).collect();
    Sheet::new(section.title(), head.collect(), rows, section.unit, &typical).remark(", counts per bin")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};
    use latido_model::summary::Counted;

    #[test]
    fn the_table_loses_no_sample() {
        let data = sample::configurations(3);
        for section in sections(&data) {
            let table = table(&section);
            for (i, series) in section.shown().iter().enumerate() {
                let sum: u64 = table.rows.iter().map(|r| if let Datum::Count(n) = r[i + 2] { n } else { 0 }).sum();
                assert_eq!(sum, series.pooled.histogram.total(), "{}", series.name);
            }
        }
    }

    #[test]
    fn bins_and_edges_agree() {
        for bin in 0..200 {
            assert_eq!(log_bin(log_edge(bin) * 1.000_1), bin);
        }
    }
}
