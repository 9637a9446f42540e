//! What each factor of a factorial does to the maxima of the repeats: a ratio with its interval, a row for each effect.

use super::{
    Chart,
    axis::AxisScale,
    frame::{Frame, WIDTH},
    svg::{Anchor, Drawing, Svg, fit},
};
use crate::{
    factors::{self, Factors, Valued, fit},
    judge::repeat::Repeat,
    observed::columns,
    tree::{Curve, Datum, Head, Section, Sheet},
    words,
};
use latido_statistics::factorial::{Effect, Effects};

/// The list entry.
pub const FIGURE: Chart = Chart {
    name: "effects",
    title: "Effects of the factors",
    fits: |section| factors_of(section).is_factorial(),
    about,
    draw: |section| vec![draw(section)],
    table,
};

/// The height of a row.
const ROW: f64 = 24.0;

/// The maximum of each repeat with what it was measured under.
fn values(section: &Section) -> Vec<Valued> {
    let of_curve = |curve: &Curve| {
        let own = |repeat: &Repeat| {
            let found = repeat.quantities.iter().find(|one| one.pooled.key() == curve.pooled.key());
            found.and_then(|one| one.pooled.summary.max).map(|max| max as f64)
        };
        let mut columns = columns(&curve.configuration.cell, &curve.configuration.machine.kernel);
        columns.retain(|(name, _)| name != "limit");
        let repeats = curve.configuration.repeats.iter();
        let value = |repeat: &Repeat| {
            let block = format!("{} {}", repeat.run, repeat.repeat);
            Some(Valued { columns: columns.clone(), block, value: own(repeat)? })
        };
        repeats.filter_map(value).collect::<Vec<_>>()
    };
    section.series.iter().flat_map(of_curve).collect()
}

fn factors_of(section: &Section) -> Factors {
    factors::of(&values(section))
}

/// The effects, or why there are none.
fn fitted(section: &Section) -> Result<Effects, String> {
    let factors = factors_of(section);
    if factors.names.len() < 2 {
        return Err("there are not two factors".into());
    }
    fit::fit(&factors)
}

fn about(section: &Section) -> String {
    let means = "Log scale. How many times as large a factor makes the maximum of a repeat, averaged over the others (least \
                 squares on logarithms); with × by how much one multiplies the effect of another.";
    let sure = match fitted(section) {
        Ok(Effects { freedom: 0, .. }) => {
            "There are no repeats beyond what the effects take: effects without intervals."
        }
        Ok(_) => "Lines are 95 % intervals; one that reaches over 1 may be nothing.",
        Err(_) => "",
    };
    format!("{means} {sure}").trim_end().to_owned()
}

/// `rt: on / off`, `kernel: rt / stock`, `rt × isolated`.
fn name(effect: &Effect) -> String {
    match (effect.factors.as_slice(), effect.levels.as_slice(), &effect.relative_to) {
        ([factor], [level], Some(base)) => format!("{factor}: {level} / {base}"),
        _ => effect.factors.join(" × "),
    }
}

fn draw(section: &Section) -> Drawing {
    picture(&section.title(), &fitted(section))
}

/// The picture of effects, or of the reason why there are none.
pub(super) fn picture(of: &str, fitted: &Result<Effects, String>) -> Drawing {
    let title = format!("{of}: effects of the factors");
    let effects = match fitted {
        Ok(effects) => &effects.contrasts,
        Err(why) => {
            let mut svg = Svg::new(WIDTH, 70.0);
            let frame = Frame { left: 20.0, right: WIDTH - 20.0, top: 10.0, bottom: 60.0 };
            svg.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
            frame.nothing(&mut svg, &fit(&format!("No effects: {why}"), 11.5, WIDTH - 60.0));
            return svg.finish(None, &title, &format!("No effects: {why}."));
        }
    };
    let (left, right) = (420.0, WIDTH - 200.0);
    let frame = Frame { left, right, top: 8.0, bottom: 8.0 + ROW * effects.len() as f64 };
    let reach = effects
        .iter()
        .flat_map(|one| [one.ratio, one.interval.map_or(one.ratio, |i| i.0), one.interval.map_or(one.ratio, |i| i.1)]);
    // As far to the left of 1 as to the right; what lies further than a thousand times is at the edge.
    let far = reach.map(|ratio| ratio.ln().abs()).filter(|far| far.is_finite()).fold(1.25_f64.ln(), f64::max);
    let far = (far * 1.06).min(1e3_f64.ln()).exp();
    let x = AxisScale::log(1.0 / far, far, frame.left, frame.right);
    let mut svg = Svg::new(WIDTH, frame.bottom + 44.0);
    let ticks: Vec<(f64, String)> = x.ticks(9).into_iter().map(|v| (x.at(v), words::trimmed(v))).collect();
    frame.x_axis(&mut svg, &ticks, "times as large");
    svg.line("usual", (x.at(1.0), frame.top), (x.at(1.0), frame.bottom));
    let mut said = Vec::new();
    for (at, effect) in effects.iter().enumerate() {
        let y = frame.top + ROW * (at as f64 + 0.5);
        let sure = effect.interval.is_none_or(|(low, high)| low > 1.0 || high < 1.0);
        let text = amount(effect);
        if let Some((low, high)) = effect.interval {
            svg.line("solid", (x.at(low), y), (x.at(high), y));
        }
        svg.marker(if sure { 0 } else { 1 }, (x.at(effect.ratio), y), &format!("{}: {text}", name(effect)));
        let class = if sure { "head" } else { "tick" };
        svg.text(class, (frame.left - 12.0, y + 4.0), Anchor::End, &fit(&name(effect), 12.0, frame.left - 24.0));
        svg.text("tick", (frame.right + 12.0, y + 4.0), Anchor::Start, &text);
        said.push(format!("{}: {text}", name(effect)));
    }
    svg.finish(None, &title, &format!("{}.", said.join("; ")))
}

