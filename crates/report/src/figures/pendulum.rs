//! The pendulum's angle and how late its motor was set, on one time axis, with and without load; a line marks a fall.

use super::{
    Overview,
    axis::{AxisScale, time_axis},
    frame::Frame,
    svg::{Anchor, Drawing, NAME_SIZE, Svg, apart, text_width},
    thin::{Envelope, range},
};
use crate::{
    tree::{Chapter, Curve, Datum, Head, SHOWN, Section, Sheet},
    words::{self, Unit, Units},
};
use latido_judge::repeat::Track;
use latido_model::quantity::Quantity;

/// The list entry.
pub const FIGURE: Overview = Overview {
    name: "pendulum",
    title: "Angle and lateness",
    fits,
    about: |_| {
        "Above, the angle from upright; below, how late the motor was set, on a log scale. Bands reach from the smallest to the \
         largest sample of each pixel. A vertical line marks a fall."
            .into()
    },
    draw: |chapter| vec![draw(chapter)],
    table,
};

/// The most columns of all bands together; [`ALL_ROWS`] is the most rows of the table.
const ALL_COLUMNS: usize = 4_000;
const ALL_ROWS: usize = 200;

/// The motion of one system: its angle and its lateness.
struct Motion<'s, 'a> {
    slot: usize,
    system: &'s str,
    angle: (&'s Section<'a>, &'s Curve<'a>),
    lateness: (&'s Section<'a>, &'s Curve<'a>),
}

/// Returns whether a system has both angle and lateness as ordered samples.
pub fn fits(chapter: &Chapter) -> bool {
    !motions(chapter).is_empty()
}

fn motions<'c, 's: 'c, 'a>(chapter: &'c Chapter<'s, 'a>) -> Vec<Motion<'c, 'a>> {
    // The angle is the quantity with a bound, and the lateness is the periodic quantity. Options of the probe make separate rows: the first
    // row of each kind is drawn.
    let row = |of: fn(&Quantity) -> bool| {
        chapter.rows.iter().find(|row| chapter.section(row).and_then(|section| section.declared).is_some_and(of))
    };
    let (Some(angles), Some(late)) = (row(|q| q.bound.is_some()), row(|q| q.periodic)) else { return Vec::new() };
    let (Some(angle), Some(lateness)) = (chapter.section(angles), chapter.section(late)) else { return Vec::new() };
    let ordered = |series: &&Curve| series.tracks().any(|track| !track.samples.is_empty());
    let motion = |(slot, system): (usize, &'c String)| {
        let of = |series: &[Option<&'s Curve<'a>>]| series.get(slot).copied().flatten().filter(ordered);
        Some(Motion { slot, system, angle: (angle, of(&angles.series)?), lateness: (lateness, of(&late.series)?) })
    };
    chapter.systems.iter().take(SHOWN).enumerate().filter_map(motion).collect()
}

/// Returns seconds since the first slot and value, of all threads and repeats overlaid.
fn points<'s>(series: &'s Curve) -> impl Iterator<Item = (f64, f64)> + 's {
    let of = |track: &'s Track| track.samples.iter().map(|p| (p.at_ns as f64 / 1e9, p.value as f64));
    series.tracks().flat_map(of)
}

impl Motion<'_, '_> {
    /// Returns the times of falls, in seconds since the first slot, once per repeat, ascending.
    fn falls(&self) -> Vec<f64> {
        let fell = |track: &Track| {
            let fell = track.facts.get("fell").is_some_and(|fell| *fell > 0);
            track.facts.get("fell_at_ns").filter(|_| fell).map(|at| *at as f64 / 1e9)
        };
        let of = |series: &Curve| series.tracks().filter_map(fell).collect::<Vec<_>>();
        let mut falls = of(self.angle.1);
        if falls.is_empty() {
            falls = of(self.lateness.1);
        }
        falls.sort_by(f64::total_cmp);
        falls
    }

    /// Returns a phrase on the outcome.
    fn outcome(&self) -> String {
        let falls = self.falls();
        let repeats = self.angle.1.configuration.repeats.len().max(falls.len());
        match (falls.first(), repeats) {
            (None, _) => "kept upright".into(),
            (Some(at), 1) => format!("fell at {}", words::clock((*at * 1e9) as u64)),
            (Some(at), n) => {
                format!("fell in {} of {n} runs, first at {}", falls.len(), words::clock((*at * 1e9) as u64))
            }
        }
    }
}

