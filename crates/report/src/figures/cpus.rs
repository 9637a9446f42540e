//! A histogram for each CPU: up to eight overlaid in one frame, more than that as small pictures side by side.

use super::{
    Chart,
    axis::AxisScale,
    frame::{Frame, WIDTH, count_scale, inside, limit_name},
    histogram::{log_edge, outline},
    svg::{Anchor, Drawing, NAME_SIZE, Svg, text_width},
};
use crate::{
    tree::{Curve, Datum, Head, SHOWN, Section, Sheet},
    words::{self, round_value},
};
use latido_judge::{repeat::Outline, statistics::median};
use std::collections::BTreeMap;

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "cpus",
    title: "Each CPU",
    fits: |section| section.shown().iter().any(|series| cpus(series).len() > 1),
    about,
    draw: |section| wide(section, section.width),
    table,
};

/// The most CPUs in one drawing; [`ALL`] limits the CPUs in all drawings of a section together.
const MOST: usize = 128;
const ALL: usize = 256;

/// What one CPU measured, over all repeats and all of its threads.
struct OfCpu {
    cpu: u32,
    count: u64,
    max: f64,
    outline: Outline,
}

/// Returns the CPUs of a series that have samples, by number.
fn cpus(series: &Curve) -> Vec<OfCpu> {
    let mut all = BTreeMap::<u32, (u64, f64, BTreeMap<u16, u64>)>::new();
    for track in series.tracks().filter(|track| track.summary.count > 0) {
        let (Some(cpu), Some(max)) = (track.cpu, track.summary.max) else { continue };
        let own = all.entry(cpu).or_insert((0, f64::MIN, BTreeMap::new()));
        own.0 = own.0.saturating_add(track.summary.count);
        own.1 = own.1.max(max as f64);
        for (bin, count) in &track.outline {
            let sum = own.2.entry(*bin).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    let of = |(cpu, (count, max, rows)): (u32, (u64, f64, BTreeMap<u16, u64>))| OfCpu {
        cpu,
        count,
        max,
        outline: rows.into_iter().collect(),
    };
    all.into_iter().map(of).collect()
}

/// Returns the CPU with the largest sample.
fn worst(cpus: &[OfCpu]) -> Option<&OfCpu> {
    cpus.iter().max_by(|a, b| a.max.total_cmp(&b.max).then(b.cpu.cmp(&a.cpu)))
}

/// Returns the series with several CPUs, in descending order of their largest sample.
fn several<'s, 'a>(section: &'s Section<'a>) -> Vec<(&'s Curve<'a>, Vec<OfCpu>)> {
    let all = section.shown().iter().map(|series| (series, cpus(series)));
    let mut found: Vec<_> = all.filter(|(_, cpus)| cpus.len() > 1).collect();
    found.sort_by(|a, b| b.0.max().unwrap_or(0.0).total_cmp(&a.0.max().unwrap_or(0.0)));
    found
}

/// Returns a sentence like `In busy, CPU 3 has the largest wake-up, 1.59 ms; the median of the maxima of its 16 CPUs is 212 µs.`
fn about(section: &Section) -> String {
    let told = several(section).into_iter().filter_map(|(series, cpus)| {
        let worst = worst(&cpus)?;
        let best = cpus.iter().min_by(|a, b| a.max.total_cmp(&b.max))?;
        let others = match cpus.len() {
            ..=SHOWN => format!("the smallest maximum, {}, is that of CPU {}", section.value(best.max), best.cpu),
            n => {
                let middle = median(&cpus.iter().map(|one| one.max).collect::<Vec<_>>());
                format!("the median of the maxima of its {n} CPUs is {}", section.value(middle))
            }
        };
        let (noun, max) = (section.noun(), section.value(worst.max));
        Some(format!("In {}, CPU {} has the largest {noun}, {max}; {others}.", series.name, worst.cpu))
    });
    let told: Vec<String> = told.collect();
    let cut = several(section).iter().any(|(_, cpus)| cpus.len() > MOST);
    let cut = if cut { format!(" The {MOST} CPUs with the largest maxima are drawn.") } else { String::new() };
    format!("Histograms on log scales, all repeats of a CPU together; markers are maxima. {}{cut}", told.join(" "))
}

/// Returns a drawing of this width for each series with several CPUs, in descending order of their largest sample.
pub(super) fn wide(section: &Section, width: f64) -> Vec<Drawing> {
    let all = several(section);
    let most = all.iter().map(|(_, cpus)| cpus.len()).max().unwrap_or(1);
    let forms = (ALL / most).max(1);
    let scale = all.iter().flat_map(|(series, _)| [series.min(), series.max()]).flatten();
    let values: Vec<f64> = scale.collect();
    let many = all.len() > 1;
    let drawn = all.into_iter().take(forms).map(|(series, cpus)| {
        let variant = many.then_some(series.name.as_str());
        let svg = if cpus.len() > SHOWN {
            multiples(section, &cpus, &values, width)
        } else {
            overlay(section, &cpus, &values, width)
        };
        let each: Vec<String> =
            cpus.iter().take(MOST).map(|one| format!("CPU {}: largest {}", one.cpu, section.value(one.max))).collect();
        svg.finish(
            variant,
            &format!("{}: each CPU, {}", section.title(), series.name),
            &format!("{}.", each.join("; ")),
        )
    });
    let drawn: Vec<Drawing> = drawn.collect();
    if drawn.is_empty() {
        vec![overlay(section, &[], &[], width).finish(None, &section.title(), "No samples.")]
    } else {
        drawn
    }
}

/// Returns the largest count of a bin.
fn highest(cpus: &[OfCpu]) -> u64 {
    cpus.iter().flat_map(|one| &one.outline).map(|(_, count)| *count).max().unwrap_or(0)
}

/// Draws the stepped curve of a CPU.
fn curve(svg: &mut Svg, class: &str, one: &OfCpu, x: &AxisScale, y: &AxisScale, ground: f64) {
    let last = one.outline.last().map_or(0, |(bin, _)| usize::from(*bin));
    let mut counts = vec![0; last + 1];
    for (bin, count) in &one.outline {
        if let Some(own) = counts.get_mut(usize::from(*bin)) {
            *own = *count;
        }
    }
    outline(svg, class, ground, &counts, |bin| x.at(log_edge(bin)), |n| y.at(n));
}

/// Draws all CPUs in one frame, with their names and maxima above it.
fn overlay(section: &Section, cpus: &[OfCpu], values: &[f64], width: f64) -> Svg {
    let (left, right) = (62.0, width - 30.0);
    let names: Vec<String> =
        cpus.iter().map(|one| format!("CPU {} · max {}", one.cpu, section.value(one.max))).collect();
    let (mut at, mut places) = ((left, 14.0), Vec::new());
    for name in &names {
        let width = text_width(name, NAME_SIZE) + 54.0;
        if at.0 + width > right && at.0 > left {
            at = (left, at.1 + 18.0);
        }
        places.push(at);
        at.0 += width;
    }
    let top = at.1 + 16.0;
    let frame = Frame { left, right, top, bottom: top + 220.0 };
    let x = AxisScale::log_over(values.iter().copied(), left, right);
    let y = count_scale(highest(cpus), frame.bottom, frame.top);
    let mut svg = Svg::new(width, frame.bottom + 44.0);
    frame.value_x_axis(&mut svg, &x, section, &format!("{} (20 bins per decade)", section.quantity));
    frame.count_y_axis(&mut svg, &y, &format!("{} per bin", words::plural(section.noun())));
    for limit in inside(section, &x) {
        svg.line("limit", (x.at(limit), frame.top), (x.at(limit), frame.bottom));
        svg.text("limit-name", (x.at(limit) + 4.0, frame.top + 11.0), Anchor::Start, &limit_name(section, limit));
    }
    for (slot, ((one, name), (from, line))) in cpus.iter().zip(&names).zip(places).enumerate() {
        svg.open_colour(slot);
        curve(&mut svg, "curve", one, &x, &y, frame.bottom);
        svg.marker(slot, (x.at(one.max), y.at(1.0)), name);
        svg.line("curve", (from, line - 4.0), (from + 28.0, line - 4.0));
        svg.marker(slot, (from + 14.0, line - 4.0), "");
        svg.text("name", (from + 34.0, line), Anchor::Start, name);
        svg.close();
    }
    svg
}

/// Draws a small picture for each CPU, all on the same scales. The frame of the worst CPU has the first colour.
fn multiples(section: &Section, cpus: &[OfCpu], values: &[f64], width: f64) -> Svg {
    let mut shown: Vec<&OfCpu> = cpus.iter().collect();
    shown.sort_by(|a, b| b.max.total_cmp(&a.max).then(a.cpu.cmp(&b.cpu)));
    shown.truncate(MOST);
    shown.sort_by_key(|one| one.cpu);
    let worst = worst(cpus).map(|one| one.cpu);
    let columns = if shown.len() > 24 { 8 } else { 6 };
    let columns = if width < WIDTH { columns / 2 } else { columns };
    let (wide, high) = (width / columns as f64, if shown.len() > 64 { 74.0 } else { 92.0 });
    let rows = shown.len().div_ceil(columns);
    let most = highest(cpus);
    let mut svg = Svg::new(width, high * rows as f64 + 24.0);
    let mut ends = None;
    for (i, one) in shown.into_iter().enumerate() {
        let (left, top) = (wide * (i % columns) as f64 + 4.0, high * (i / columns) as f64 + 18.0);
        let (right, bottom) = (left + wide - 12.0, top + high - 26.0);
        let x = AxisScale::log_over(values.iter().copied(), left, right);
        let y = count_scale(most, bottom, top + 2.0);
        let (is_worst, place) = (Some(one.cpu) == worst, (left, top));
        svg.rect(
            "frame",
            place,
            (right - left, bottom - top),
            &format!("CPU {}: {}", one.cpu, words::count(one.count)),
        );
        for limit in inside(section, &x) {
            svg.line("limit", (x.at(limit), top), (x.at(limit), bottom));
        }
        svg.open_colour(if is_worst { 0 } else { 1 });
        curve(&mut svg, "outline solid-line", one, &x, &y, bottom);
        if is_worst {
            svg.rect("solid", place, (right - left, bottom - top), "");
            svg.marker(0, (x.at(one.max), bottom), "");
        }
        let class = if is_worst { "name" } else { "small" };
        svg.text(class, (left, top - 4.0), Anchor::Start, &format!("CPU {}", one.cpu));
        svg.text(class, (right, top - 4.0), Anchor::End, &section.value(one.max));
        svg.close();
        ends.get_or_insert((x.low, x.high));
    }
    if let Some((low, high)) = ends {
        let [low, high] = [low, high].map(|v| round_value(v, section.unit));
        let said = format!(
            "each panel: {} from {low} to {high}, counts up to {}; its maximum is above it",
            section.quantity,
            words::count(most)
        );
        svg.text("label", (4.0, svg.height - 4.0), Anchor::Start, &said);
    }
    svg
}

fn table(section: &Section) -> Sheet {
    let all = several(section);
    let row = |series: &Curve, one: &OfCpu| {
        let over = series.limit().is_some_and(|limit| one.max > limit);
        let max = if over { Datum::Over(one.max) } else { Datum::Value(one.max) };
        vec![Datum::Text(series.name.clone()), Datum::Count(one.cpu.into()), Datum::Count(one.count), max]
    };
    let rows: Vec<Vec<Datum>> = all.iter().flat_map(|(series, cpus)| cpus.iter().map(|one| row(series, one))).collect();
    let typical: Vec<f64> = all.iter().flat_map(|(_, cpus)| cpus).map(|one| one.max).collect();
    let head = vec!["configuration".into(), "CPU".into(), words::plural(section.noun()).into(), Head::from("max")];
    Sheet::new(format!("{}, each CPU", section.title()), head, rows, section.unit, &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    /// Two CPUs are two curves in one frame, and the text names the worse one.
    #[test]
    fn two_cpus_are_laid_over_each_other() {
        let all = sample::configurations(1);
        let sections = sections(&all);
        let drawn = wide(&sections[0], WIDTH);
        let [one] = &drawn[..] else { panic!("{} drawings", drawn.len()) };
        assert!((FIGURE.fits)(&sections[0]) && one.body.contains("CPU 2 · max") && one.body.contains("CPU 3 · max"));
        assert_eq!(one.body.matches("class=\"curve\"").count(), 4, "each has its curve and its key");
        let max = sections[0].series[0].max().unwrap();
        let kept = sections[0].series[0].kept()[0];
        assert_eq!(kept.sample.value as f64, max);
        let text = about(&sections[0]);
        let said = format!("CPU {} has the largest wake-up, {};", kept.cpu.unwrap(), sections[0].value(max));
        assert!(text.contains(&said), "{text}");
    }

    /// A hundred CPUs are a hundred small pictures; one of them is marked as the worst.
    #[test]
    fn many_cpus_are_small_multiples() {
        let all = [sample::on_cpus("idle", 100)];
        let sections = sections(&all);
        let drawing = &wide(&sections[0], WIDTH)[0];
        assert_eq!(drawing.body.matches("class=\"frame\"").count(), 100);
        assert_eq!(drawing.body.matches("class=\"solid\"").count(), 1);
        assert!(about(&sections[0]).contains("CPU 99 has the largest wake-up"), "{}", about(&sections[0]));
        assert!(drawing.height < 1_300.0, "{}", drawing.height);
        let table = table(&sections[0]);
        assert_eq!((table.rows.len(), table.head.len()), (100, 4));
    }

    /// Where there are too many CPUs, the chart keeps those with the largest maxima, and the text says so.
    #[test]
    fn of_too_many_cpus_the_worst_are_drawn() {
        let all = [sample::on_cpus("idle", 200)];
        let sections = sections(&all);
        let drawing = &wide(&sections[0], WIDTH)[0];
        assert_eq!(drawing.body.matches("class=\"frame\"").count(), MOST);
        assert!(drawing.body.contains(">CPU 199<") && !drawing.body.contains(">CPU 0<"));
        assert!(about(&sections[0]).ends_with("The 128 CPUs with the largest maxima are drawn."));
    }

    #[test]
    fn one_cpu_needs_no_figure() {
        let all = [sample::of("x", &[1_000, 2_000], None)];
        assert!(!(FIGURE.fits)(&sections(&all)[0]));
    }

    /// The curves of the CPUs together contain all samples.
    #[test]
    fn the_curves_have_all_samples() {
        let all = sample::configurations(2);
        for series in &sections(&all)[0].series {
            let sum: u64 = cpus(series).iter().flat_map(|one| &one.outline).map(|(_, count)| count).sum();
            assert_eq!(sum, series.pooled.summary.count);
        }
    }
}
