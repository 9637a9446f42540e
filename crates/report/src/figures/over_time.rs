//! Block maxima and means over time, one panel per configuration on the same scales; rings mark the spikes.

use super::{
    Chart,
    axis::{AxisScale, time_axis},
    frame::{Frame, WIDTH, is_narrow},
    svg::{Anchor, Drawing, NAME_SIZE, Pen, Svg, apart, text_width},
    timeline::{OverTime, end, timeline, usual},
};
use crate::{
    tree::{Curve, Datum, Head, Section, Sheet},
    words,
};

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "over-time",
    title: "Over time",
    fits: |section| section.is_over_time(),
    about: |section| {
        let spikes = match section.limits().is_empty() {
            true => "the largest samples",
            false => "samples above the limit, the red dashes",
        };
        format!(
            "Measured samples only; the tables also have the delays of missed slots. Line: largest of each block; dashed: its mean; all threads and repeats overlaid. Rings: {spikes}. \
             Hatched: a stretch without a sample.{}",
            parts(section)
        )
    },
    draw: |section| wide(section, section.width),
    table,
};

/// The most points of one panel; [`ALL_POINTS`] is for all panels together. More would only make the file large.
const MOST_POINTS: usize = 600;
const ALL_POINTS: usize = 1_600;
/// The most rings of a panel; [`ALL_RINGS`] is for all panels together.
const RINGS: usize = 40;
const ALL_RINGS: usize = 64;
/// The number of rings of a panel without a limit.
const RINGS_WITHOUT_LIMIT: usize = 8;
/// The most rows of the table behind the figure; the data file contains all of them.
const ROWS: usize = 48;

/// Returns the start and the end of the time axis, in pixels.
pub fn edges(section: &Section) -> (f64, f64) {
    (76.0, section.width - 18.0)
}

/// Returns the number of points of a panel.
pub fn points(panels: usize) -> usize {
    (ALL_POINTS / panels.max(1)).clamp(120, MOST_POINTS)
}

/// Draws the figure in this width.
pub(super) fn wide(section: &Section, width: f64) -> Vec<Drawing> {
    vec![draw(section, width)]
}

fn draw(section: &Section, width: f64) -> Drawing {
    let shown = section.shown();
    let (end, usual) = (end(shown), usual(shown));
    let lines: Vec<OverTime> =
        shown.iter().map(|s| timeline(s, end, usual, (points(shown.len()) as f64 * width / WIDTH) as usize)).collect();
    let height = match shown.len() {
        0..=2 if !is_narrow(section.width) => 180.0,
        0..=4 => 130.0,
        _ => 92.0,
    };
    let pitch = height + 26.0;
    let mut svg = Svg::new(width, pitch * shown.len() as f64 + 46.0);
    let (left, right) = (edges(section).0, edges(section).1 - section.width + width);
    let x = AxisScale::linear(0.0, end, left, right);
    let values = || lines.iter().flat_map(|l| &l.columns).flatten().flat_map(|c| [c.mean, c.max]);
    let ticks = time_axis(&x);
    let names = apart(&section.names(), NAME_SIZE, (right - left - 120.0).min(width * 0.62));
    for (slot, ((series, line), name)) in shown.iter().zip(&lines).zip(&names).enumerate() {
        let top = pitch * slot as f64 + 22.0;
        let frame = Frame { left, right, top, bottom: top + height };
        let y = AxisScale::log_over(values().chain(section.limits()), frame.bottom, frame.top);
        let last = slot + 1 == shown.len();
        let named: Vec<_> = ticks.iter().map(|(at, t)| (*at, if last { t.clone() } else { String::new() })).collect();
        frame.x_axis(&mut svg, &named, if last { "time since the first sample" } else { "" });
        frame.value_y_axis(&mut svg, &y, section, "", if height > 120.0 { 7 } else { 5 });
        frame.limits_across(&mut svg, &y, section, false);
        svg.open_series(slot);
        svg.marker(slot, (left + 6.0, top - 10.0), "");
        svg.text("name", (left + 16.0, top - 6.0), Anchor::Start, name);
        panel(&mut svg, line, &x, &y);
        seams(&mut svg, series, &x, &frame);
        svg.close();
        gaps(&mut svg, line, "no sample", &x, &frame);
        rings(&mut svg, section, series, &x, &y);
        if line.columns.iter().all(Option::is_none) {
            frame.nothing(&mut svg, "no samples");
        }
        if let Some(max) = series.max() {
            let said = format!("max {}", section.value(max));
            svg.text("tick", (right, top - 6.0), Anchor::End, &said);
        }
    }
    let said: Vec<_> = shown
        .iter()
        .filter_map(|s| {
            let sample = s.kept().first()?.sample;
            let at = words::clock(sample.at_ns);
            Some(format!("{}: largest {} at {at}", s.name, section.value(sample.value as f64)))
        })
        .collect();
    svg.finish(None, &format!("{} over time", section.title()), &format!("{}.", said.join("; "))).named()
}

