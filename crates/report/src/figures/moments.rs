//! The running mean and the running variance of each instance and all before it, with the systems overlaid.

use super::{
    Overview,
    axis::{AxisScale, short_number},
    frame::Frame,
    ordered::{Grid, any, drawn, forms, instance_axis, longest, name, shown, values},
    svg::{Anchor, Drawing, Pen, Svg},
    thin::{line_scale, range, seen},
};
use crate::{
    tree::{CallRow, Chapter, Curve, Datum, Head, Section, Sheet},
    words::Unit,
};
use latido_judge::statistics::moments::Moments;

/// The list entry.
pub const FIGURE: Overview = Overview {
    name: "moments",
    title: "Running mean and variance",
    fits: any,
    about: |_| {
        "Mean (above) and variance (1/n, below) of each instance and all instances before it. Steps are rare, very large samples.".into()
    },
    draw,
    table,
};

/// The most points of all lines together; [`ALL_ROWS`] is the most rows of the table.
const ALL_POINTS: usize = 7_000;
const ALL_ROWS: usize = 160;

/// Returns instance, running mean and running variance at about `most` evenly spaced instances, always including the first and the last.
pub fn running(series: &Curve, most: usize) -> Vec<(usize, f64, f64)> {
    let length = values(series).count();
    let step = length.div_ceil(most.max(1)).max(1);
    let mut moments = Moments::default();
    let mut found = Vec::new();
    for (value, i) in values(series).zip(1usize..) {
        moments.push(value);
        if i == 1 || i % step == 0 || i == length {
            found.push((i, moments.mean(), moments.variance()));
        }
    }
    found
}

fn draw(chapter: &Chapter) -> Vec<Drawing> {
    forms(chapter).into_iter().map(|(_, rows)| form(chapter, &rows)).collect()
}

fn form(chapter: &Chapter, rows: &[&CallRow]) -> Drawing {
    let grid = Grid::new(chapter, rows.len(), if rows.len() > 2 { 210.0 } else { 300.0 });
    let mut svg = grid.svg(rows.len());
    let last = longest(rows);
    let most = (ALL_POINTS / (2 * drawn(chapter))).clamp(30, 400);
    let mut said = Vec::new();
    let names = grid.names(&rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>());
    for (panel, (row, name)) in rows.iter().zip(&names).enumerate() {
        let Some(section) = chapter.section(row) else { continue };
        let frame = grid.frame(panel);
        grid.name(&mut svg, &frame, name);
        let middle = (frame.top + frame.bottom) / 2.0;
        let (above, below) = (Frame { bottom: middle - 8.0, ..frame }, Frame { top: middle + 8.0, ..frame });
        let lines: Vec<_> = shown(row).map(|(slot, series)| (slot, running(series, most))).collect();
        let all = || lines.iter().flat_map(|(_, line)| line);
        let mean = line_scale(range(all().map(|p| p.1)), above.bottom, above.top);
        // The variance of the first instance is 0 by definition: it carries no information and has no place on a log scale.
        let variance = line_scale(range(all().filter(|p| p.0 > 1).map(|p| p.2)), below.bottom, below.top);
        let x = instance_axis(&mut svg, &below, last, if grid.is_last(panel, rows.len()) { "instance" } else { "" });
        let ticks: Vec<_> = x.ticks(8).into_iter().map(|v| (x.at(v), String::new())).collect();
        above.x_axis(&mut svg, &ticks, "");
        above.value_y_axis(&mut svg, &mean, section, "", 5);
        variance_axis(&mut svg, &below, &variance, section);
        svg.text("tick", (above.right, above.top - 5.0), Anchor::End, "mean");
        svg.text("tick", (below.right, below.top - 4.0), Anchor::End, "variance");
        for (slot, line) in &lines {
            svg.open_series(*slot);
            curve(&mut svg, line.iter().map(|p| (x.at(p.0 as f64), mean.at(p.1))));
            curve(&mut svg, line.iter().filter(|p| p.0 > 1).map(|p| (x.at(p.0 as f64), variance.at(p.2))));
            svg.close();
            if let (Some((_, mean, variance)), Some(system)) = (line.last(), chapter.systems.get(*slot)) {
                let sd = section.value(variance.sqrt());
                said.push(format!("{}, {system}: mean {}, standard deviation {sd}", row.name, section.value(*mean)));
            }
        }
    }
    let title = format!("{}: running mean and variance of {}", chapter.title(), name(chapter, rows));
    svg.finish(Some(&name(chapter, rows)), &title, &format!("{}.", said.join("; ")))
}

fn curve(svg: &mut Svg, points: impl Iterator<Item = (f64, f64)>) {
    let mut pen = Pen::default();
    for (i, (x, y)) in seen(points).into_iter().enumerate() {
        if i == 0 { pen.go(x, y) } else { pen.line(x, y) }
    }
    svg.path("curve", &pen);
}

/// Draws the axis of squares, such as `0.5 µs²`, in the square of the unit that fits its middle.
fn variance_axis(svg: &mut Svg, frame: &Frame, scale: &AxisScale, section: &Section) {
    let Unit { name, per } = Unit::at(scale.middle().max(0.0).sqrt(), section.unit);
    let label = |v: f64| if v == 0.0 { "0".to_owned() } else { format!("{} {name}²", short_number(v / per / per)) };
    let ticks: Vec<_> = scale.ticks(5).into_iter().map(|v| (scale.at(v), label(v))).collect();
    frame.ticks_y_axis(svg, &ticks);
}

fn table(chapter: &Chapter) -> Sheet {
    let most = (ALL_ROWS / drawn(chapter)).clamp(4, 48);
    let mut rows = Vec::new();
    let (mut typical, mut stored) = (Vec::new(), "ns");
    for row in forms(chapter).iter().flat_map(|(_, rows)| rows) {
        stored = chapter.section(row).map_or(stored, |section| section.unit);
        for (slot, series) in shown(row) {
            typical.extend(series.pooled.summary.mean);
            for (i, mean, variance) in running(series, most) {
                let system = chapter.systems.get(slot).cloned().unwrap_or_default();
                rows.push(vec![
                    Datum::Text(row.name.clone()),
                    Datum::Text(system),
                    Datum::Count(i as u64),
                    Datum::value(Some(mean)),
                    Datum::value(Some(variance.sqrt())),
                ]);
            }
        }
    }
    let title = format!("{}, running mean and root of the running variance", chapter.title());
    let head = ["call", "system", "instance", "mean", "sd (1/n)"].map(Head::from).into();
    Sheet::new(title, head, rows, stored, &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::calls,
        tree::{chapters, sections},
    };

    #[test]
    fn the_last_instance_is_always_there_and_the_points_are_few() {
        let all = calls::compute(&[4], 1_003);
        let sections = sections(&all);
        let line = running(&sections[0].series[0], 50);
        assert!(line.len() <= 52, "{}", line.len());
        assert_eq!((line[0].0, line.last().unwrap().0), (1, 1_003));
        let summary = &sections[0].series[0].pooled.summary;
        assert!((line.last().unwrap().1 - summary.mean.unwrap()).abs() < 1e-6);
    }

    #[test]
    fn two_plots_a_panel_and_two_lines_a_system() {
        let all = calls::compute(&[2, 64], 200);
        let sections = sections(&all);
        let drawings = draw(&chapters(&sections)[0]);
        assert_eq!(drawings[0].body.matches("class=\"curve\"").count(), 2 * 2 * 5);
        assert!(drawings[0].body.contains("²"));
    }
}
