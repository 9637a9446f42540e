//! The maxima of calls as grouped bars on a log scale, one bar per system.

use super::{
    Overview,
    axis::AxisScale,
    frame::{Frame, is_narrow},
    svg::{Anchor, Drawing, Svg, text_width},
};
use crate::{
    tree::{CallRow, Chapter, Curve, Datum, Head, SHOWN, Section, Sheet},
    words,
};

/// The list entry.
pub const FIGURE: Overview = Overview {
    name: "maxima",
    title: "Maxima",
    fits: |chapter| rows(chapter).nth(1).is_some(),
    about: |chapter| {
        format!(
            "Log scale. Each bar is the largest sample of {}: a single maximum is chance and does not rank systems, \
             repeats do.",
            runs(chapter)
        )
    },
    draw: |chapter| vec![draw(chapter)],
    table,
};

/// The narrowest bar that is still distinct from its neighbours; [`WIDEST`] is the widest. Both in pixels.
const NARROWEST: f64 = 7.0;
const WIDEST: f64 = 40.0;

/// Returns the rows with maxima of single calls. A mean over a batch has no maximum of a single call.
fn rows<'c, 's, 'a>(chapter: &'c Chapter<'s, 'a>) -> impl Iterator<Item = (&'c CallRow<'s, 'a>, &'s Section<'a>)> {
    let timed = |row: &'c CallRow<'s, 'a>| {
        let section = chapter.section(row).filter(|section| section.unit == "ns")?;
        row.series.iter().flatten().any(|series| series.max().is_some()).then_some((row, section))
    };
    chapter.rows.iter().filter_map(timed)
}

/// Returns the series that have bars.
fn shown<'r, 's, 'a>(row: &'r CallRow<'s, 'a>) -> impl Iterator<Item = (usize, &'s Curve<'a>)> + 'r {
    row.series.iter().take(SHOWN).enumerate().filter_map(|(slot, series)| Some((slot, (*series)?)))
}

/// Returns the number of runs: `one run`, `3 runs`, `1 to 10 runs`.
fn runs(chapter: &Chapter) -> String {
    let counts = || rows(chapter).flat_map(|(row, _)| shown(row)).map(|(_, series)| series.configuration.repeats.len());
    match (counts().min(), counts().max()) {
        (Some(1), Some(1)) | (None, _) | (_, None) => "one run".into(),
        (Some(low), Some(high)) if low == high => format!("{low} runs"),
        (Some(low), Some(high)) => format!("{low} to {high} runs (see the table)"),
    }
}

/// Returns the names of the groups, in lines no wider than a group.
fn named(names: &[&str], width: f64) -> Vec<Vec<String>> {
    let fits = |name: &str| lines(name, width).iter().all(|line| text_width(line, 11.0) <= width);
    words::apart(names, fits).iter().map(|name| lines(name, width)).collect()
}

/// Splits a name into lines at its commas.
fn lines(name: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in name.split(", ") {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line}, {part}"), 11.0) <= width => line.push_str(&format!(", {part}")),
            _ => lines.push(part.to_owned()),
        }
    }
    lines
}

/// The layout in pixels: strips one below the other, with groups of bars side by side.
struct Layout {
    left: f64,
    right: f64,
    /// The number of systems, each with a bar in every group.
    systems: usize,
    /// The number of strips.
    strips: usize,
    /// The number of groups in a strip.
    per_strip: usize,
    /// The width of a group, with the gap to the next one.
    pitch: f64,
    /// The width of a bar.
    bar: f64,
}

impl Layout {
    /// Returns the layout of this number of groups.
    fn of(chapter: &Chapter, groups: usize) -> Self {
        let systems = chapter.systems.len().clamp(1, SHOWN);
        let (left, right) = (76.0, chapter.width() - 10.0);
        // Each strip has as many groups as leave the bars wide enough, and the groups are spread evenly over the strips.
        let most = (((right - left) / (systems as f64 * NARROWEST + 14.0).max(58.0)) as usize).max(1);
        let strips = groups.div_ceil(most).max(1);
        let per_strip = groups.div_ceil(strips).max(1);
        let pitch = (right - left) / per_strip as f64;
        let bar = ((pitch - 12.0) / systems as f64).min(WIDEST);
        Self { left, right, systems, strips, per_strip, pitch, bar }
    }

