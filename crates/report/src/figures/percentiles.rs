//! The latency that a share of the samples stays below: each decade to the right is ten times rarer.

use super::{
    Chart,
    axis::AxisScale,
    frame::{Frame, is_narrow, spread},
    svg::{Anchor, Drawing, NAME_SIZE, Pen, Svg, apart, text_width},
    thin::seen,
};
use crate::{
    tables::summary::quantile_name,
    tree::{Curve, Datum, Section, Sheet},
};
use latido_model::record::QUANTILES;

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "percentiles",
    title: "Percentiles",
    fits: |section| section.has_samples(),
    about: |_| {
        "At each percentile, the curve is the value that this share of the samples does not exceed. Curves end at their maximum.".into()
    },
    draw: |section| wide(section, section.width),
    table,
};

const POINTS_PER_DECADE: f64 = 14.0;

/// Returns the quantiles of a series as (decades of rarity, value). Each is an order statistic, and the last is the exact maximum.
fn curve(series: &Curve) -> Vec<(f64, f64)> {
    let total: u64 = series.buckets.iter().map(|b| b.1).fold(0, u64::saturating_add);
    let (Some(min), Some(max)) = (series.min(), series.max()) else { return Vec::new() };
    let n = total.max(1) as f64;
    let end = n.log10();
    let mut points = vec![(0.0, min)];
    let (mut below, mut step) = (0u64, 1.0);
    for (value, count) in &series.buckets {
        below = below.saturating_add(*count);
        // Adds every wanted quantile whose rank falls into this bucket.
        while step / POINTS_PER_DECADE < end {
            let rarity = step / POINTS_PER_DECADE;
            if (n * (1.0 - 10f64.powf(-rarity))).ceil() > below as f64 {
                break;
            }
            points.push((rarity, value.max(min).min(max)));
            step += 1.0;
        }
    }
    points.push((end, max));
    points
}

/// Returns the percentile at this number of decades: `0`, `90`, `99`, `99.9`.
fn percent(decades: usize) -> String {
    match decades {
        0 => "0".into(),
        1 => "90".into(),
        2 => "99".into(),
        d => format!("99.{}", "9".repeat(d - 2)),
    }
}

/// Draws the figure in this width.
pub(super) fn wide(section: &Section, width: f64) -> Vec<Drawing> {
    vec![draw(section, width)]
}

fn draw(section: &Section, width: f64) -> Drawing {
    let shown = section.shown();
    let curves: Vec<_> = shown.iter().map(curve).collect();
    let decades = curves.iter().filter_map(|c| c.last()).map(|p| p.0).fold(2.0, f64::max);
    // In a column of a paper, only the legend names the series.
    let narrow = is_narrow(section.width);
    let names = apart(&section.names(), NAME_SIZE, width / 5.0);
    let widest = names.iter().map(|n| text_width(n, NAME_SIZE)).fold(0.0, f64::max);
    let right = width - if narrow { 16.0 } else { widest + 34.0 };
    let frame = Frame { left: 76.0, right, top: 12.0, bottom: if narrow { 192.0 } else { 292.0 } };
    let mut svg = Svg::new(width, frame.bottom + 44.0);
    let x = AxisScale::linear(0.0, decades, frame.left, frame.right);
    let y = AxisScale::log_over(curves.iter().flatten().map(|p| p.1), frame.bottom, frame.top);

    let mut ticks: Vec<_> = (0..=decades.floor() as usize).map(|d| (x.at(d as f64), percent(d))).collect();
    ticks.insert(1, (x.at(2f64.log10()), "50".into()));
    frame.x_axis(&mut svg, &ticks, &format!("percentile of the {} (%)", crate::words::plural(section.noun())));
    frame.value_y_axis(&mut svg, &y, section, section.quantity, 12);
    frame.limits_across(&mut svg, &y, section, true);
    if curves.iter().all(Vec::is_empty) {
        frame.nothing(&mut svg, "no samples");
    }
    let ends: Vec<(f64, f64)> = curves.iter().filter_map(|c| c.last()).map(|(d, v)| (x.at(*d), y.at(*v))).collect();
    let mut labels =
        spread(&ends.iter().map(|e| e.1).collect::<Vec<_>>(), 15.0, frame.top + 2.0, frame.bottom).into_iter();
    for (slot, (curve, name)) in curves.iter().zip(&names).enumerate() {
        let Some(&(rarest, largest)) = curve.last() else { continue };
        svg.open_series(slot);
        let mut pen = Pen::default();
        for (i, at) in seen(curve.iter().map(|(d, v)| (x.at(*d), y.at(*v)))).into_iter().enumerate() {
            if i == 0 { pen.go(at.0, at.1) } else { pen.line(at.0, at.1) }
        }
        svg.path("curve", &pen);
        let end = (x.at(rarest), y.at(largest));
        let label = labels.next().unwrap_or(end.1);
        let beside = frame.right + 16.0;
        if !narrow {
            svg.line("lead", end, (beside - 2.0, label));
        }
        svg.marker(
            slot,
            end,
            &format!("{}: maximum {}", shown.get(slot).map_or("", |s| &s.name), section.value(largest)),
        );
        if !narrow {
            svg.text("name", (beside, label + 4.0), Anchor::Start, name);
        }
        svg.close();
    }
    let said = shown.iter().map(|s| {
        let said = |key: &str| s.quantile(key).map_or("unknown (too few samples)".into(), |v| section.value(v));
        format!("{}: median {}, 99.9 % below {}", s.name, said("0.5"), said("0.999"))
    });
    let description = said.collect::<Vec<_>>().join("; ");
    let drawing = svg.finish(None, &format!("{}: percentiles", section.title()), &format!("{description}."));
    if narrow { drawing } else { drawing.named() }
}