/// Returns the remark on cells that were interrupted and continued later.
fn parts(section: &Section) -> String {
    let told =
        |one: &Curve| one.configuration.in_parts().into_iter().map(|text| format!("{}: {text}", one.name)).collect();
    let told: Vec<String> = section.shown().iter().flat_map(|one| -> Vec<String> { told(one) }).collect();
    match told.is_empty() {
        true => String::new(),
        false => {
            let each = told.join(". ");
            format!(" Vertical lines separate parts; the pause between them is not drawn. {each}.")
        }
    }
}

/// Draws a vertical line wherever two parts of a cell meet.
pub fn seams(svg: &mut Svg, series: &Curve, x: &AxisScale, frame: &Frame) {
    for repeat in &series.configuration.repeats {
        for (seam, next) in repeat.seams.iter().zip(2..) {
            let at = x.at(*seam as f64 / 1e9).round();
            svg.line("curve", (at, frame.top), (at, frame.bottom));
            svg.text("gap-name", (at + 4.0, frame.top + 12.0), Anchor::Start, &format!("part {next}"));
        }
    }
}

/// Draws the line of the maxima with a shaded area below it, and the dashed line of the means.
fn panel(svg: &mut Svg, line: &OverTime, x: &AxisScale, y: &AxisScale) {
    let mut maxima = Pen::default();
    let ground = y.at(0.0).round();
    for (first, past) in line.stretches(false) {
        maxima.go(line.edge(x, first), ground);
        for (i, column) in line.columns.iter().enumerate().take(past).skip(first) {
            let height = column.as_ref().map_or(ground, |c| y.at(c.max).round());
            maxima.line(line.edge(x, i), height);
            maxima.line(line.edge(x, i + 1), height);
        }
        maxima.line(line.edge(x, past), ground);
    }
    svg.path("area", &maxima);
    svg.path("mean", &line.steps(x, |c| Some(y.at(c.mean).round())));
}

/// Hatches the stretches without samples: an empty stretch would look like a drawing error.
pub fn gaps(svg: &mut Svg, line: &OverTime, text: &str, x: &AxisScale, frame: &Frame) {
    const PITCH: f64 = 9.0;
    let mut pen = Pen::default();
    let mut named = Vec::new();
    for (first, past) in line.stretches(true) {
        let (from, to) = (line.edge(x, first), line.edge(x, past));
        let height = frame.bottom - frame.top;
        let mut foot = from - height + PITCH;
        while foot < to {
            // A line at 45 degrees upwards from its foot, cut off at both sides.
            let (left, right) = (foot.max(from), (foot + height).min(to));
            pen.go(left, frame.bottom - (left - foot));
            pen.line(right, frame.bottom - (right - foot));
            foot += PITCH;
        }
        if to - from > text_width(text, 12.0) {
            named.push((from + to) / 2.0);
        }
    }
    svg.path("hatch", &pen);
    for middle in named {
        svg.text("gap-name", (middle, (frame.top + frame.bottom) / 2.0 + 4.0), Anchor::Middle, text);
    }
}

