//! The spread between repeats: a strip per configuration, with a mark for the largest sample of each repeat.

use super::{
    Chart,
    axis::AxisScale,
    frame::{Frame, WIDTH, inside, limit_name},
    svg::{Anchor, Drawing, NAME_SIZE, Svg, fit},
};
use crate::{
    tables::spread::{maxima, sheet},
    tree::{Curve, Head, Section, Sheet},
};
use latido_judge::statistics::median;

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "repeats",
    title: "Spread between repeats",
    fits: |section| section.series.iter().any(|curve| !maxima(curve).is_empty()),
    about: |_| {
        "Log scale. Each mark is the largest sample of one repeat, the first repeat at the top of its strip; the upright \
         line is their median. What follows pools all repeats."
            .into()
    },
    draw: |section| wide(section, section.width),
    table: |section| {
        sheet(section).unwrap_or_else(|| Sheet::plain(section.title(), vec![Head::from("configuration")], Vec::new()))
    },
};

/// The height of a strip; [`FREE`] is the space above and below its marks. Both in pixels.
const STRIP: f64 = 44.0;
const FREE: f64 = 9.0;

/// Draws the figure in this width.
pub(super) fn wide(section: &Section, width: f64) -> Vec<Drawing> {
    vec![draw(section, width)]
}

fn draw(section: &Section, width: f64) -> Drawing {
    let strips: Vec<(usize, &Curve, Vec<f64>)> = section
        .shown()
        .iter()
        .enumerate()
        .map(|(slot, curve)| (slot, curve, maxima(curve).into_iter().map(|(_, max)| max).collect::<Vec<f64>>()))
        .filter(|(_, _, maxima)| !maxima.is_empty())
        .collect();
    // On paper, names and medians are above their strips.
    let narrow = section.width < WIDTH;
    let (left, right) = match narrow {
        true => (16.0, width - 16.0),
        false => (if width < WIDTH { 110.0 } else { 210.0 }, width - 90.0),
    };
    let (above, strip) = if narrow { (14.0, STRIP + 14.0) } else { (0.0, STRIP) };
    let frame = Frame { left, right, top: 8.0, bottom: 8.0 + strip * strips.len() as f64 };
    let all = || strips.iter().flat_map(|(_, _, maxima)| maxima).map(|max| max.max(1.0));
    let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), max| (low.min(max), high.max(max)));
    // The scale is as narrow as the marks allow, so that a spread of a few percent is visible.
    let x = AxisScale::log(low * 0.95, (high * 1.05).max(low * 1.2), frame.left, frame.right);
    let mut svg = Svg::new(width, frame.bottom + 46.0);
    frame.value_x_axis(&mut svg, &x, section, "largest sample of a repeat");
    for limit in inside(section, &x) {
        svg.line("limit", (x.at(limit), frame.top), (x.at(limit), frame.bottom));
        svg.text("limit-name", (x.at(limit) + 4.0, frame.top + 10.0), Anchor::Start, &limit_name(section, limit));
    }
    let mut said = Vec::new();
    for (at, (slot, curve, maxima)) in strips.iter().enumerate() {
        let top = frame.top + above + strip * at as f64;
        let step = (STRIP - 2.0 * FREE) / (maxima.len().max(2) - 1) as f64;
        let middle = median(maxima);

        svg.line("frame", (frame.left, top + STRIP), (frame.right, top + STRIP));
        svg.open_series(*slot);
        match narrow {
            true => {
                let name = fit(&curve.name, NAME_SIZE, frame.right - frame.left - 130.0);
                svg.text("name", (frame.left + 3.0, top + 1.0), Anchor::Start, &name);
            }
            false => {
                let name = fit(&curve.name, 12.0, frame.left - 24.0);
                svg.text("name", (frame.left - 12.0, top + STRIP / 2.0 + 4.0), Anchor::End, &name);
            }
        }
        svg.line("solid", (x.at(middle), top + 4.0), (x.at(middle), top + STRIP - 4.0));
        for (number, max) in maxima.iter().enumerate() {
            let tip = format!("{}, repeat {} of {}: {}", curve.name, number + 1, maxima.len(), section.value(*max));
            svg.marker(*slot, (x.at(*max), top + FREE + step * number as f64), &tip);
        }
        svg.close();
        let text = format!("median {}", section.value(middle));
        match narrow {
            true => svg.text("small", (frame.right - 3.0, top + 1.0), Anchor::End, &text),
            false => svg.text("small", (frame.right + 6.0, top + STRIP / 2.0 + 3.5), Anchor::Start, &text),
        }
        let repeats = crate::words::many(maxima.len() as u64, "repeat");
        said.push(format!("{}: {repeats}, median {}", curve.name, section.value(middle)));
    }
    svg.finish(None, &format!("{}: maxima of the repeats", section.title()), &format!("{}.", said.join("; "))).named()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample,
        tree::{Datum, sections},
    };
    use latido_judge::configuration::Configuration;

    /// Returns a configuration of three repeats with these maxima.
    fn repeated(label: &str, maxima: [i64; 3]) -> Configuration {
        let mut all = maxima.map(|max| sample::of(label, &[1_000, max], None)).into_iter();
        let mut first = all.next().unwrap();
        first.repeats.extend(all.flat_map(|one| one.repeats));
        first
    }

    /// Every repeat has its mark, and the table has the median of the repeats' maxima, not a figure of the pooled samples.
    #[test]
    fn each_repeat_has_a_mark() {
        let all = [repeated("a", [9_000, 4_000, 5_000]), sample::of("once", &[1_000, 2_000], None)];
        let sections = sections(&all);
        assert!((FIGURE.fits)(&sections[0]));
        let drawing = draw(&sections[0], WIDTH);
        assert_eq!(drawing.body.matches("<use href=\"#m0\"").count(), 3);
        assert!(drawing.description.contains("a: 3 repeats, median 5.00"), "{}", drawing.description);
        let table = (FIGURE.table)(&sections[0]);
        assert_eq!(table.rows.len(), 1, "what was measured once has no spread");
        assert_eq!(table.rows[0][1..5], [Datum::Count(3), Datum::Value(4e3), Datum::Value(5e3), Datum::Value(9e3)]);
        assert!(!(FIGURE.fits)(&crate::tree::sections(&all[1..])[0]));
    }
}