fn table(section: &Section) -> Sheet {
    let shown = section.shown();
    let cell = |series: &Curve, key: &str| match series.quantile(key) {
        Some(v) => Datum::Value(v),
        None if series.pooled.summary.count > 0 => Datum::TooFew,
        None => Datum::Absent,
    };
    let mut rows: Vec<Vec<Datum>> = QUANTILES
        .iter()
        .map(|(key, _)| {
            let name = Datum::Text(quantile_name(key));
            std::iter::once(name).chain(shown.iter().map(|s| cell(s, key))).collect()
        })
        .collect();
    let whole = |name: &str, figure: fn(&Curve) -> Option<f64>| {
        let name = Datum::Text(name.into());
        std::iter::once(name).chain(shown.iter().map(|s| Datum::value(figure(s)))).collect::<Vec<_>>()
    };
    rows.insert(0, whole("min", |s| s.min()));
    rows.push(whole("max", |s| s.max()));
    let typical: Vec<f64> = shown.iter().flat_map(|s| [s.quantile("0.5"), s.max()]).flatten().collect();
    let head = std::iter::once("percentile".into()).chain(shown.iter().map(|s| s.name.clone().into()));
    Sheet::new(format!("{}, percentiles", section.title()), head.collect(), rows, section.unit, &typical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, tree::sections};

    #[test]
    fn the_curve_rises_from_minimum_to_maximum() {
        let all = [sample::of("x", &(1..=1_000).map(|i| i * 1_000).collect::<Vec<_>>(), None)];
        let sections = sections(&all);
        let curve = curve(&sections[0].series[0]);
        assert_eq!((curve[0], *curve.last().unwrap()), ((0.0, 1_000.0), (3.0, 1e6)));
        assert!(curve.windows(2).all(|p| p[0].0 <= p[1].0 && p[0].1 <= p[1].1));
        let p90 = curve.iter().find(|p| (p.0 - 1.0).abs() < 1e-9).unwrap();
        assert!((p90.1 / 900_000.0 - 1.0).abs() < 1e-3, "{p90:?}");
    }

    #[test]
    fn one_sample_is_a_point_and_none_is_nothing() {
        let all = [sample::of("x", &[5_000], None), sample::empty("y")];
        let sections = sections(&all);
        assert_eq!(curve(&sections[0].series[0]), [(0.0, 5_000.0), (0.0, 5_000.0)]);
        assert!(curve(&sections[0].series[1]).is_empty());
    }
}