fn rings(svg: &mut Svg, section: &Section, series: &Curve, x: &AxisScale, y: &AxisScale) {
    let most = match series.limit() {
        None => RINGS_WITHOUT_LIMIT,
        Some(_) => (ALL_RINGS / section.shown().len().max(1)).min(RINGS),
    };
    let least = series.limit().unwrap_or(f64::MIN);
    for kept in series.kept().iter().take(most).take_while(|k| k.sample.value as f64 > least) {
        let cpu = kept.cpu.map_or(String::new(), |cpu| format!(", CPU {cpu}"));
        let (value, seconds) = (kept.sample.value as f64, kept.sample.at_ns as f64 / 1e9);
        let tip = format!("{} at {}{cpu}", section.value(value), words::clock(kept.sample.at_ns));
        svg.symbol("ring", (x.at(seconds), y.at(value)), &tip);
    }
}

fn table(section: &Section) -> Sheet {
    let shown = section.shown();
    let (end, usual) = (end(shown), usual(shown));
    let lines: Vec<OverTime> = shown.iter().map(|s| timeline(s, end, usual, ROWS)).collect();
    let mut head = vec![Head::from("from")];
    for series in shown {
        head.extend([format!("{}: mean", series.name).into(), "max".into()]);
    }
    let columns = lines.iter().map(|l| l.columns.len()).max().unwrap_or(0);
    let row = |i: usize| {
        let start = lines.first().map_or(0.0, |l| l.step * i as f64);
        let mut row = vec![Datum::Text(words::clock((start * 1e9) as u64))];
        for line in &lines {
            let column = line.columns.get(i).copied().flatten();
            row.extend([Datum::value(column.map(|c| c.mean.round())), Datum::value(column.map(|c| c.max))]);
        }
        row
    };
    let typical: Vec<f64> = shown.iter().flat_map(|s| [s.quantile("0.5"), s.max()]).flatten().collect();
    let rows = (0..columns).map(row).collect();
    Sheet::new(format!("{} over time", section.title()), head, rows, section.unit, &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};
    use latido_model::record::Block;

    /// Thirteen seconds are thirteen blocks: steps from edge to edge, without gaps between them.
    #[test]
    fn few_blocks_are_drawn_without_holes() {
        let mut all = sample::configurations(1);
        let track = &mut all[0].repeats[0].quantities[0].tracks[0];
        track.blocks.truncate(13);
        track.blocks[12].length_ns = 130_000_000;
        all[0].repeats[0].quantities[0].tracks.truncate(1);
        let sections = sections(&all);
        let svg = draw(&sections[0], WIDTH).inline();
        assert!(!svg.contains("hatch") && !svg.contains("no sample"), "{svg}");
        assert_eq!(svg.split("class=\"area\" d=\"").nth(1).unwrap().split('"').next().unwrap().matches('m').count(), 1);
    }

    #[test]
    fn a_block_without_samples_is_hatched_and_named() {
        let mut all = sample::configurations(1);
        let own = &mut all[0].repeats[0].quantities[0];
        own.tracks.truncate(1);
        own.tracks[0].blocks.truncate(10);
        own.tracks[0].blocks[4] = Block { start_ns: 4_000_000_000, length_ns: 1_000_000_000, ..Block::default() };
        let sections = sections(&all);
        let svg = draw(&sections[0], WIDTH).inline();
        assert!(svg.contains("class=\"hatch\"") && svg.contains(">no sample<"), "{svg}");
    }

    /// Parts follow each other on the axis as if there were no pause between them. A line and the text show where they meet.
    #[test]
    fn parts_of_a_cell_are_told_apart() {
        let mut all = sample::configurations(1);
        let about = |all: &[latido_judge::configuration::Configuration]| (FIGURE.about)(&sections(all)[0]);
        assert!(!about(&all).contains("Upright") && !draw(&sections(&all)[0], WIDTH).inline().contains("part 2"));
        all[0].repeats[0].parts =
            vec!["part 1 of 2: 20.0 s, interrupted".into(), "part 2 of 2: 40.0 s, complete".into()];
        all[0].repeats[0].seams = vec![20_000_000_000];
        assert!(
            about(&all).contains("repeat 1 is pooled: part 1 of 2: 20.0 s, interrupted; part 2"),
            "{}",
            about(&all)
        );
        assert_eq!(draw(&sections(&all)[0], WIDTH).inline().matches(">part 2<").count(), 1);
    }

    #[test]
    fn many_panels_share_the_points() {
        assert_eq!([points(1), points(8), points(100)], [600, 200, 120]);
    }
}