    /// Returns whether the values above the bars are upright, because the bars are narrow.
    fn is_upright(&self) -> bool {
        self.bar < 34.0
    }

    /// Returns the left edge of a bar in the group with this middle.
    fn bar_at(&self, middle: f64, slot: usize) -> f64 {
        middle - self.bar * self.systems as f64 / 2.0 + self.bar * slot as f64
    }
}

/// A system's bar in a group.
struct Bar {
    slot: usize,
    /// The largest sample.
    max: f64,
    /// The largest sample in words.
    said: String,
    /// The tooltip.
    tip: String,
}

/// Returns the bars of a group.
fn bars(chapter: &Chapter, row: &CallRow, section: &Section) -> Vec<Bar> {
    let bar = |(slot, series): (usize, &Curve)| {
        let max = series.max()?;
        let said = section.value(max);
        let members = words::many(series.configuration.repeats.len() as u64, "run");
        let samples = words::many(series.pooled.summary.count, section.noun());
        let system = chapter.systems.get(slot).map_or("", String::as_str);
        let tip = format!("{}, {system}: {said}, largest of {samples} in {members}", row.name);
        Some(Bar { slot, max, said, tip })
    };
    shown(row).filter_map(bar).collect()
}

/// Returns the largest sample of a system and its call in words, if the system has samples.
fn worst(chapter: &Chapter, rows: &[(&CallRow, &Section)], slot: usize) -> Option<String> {
    let of = rows.iter().filter_map(|(row, section)| {
        let series = (*row.series.get(slot)?)?;
        Some((series.max()?, row, section))
    });
    let (max, row, section) = of.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!("{}: largest {} in {}", chapter.systems.get(slot)?, section.value(max), row.name))
}

fn draw(chapter: &Chapter) -> Drawing {
    let rows: Vec<_> = rows(chapter).collect();
    let layout = Layout::of(chapter, rows.len());
    let names = named(&rows.iter().map(|(row, _)| row.name.as_str()).collect::<Vec<_>>(), layout.pitch - 6.0);
    let below = 14.0 * names.iter().map(Vec::len).max().unwrap_or(1) as f64 + 14.0;
    let above = if layout.is_upright() { 52.0 } else { 22.0 };
    let height = if layout.strips > 1 || is_narrow(chapter.width()) { 150.0 } else { 210.0 };
    let mut svg = Svg::new(chapter.width(), (above + height + below) * layout.strips as f64);
    let maxima = rows.iter().flat_map(|(row, _)| shown(row)).filter_map(|(_, series)| series.max());
    let low_high = AxisScale::log_over(maxima, 0.0, 1.0);
    for strip in 0..layout.strips {
        let top = (above + height + below) * strip as f64 + above;
        let frame = Frame { left: layout.left, right: layout.right, top, bottom: top + height };
        // The smallest maximum is a bar too, not a line on the axis.
        let y = AxisScale::log(low_high.low / 2.0, low_high.high, frame.bottom, frame.top);
        if let Some((_, section)) = rows.first() {
            frame.value_y_axis(&mut svg, &y, section, "largest sample", 7);
        }
        let groups = rows.iter().zip(&names).skip(strip * layout.per_strip).take(layout.per_strip);
        for (i, ((row, section), name)) in groups.enumerate() {
            let middle = layout.left + layout.pitch * (i as f64 + 0.5);
            for (k, line) in name.iter().enumerate() {
                svg.text("tick", (middle, frame.bottom + 16.0 + 14.0 * k as f64), Anchor::Middle, line);
            }
            for Bar { slot, max, said, tip } in bars(chapter, row, section) {
                let (x, top) = (layout.bar_at(middle, slot), y.at(max));
                svg.open_series(slot);
                svg.rect("bar", (x + 0.5, top), (layout.bar - 1.0, frame.bottom - top), &tip);
                if layout.is_upright() {
                    svg.upright("small", (x + layout.bar / 2.0 + 3.5, top - 4.0), Anchor::Start, &said);
                } else {
                    svg.text("small", (x + layout.bar / 2.0, top - 5.0), Anchor::Middle, &said);
                }
                svg.close();
            }
        }
    }
    let said: Vec<String> = (0..layout.systems).filter_map(|slot| worst(chapter, &rows, slot)).collect();
    svg.finish(None, &format!("{}: maxima", chapter.title()), &format!("{}.", said.join("; ")))
}