fn draw(chapter: &Chapter) -> Drawing {
    let motions = motions(chapter);
    let (left, right) = (92.0, chapter.width() - 18.0);
    let names = 16.0 * motions.len() as f64;
    let above = Frame { left, right, top: names + 12.0, bottom: names + 182.0 };
    let below = Frame { left, right, top: above.bottom + 16.0, bottom: above.bottom + 186.0 };
    let mut svg = Svg::new(chapter.width(), below.bottom + 44.0);
    let columns = (ALL_COLUMNS / (2 * motions.len().max(1))).clamp(60, 900);
    let ends = motions.iter().flat_map(|m| points(m.angle.1).chain(points(m.lateness.1)).map(|p| p.0).chain(m.falls()));
    let end = ends.fold(0.0, f64::max);
    let x = AxisScale::linear(0.0, end, left, right);
    let reach = range(motions.iter().flat_map(|m| points(m.angle.1)).map(|p| p.1));
    let reach = reach.map_or(1e3, |(low, high)| low.abs().max(high.abs()).max(1e3)) * 1.05;
    let angle = AxisScale::linear(-reach, reach, above.bottom, above.top);
    let lateness =
        AxisScale::log_over(motions.iter().flat_map(|m| points(m.lateness.1)).map(|p| p.1), below.bottom, below.top);
    let ticks = time_axis(&x);
    above.x_axis(&mut svg, &ticks.iter().map(|(at, _)| (*at, String::new())).collect::<Vec<_>>(), "");
    below.x_axis(&mut svg, &ticks, "time since the first slot");
    if let Some(first) = motions.first() {
        above.value_y_axis(&mut svg, &angle, first.angle.0, &first.angle.0.short_name(), 7);
        below.value_y_axis(&mut svg, &lateness, first.lateness.0, &first.lateness.0.short_name(), 7);
    }
    let outcomes = motions.iter().map(|motion| text_width(&motion.outcome(), 12.0)).fold(0.0, f64::max);
    let systems: Vec<&str> = motions.iter().map(|motion| motion.system).collect();
    let names = apart(&systems, NAME_SIZE, right - left - outcomes - 40.0);
    for (row, (motion, name)) in motions.iter().zip(&names).enumerate() {
        svg.open_series(motion.slot);
        Envelope::of(points(motion.angle.1), 0.0, end, columns).draw(&mut svg, &x, &angle);
        Envelope::of(points(motion.lateness.1), 0.0, end, columns).draw(&mut svg, &x, &lateness);
        for at in motion.falls() {
            svg.line("fall", (x.at(at), above.top), (x.at(at), below.bottom));
        }
        let said = motion.outcome();
        let y = 12.0 + 16.0 * row as f64;
        svg.marker(motion.slot, (left + 5.0, y - 4.0), "");
        svg.text("name", (left + 16.0, y), Anchor::Start, &format!("{name}: {said}"));
        svg.close();
    }
    let said = motions.iter().map(|m| {
        let value = |(section, series): (&Section, &Curve)| series.max().map(|v| section.value(v)).unwrap_or_default();
        format!("{}: {}, largest angle {}, latest {}", m.system, m.outcome(), value(m.angle), value(m.lateness))
    });
    let description = format!("{}.", said.collect::<Vec<_>>().join("; "));
    svg.finish(None, &format!("{}: angle and lateness over time", chapter.title()), &description).named()
}

fn table(chapter: &Chapter) -> Sheet {
    let motions = motions(chapter);
    let most = (ALL_ROWS / motions.len().max(1)).clamp(4, 60);
    let end = motions.iter().flat_map(|m| points(m.angle.1)).map(|p| p.0).fold(0.0, f64::max);
    let step = (end / most as f64).max(1e-9);
    let mut rows = Vec::new();
    for motion in &motions {
        let angles = Envelope::of(points(motion.angle.1), 0.0, end, most);
        let late = Envelope::of(points(motion.lateness.1), 0.0, end, most);
        for (i, (angle, late)) in angles.columns().iter().zip(late.columns()).enumerate() {
            rows.push(vec![
                Datum::Text(motion.system.to_owned()),
                Datum::Text(words::clock((step * i as f64 * 1e9) as u64)),
                Datum::value(angle.map(|r| r.0)),
                Datum::value(angle.map(|r| r.1)),
                Datum::value(late.map(|r| r.0)),
                Datum::value(late.map(|r| r.1)),
            ]);
        }
    }
    let head = ["system", "from", "least angle", "largest angle", "least lateness", "largest lateness"];
    let mean = |(_, series): (&Section, &Curve)| series.pooled.summary.mean;
    let unit = |stored: Option<&str>, typical: Vec<f64>| Some(Unit::fitting(stored?, typical.into_iter()));
    let first = motions.first();
    let angle = unit(first.map(|m| m.angle.0.unit), motions.iter().filter_map(|m| mean(m.angle)).collect());
    let late = unit(first.map(|m| m.lateness.0.unit), motions.iter().filter_map(|m| mean(m.lateness)).collect());
    let units = vec![None, None, angle.clone(), angle, late.clone(), late];
    Sheet {
        units: Some(Units::PerColumn(units)),
        ..Sheet::plain(format!("{} over time", chapter.title()), head.map(Head::from).into(), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::calls,
        tree::{chapters, sections},
    };

    #[test]
    fn a_fall_is_marked_and_said() {
        let all = calls::pendulum();
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let motions = motions(&chapters[0]);
        assert_eq!(motions[0].outcome(), "kept upright");
        assert_eq!(motions[1].outcome(), "fell at 12.000 s");
        let drawing = draw(&chapters[0]);
        assert_eq!(drawing.body.matches("class=\"fall\"").count(), 1);
        assert_eq!(drawing.body.matches("class=\"band\"").count(), 4, "two series in two plots");
        assert!(drawing.inline().len() < 80_000, "{}", drawing.inline().len());
    }

    /// Only the ordered samples have the sign of the angle.
    #[test]
    fn angles_have_both_signs() {
        let all = calls::pendulum();
        let sections = sections(&all);
        let chapters = chapters(&sections);
        let (low, high) = range(points(motions(&chapters[0])[0].angle.1).map(|p| p.1)).unwrap();
        assert!(low < 0.0 && high > 0.0, "{low} {high}");
        assert!(table(&chapters[0]).rows.iter().any(|row| row[2].raw().starts_with('-')));
    }

    #[test]
    fn other_probes_have_no_such_figure() {
        let all = calls::compute(&[4], 10);
        let sections = sections(&all);
        assert!(!fits(&chapters(&sections)[0]));
    }
}
