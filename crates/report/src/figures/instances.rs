//! Time against instance: a panel for each call or size, with the systems and scheduling policies overlaid.

use super::{
    Overview,
    ordered::{Grid, any, drawn, forms, instance_axis, longest, name, shown, values},
    svg::Drawing,
    thin::{Envelope, line_scale, range},
};
use crate::tree::{CallRow, Chapter, Datum, Head, Sheet};

/// The list entry.
pub const FIGURE: Overview = Overview {
    name: "instances",
    title: "Time against instance",
    fits: any,
    about: |chapter| {
        let thinned = forms(chapter).iter().any(|(_, rows)| longest(rows) > columns(chapter));
        let thin = if thinned { " Where there are too many, a band spans the smallest to the largest." } else { "" };
        format!("The samples in their order, repeats after each other.{thin}")
    },
    draw,
    table,
};

/// The most columns of all series together: more would only make the file large.
const ALL_COLUMNS: usize = 5_600;
/// The most rows of the table behind the figure.
const ALL_ROWS: usize = 160;

/// Returns the number of columns of a series.
fn columns(chapter: &Chapter) -> usize {
    (ALL_COLUMNS / drawn(chapter)).clamp(40, 480)
}

/// Returns the points of a series: the instance, from 1, and the value.
fn points<'s>(series: &'s crate::tree::Curve) -> impl Iterator<Item = (f64, f64)> + 's {
    values(series).zip(1u32..).map(|(value, i)| (f64::from(i), value as f64))
}

fn draw(chapter: &Chapter) -> Vec<Drawing> {
    forms(chapter).into_iter().map(|(_, rows)| form(chapter, &rows)).collect()
}

fn form(chapter: &Chapter, rows: &[&CallRow]) -> Drawing {
    let grid = Grid::new(chapter, rows.len(), if rows.len() > 2 { 150.0 } else { 220.0 });
    let mut svg = grid.svg(rows.len());
    let (last, columns) = (longest(rows), columns(chapter));
    let names = grid.names(&rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>());
    for (panel, (row, name)) in rows.iter().zip(&names).enumerate() {
        let Some(section) = chapter.section(row) else { continue };
        let frame = grid.frame(panel);
        let scale = range(shown(row).flat_map(|(_, series)| values(series)).map(|v| v as f64));
        let y = line_scale(scale, frame.bottom, frame.top);
        let bottom = grid.is_last(panel, rows.len());
        let x = instance_axis(&mut svg, &frame, last, if bottom { "instance" } else { "" });
        frame.value_y_axis(&mut svg, &y, section, "", 6);
        grid.name(&mut svg, &frame, name);
        for (slot, series) in shown(row) {
            svg.open_series(slot);
            Envelope::of(points(series), 1.0, last.max(2) as f64, columns).draw(&mut svg, &x, &y);
            svg.close();
        }
    }
    let said = rows.iter().filter_map(|row| {
        let section = chapter.section(row)?;
        let (low, high) = range(shown(row).flat_map(|(_, series)| values(series)).map(|v| v as f64))?;
        Some(format!("{}: {} to {}", row.name, section.value(low), section.value(high)))
    });
    let description = format!("{}.", said.collect::<Vec<_>>().join("; "));
    let title = format!("{}: {} against instance", chapter.title(), name(chapter, rows));
    svg.finish(Some(&name(chapter, rows)), &title, &description)
}

fn table(chapter: &Chapter) -> Sheet {
    let most = (ALL_ROWS / drawn(chapter)).clamp(4, 48);
    let mut rows = Vec::new();
    let mut typical = Vec::new();
    let mut stored = "ns";
    for row in forms(chapter).iter().flat_map(|(_, rows)| rows) {
        stored = chapter.section(row).map_or(stored, |section| section.unit);
        for (slot, series) in shown(row) {
            let system = chapter.systems.get(slot).cloned().unwrap_or_default();
            let all: Vec<i64> = values(series).collect();
            let length = all.len().div_ceil(most).max(1);
            typical.extend(series.pooled.summary.mean);
            for (i, chunk) in all.chunks(length).enumerate() {
                let first = (i * length) as u64 + 1;
                let least = chunk.iter().min().map(|v| *v as f64);
                let most = chunk.iter().max().map(|v| *v as f64);
                let names = [Datum::Text(row.name.clone()), Datum::Text(system.clone())];
                let span = [Datum::Count(first), Datum::Count(first + chunk.len() as u64 - 1)];
                rows.push(names.into_iter().chain(span).chain([Datum::value(least), Datum::value(most)]).collect());
            }
        }
    }
    let head = ["call", "system", "from instance", "to", "min", "max"].map(Head::from).into();
    Sheet::new(format!("{} against instance", chapter.title()), head, rows, stored, &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::calls,
        tree::{chapters, sections},
    };

    #[test]
    fn a_panel_a_size_and_a_line_a_way_of_scheduling() {
        let all = calls::compute(&[2, 64, 128], 1_000);
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let drawings = draw(&chapters[0]);
        let names: Vec<_> = drawings.iter().map(|d| d.variant.as_deref().unwrap()).collect();
        assert_eq!(names, ["elapsed", "cpu"]);
        assert_eq!(drawings[0].body.matches("<g class=\"s").count(), 3 * 5);
        assert_eq!(drawings[0].body.matches("class=\"head\"").count(), 3);
    }

    /// A figure of a million samples per series takes no more bytes than its pixels need.
    #[test]
    fn a_million_points_stay_a_small_file() {
        let all = calls::compute(&[8], 1_000);
        let mut all: Vec<_> = all.into_iter().take(2).collect();
        for track in all.iter_mut().flat_map(|one| one.repeats[0].tracks_mut()) {
            let few = track.samples.clone();
            track.samples = few.iter().cycle().take(latido_model::record::ORDERED_MAX).copied().collect();
        }
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let drawings = draw(&chapters[0]);
        assert_eq!(drawings.len(), 2);
        for drawing in drawings {
            assert!(drawing.body.contains("class=\"band\""), "{}", drawing.body);
            assert!(drawing.inline().len() < 40_000, "{} bytes", drawing.inline().len());
        }
    }

    #[test]
    fn short_series_are_drawn_point_by_point() {
        let all = calls::compute(&[8], 30);
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let svg = draw(&chapters[0])[0].inline();
        assert!(svg.contains("class=\"fine\"") && !svg.contains("class=\"band\""), "{svg}");
        let rows = table(&chapters[0]).rows;
        assert_eq!((&rows[0][2], &rows[rows.len() - 1][3]), (&Datum::Count(1), &Datum::Count(30)));
        assert!(rows.iter().all(|row| matches!((&row[2], &row[3]), (Datum::Count(a), Datum::Count(b)) if a <= b)));
    }
}