/// `0.31 (0.25 to 0.39)`.
fn amount(effect: &Effect) -> String {
    let number = |v: f64| if (1e-3..1e4).contains(&v) { words::plain(v) } else { format!("{v:.0e}") };
    match effect.interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
        Some((low, high)) => format!("{} ({} to {})", number(effect.ratio), number(low), number(high)),
        None => number(effect.ratio),
    }
}

fn table(section: &Section) -> Sheet {
    sheet(&section.title(), &fitted(section))
}

/// The same as a table.
pub(super) fn sheet(of: &str, fitted: &Result<Effects, String>) -> Sheet {
    let number = |v: Option<f64>| v.filter(|v| v.is_finite()).map_or(Datum::Absent, |v| Datum::Text(format!("{v:.4}")));
    let row = |effect: &Effect| {
        vec![
            Datum::Text(name(effect)),
            number(Some(effect.ratio)),
            number(effect.interval.map(|i| i.0)),
            number(effect.interval.map(|i| i.1)),
            number(effect.p),
        ]
    };
    let (rows, remark) = match fitted {
        Ok(effects) => (effects.contrasts.iter().map(row).collect(), String::new()),
        Err(why) => (Vec::new(), format!("; none: {why}")),
    };
    let head = ["effect", "ratio", "from", "to", "p"].map(Head::from).into();
    Sheet::plain(format!("{of}, effects on the maximum of a repeat"), head, rows).remark(remark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge::configuration::Configuration, sample, tree::sections};

    /// A configuration under a kernel and a load whose repeats have these maxima, in us.
    fn cell(kernel: &str, load: &str, maxima: &[i64]) -> Configuration {
        let once = |max: &i64| sample::of(load, &[1_000, max * 1_000], None);
        let mut all = maxima.iter().map(once);
        let mut first = all.next().unwrap();
        first.repeats.extend(all.flat_map(|one| one.repeats));
        first.repeats.iter_mut().zip(1..).for_each(|(repeat, number)| repeat.repeat = number);
        first.cell.kernel = kernel.into();
        (first.label, first.short) = (format!("{kernel}, {load}"), format!("{kernel}, {load}"));
        first
    }

    /// A factor that halves is found with its interval; without repeats there is none, and a hole is named.
    #[test]
    fn a_factorial_has_effects() {
        let maxima = |times: i64| [100 * times, 110 * times, 95 * times];
        let all = [("stock", "idle", 4), ("stock", "busy", 12), ("rt", "idle", 2), ("rt", "busy", 6)];
        let whole: Vec<Configuration> =
            all.map(|(kernel, load, times)| cell(kernel, load, &maxima(times))).into_iter().collect();
        let of = sections(&whole);
        assert!((FIGURE.fits)(&of[0]));
        let effects = fitted(&of[0]).unwrap();
        let found: Vec<(String, f64)> = effects.contrasts.iter().map(|one| (name(one), one.ratio)).collect();
        let near = |at: usize, wanted: f64| (found[at].1 / wanted - 1.0).abs() < 1e-9;
        assert!(near(0, 0.5) && near(1, 3.0) && near(2, 1.0), "{found:?}");
        assert_eq!((found[0].0.as_str(), found[2].0.as_str()), ("kernel: rt / stock", "kernel × load"));
        assert!(effects.contrasts[0].interval.is_some());
        assert_eq!(draw(&of[0]).body.matches("<use").count(), 3);

        let once: Vec<Configuration> =
            all.map(|(kernel, load, times)| cell(kernel, load, &maxima(times)[..1])).into_iter().collect();
        assert!((FIGURE.about)(&sections(&once)[0]).contains("effects without intervals"));

        let holed = sections(&whole[..3]);
        assert!((FIGURE.fits)(&holed[0]));
        let said = draw(&holed[0]).description;
        assert!(said.contains("rt/busy not measured") || said.contains("on/busy not measured"), "{said}");
    }

    /// Loads alone are no factorial.
    #[test]
    fn one_axis_is_no_factorial() {
        let all = sample::configurations(3);
        assert!(!(FIGURE.fits)(&sections(&all)[0]));
    }
}
