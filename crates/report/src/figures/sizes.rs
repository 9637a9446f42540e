//! Time against instance with the sizes overlaid: a panel for each system, and one each for small and large sizes.

use super::{
    Overview,
    axis::AxisScale,
    frame::spread,
    ordered::{Grid, any, drawn, forms, instance_axis, longest, name, values},
    svg::{Anchor, Drawing},
    thin::{Envelope, range},
};
use crate::tree::{CallRow, Chapter, Curve, Datum, Head, SHOWN, Section, Sheet};

/// The list entry.
pub const FIGURE: Overview = Overview {
    name: "sizes",
    title: "Sizes over each other",
    fits: |chapter| any(chapter) && forms(chapter).iter().any(|(_, rows)| sized(chapter, rows).nth(1).is_some()),
    about: |_| {
        "Log scale, the same for all systems. The samples in their order, repeats after each other; the size is beside \
         each line."
            .into()
    },
    draw,
    table,
};

/// The largest of the small sizes: the study's first chart ends with it, and its second starts above it.
const SMALL: u64 = 16;
/// The most columns of all series together: more would only make the file large.
const ALL_COLUMNS: usize = 3_600;

/// Returns the rows that have a size, with that size.
fn sized<'c, 's, 'a, 't, 'b>(
    chapter: &'c Chapter<'s, 'a>,
    rows: &'c [&'c CallRow<'t, 'b>],
) -> impl Iterator<Item = (u64, &'c CallRow<'t, 'b>, &'s Section<'a>)> {
    rows.iter().filter_map(|row| {
        let section = chapter.section(row)?;
        Some((section.labels.get("size")?.parse().ok()?, *row, section))
    })
}

fn series<'s, 'a>(row: &CallRow<'s, 'a>, slot: usize) -> Option<&'s Curve<'a>> {
    row.series.get(slot).copied().flatten()
}

fn draw(chapter: &Chapter) -> Vec<Drawing> {
    forms(chapter).into_iter().map(|(_, rows)| form(chapter, &rows)).collect()
}

fn form(chapter: &Chapter, rows: &[&CallRow]) -> Drawing {
    let (small, large): (Vec<_>, Vec<_>) = sized(chapter, rows).partition(|(size, ..)| *size <= SMALL);
    let groups: Vec<_> = [small, large].into_iter().filter(|group| !group.is_empty()).collect();
    let systems: Vec<(usize, &String)> = chapter.systems.iter().take(SHOWN).enumerate().collect();
    let panels = systems.len() * groups.len();
    let grid = Grid::new(chapter, panels, 190.0);
    let mut svg = grid.svg(panels);
    let last = longest(rows);
    let columns = (ALL_COLUMNS / drawn(chapter)).clamp(40, 480);
    let mut said = Vec::new();
    let names = grid.names(&systems.iter().map(|(_, system)| system.as_str()).collect::<Vec<&str>>());
    for (at, ((slot, _), system)) in systems.iter().zip(&names).enumerate() {
        for (k, group) in groups.iter().enumerate() {
            let frame = grid.frame(at * groups.len() + k);
            let all = group.iter().flat_map(|(_, row, _)| row.series.iter().flatten()).flat_map(|one| values(one));
            let y = AxisScale::log_over(all.map(|v| v as f64), frame.bottom, frame.top);
            let below = if at + 1 == systems.len() { "instance" } else { "" };
            let x = instance_axis(&mut svg, &frame, last, below);
            if let Some((_, _, section)) = group.first() {
                frame.value_y_axis(&mut svg, &y, section, "", 6);
            }
            grid.name(&mut svg, &frame, system);
            let lines: Vec<_> = group.iter().filter_map(|(size, row, _)| Some((*size, series(row, *slot)?))).collect();
            let middle = |one: &Curve| y.at(one.quantile("0.5").unwrap_or(1.0)) - 4.0;
            let places: Vec<f64> = lines.iter().map(|(_, one)| middle(one)).collect();
            let places = spread(&places, 11.0, frame.top + 8.0, frame.bottom);
            // All lines have the colour of the system, which the legend names and switches; the text at its end names each size.
            svg.open_series(*slot);
            for ((size, one), place) in lines.iter().zip(places) {
                let points = values(one).zip(1u32..).map(|(value, i)| (f64::from(i), value as f64));
                Envelope::of(points, 1.0, last.max(2) as f64, columns).draw(&mut svg, &x, &y);
                svg.text("small", (frame.right - 2.0, place), Anchor::End, &format!("{size}x{size}"));
            }
            svg.close();
        }
        let told = sized(chapter, rows).filter_map(|(size, row, section)| {
            let (low, high) = range(values(series(row, *slot)?).map(|v| v as f64))?;
            Some(format!("{size}: {} to {}", section.value(low), section.value(high)))
        });
        said.push(format!("{system}: {}", told.collect::<Vec<_>>().join(", ")));
    }
    let title = format!("{}: {} of all sizes against instance", chapter.title(), name(chapter, rows));
    svg.finish(Some(&name(chapter, rows)), &title, &format!("{}.", said.join("; ")))
}

fn table(chapter: &Chapter) -> Sheet {
    let (mut rows, mut typical, mut stored) = (Vec::new(), Vec::new(), "ns");
    for (_, form) in forms(chapter) {
        for (size, row, section) in sized(chapter, &form) {
            stored = section.unit;
            for (slot, system) in chapter.systems.iter().enumerate() {
                let Some(one) = series(row, slot) else { continue };
                typical.extend(one.pooled.summary.mean);
                let names = [section.short_name(), system.clone()].map(Datum::Text);
                let figures = [one.min(), one.pooled.summary.mean, one.max()].map(Datum::value);
                rows.push(names.into_iter().chain([Datum::Count(size)]).chain(figures).collect());
            }
        }
    }
    let head = ["quantity", "system", "size", "min", "mean", "max"].map(Head::from).into();
    Sheet::new(format!("{}, by size", chapter.title()), head, rows, stored, &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::calls,
        tree::{chapters, sections},
    };

    #[test]
    fn a_panel_a_system_and_group_and_a_line_a_size() {
        let all = calls::compute(&[2, 4, 8, 16, 32, 64, 128], 500);
        let sections = sections(&all);
        let chapters = chapters(&sections);
        assert!((FIGURE.fits)(&chapters[0]));
        let drawings = draw(&chapters[0]);
        let names: Vec<_> = drawings.iter().map(|d| d.variant.as_deref().unwrap()).collect();
        assert_eq!(names, ["elapsed", "cpu"]);
        for drawing in &drawings {
            assert_eq!(drawing.body.matches("class=\"head\"").count(), 2 * 5);
            assert_eq!(drawing.body.matches("<g class=\"s").count(), 2 * 5, "each in the colour of its system");
            assert_eq!(drawing.body.matches("x128<").count(), 5);
            let lines = drawing.body.matches("class=\"fine\"").count() + drawing.body.matches("class=\"band\"").count();
            assert_eq!(lines, 7 * 5);
        }
        assert_eq!(table(&chapters[0]).rows.len(), 2 * 7 * 5);
    }

    #[test]
    fn one_size_has_nothing_to_lie_over() {
        for all in [calls::compute(&[8], 30), calls::mutex(&["idle"]), calls::pendulum()] {
            let sections = sections(&all);
            assert!(!(FIGURE.fits)(&chapters(&sections)[0]));
        }
    }
}