fn table(chapter: &Chapter) -> Sheet {
    let mut head = vec![Head::from("call")];
    for system in &chapter.systems {
        head.extend([format!("{system}: max").into(), "runs".into()]);
    }
    let row = |(row, _): (&CallRow, &Section)| {
        let mut cells = vec![Datum::Text(row.name.clone())];
        for series in &row.series {
            cells.push(Datum::value(series.and_then(Curve::max)));
            cells.push(series.map_or(Datum::Absent, |s| Datum::Count(s.configuration.repeats.len() as u64)));
        }
        cells
    };
    let maxima = rows(chapter).flat_map(|(row, _)| row.series.iter().flatten()).filter_map(|s| s.max());
    let (typical, rows): (Vec<f64>, _) = (maxima.collect(), rows(chapter).map(row).collect());
    Sheet::new(format!("{}, maxima", chapter.title()), head, rows, "ns", &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::calls,
        tree::{chapters, sections},
    };

    #[test]
    fn every_call_of_every_system_has_its_bar() {
        let mut all = calls::mutex(&["idle", "busy"]);
        all.extend(calls::mutex_batch(&["idle"]));
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let svg = draw(&chapters[0]).inline();
        assert_eq!(svg.matches("class=\"bar\"").count(), 13 * 2, "batches have no maxima of calls");
        assert_eq!(table(&chapters[0]).rows.len(), 13);
    }

    /// On a page, one strip has room for all thirteen groups. A narrow figure has room for six, so the groups are spread over three strips.
    #[test]
    fn many_bars_are_spread_over_strips_and_stay_wide_enough() {
        let loads: Vec<String> = (0..8).map(|i| format!("system {i}")).collect();
        let loads: Vec<&str> = loads.iter().map(String::as_str).collect();
        let all = calls::mutex(&loads);
        for (width, strips) in [(None, 1), (Some(520.0), 3)] {
            let mut sections = sections(&all);
            sections.iter_mut().for_each(|one| one.width = width.unwrap_or(one.width));
            let chapters = chapters(&sections);
            let drawing = draw(&chapters[0]);
            assert_eq!(drawing.body.matches("class=\"bar\"").count(), 13 * 8);
            assert_eq!(drawing.body.matches("largest sample<").count(), strips);
            let bar = Layout::of(&chapters[0], 13).bar;
            assert!(bar >= NARROWEST, "{bar}");
        }
    }

    #[test]
    fn names_break_at_commas() {
        assert_eq!(lines("lock, normal, shared", 60.0), ["lock", "normal", "shared"]);
        assert_eq!(lines("lock, normal", 200.0), ["lock, normal"]);
    }

    #[test]
    fn the_number_of_runs_is_said() {
        let mut all = calls::mutex(&["idle", "busy"]);
        let said = |all: &[latido_judge::configuration::Configuration]| {
            let sections = sections(all);
            runs(&chapters(&sections)[0])
        };
        assert_eq!(said(&all), "one run");
        all[1].repeats.push(crate::sample::repeat(Default::default(), 0));
        assert_eq!(said(&all), "1 to 2 runs (see the table)");
    }
}
