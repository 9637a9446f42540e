//! The effect of each factor of a factorial on the maxima of the repeats: a ratio with its interval, one row per effect.

use super::{
    Chart,
    ratios::{self, Ratio},
    svg::Drawing,
};
use crate::tree::{Curve, Datum, Head, Section, Sheet};
use latido_judge::{
    factors::{self, Factors, Valued, fit},
    observed::columns,
    repeat::Repeat,
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

/// Returns the maximum of each repeat with the levels of its factors.
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

/// Fits the effects, or returns the reason why there are none.
fn fitted(section: &Section) -> Result<Effects, String> {
    let factors = factors_of(section);
    if factors.names.len() < 2 {
        return Err("there are fewer than two factors".into());
    }
    fit::fit(&factors)
}

fn about(section: &Section) -> String {
    let means = "Log scale. By which ratio a factor changes the maximum of a repeat, averaged over the other factors (least \
                 squares on logarithms); with ×: by which ratio one factor changes the effect of another.";
    let sure = match fitted(section) {
        Ok(Effects { freedom: 0, .. }) => {
            "There are too few repeats: the fit leaves no degree of freedom, so the effects have no intervals."
        }
        Ok(_) => "Lines are 95 % intervals; an effect whose line crosses 1 may be chance.",
        Err(_) => "",
    };
    format!("{means} {sure}").trim_end().to_owned()
}

/// Returns the name of an effect: `rt: on / off`, `kernel: rt / stock`, `rt × isolated`.
fn name(effect: &Effect) -> String {
    match (effect.factors.as_slice(), effect.levels.as_slice(), &effect.relative_to) {
        ([factor], [level], Some(base)) => format!("{factor}: {level} / {base}"),
        _ => effect.factors.join(" × "),
    }
}

fn draw(section: &Section) -> Drawing {
    picture(&section.title(), section.width, &fitted(section))
}

/// Draws the effects, or the reason why there are none, in this width in pixels.
pub(super) fn picture(of: &str, width: f64, fitted: &Result<Effects, String>) -> Drawing {
    let row = |effect: &Effect| Ratio { name: name(effect), value: effect.ratio, interval: effect.interval };
    let rows = fitted.as_ref().map(|effects| effects.contrasts.iter().map(row).collect::<Vec<_>>());
    let rows = rows.map_err(|why| format!("No effects: {why}"));
    ratios::picture(&format!("{of}: effects of the factors"), "times as large", width, rows)
}

fn table(section: &Section) -> Sheet {
    sheet(&section.title(), &fitted(section))
}

/// Returns the same data as a table.
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
    use crate::{sample, tree::sections};
    use latido_judge::configuration::Configuration;

    /// Returns a configuration under a kernel and a load whose repeats have these maxima, in us.
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

    /// The fit finds a factor that halves the maximum, with its interval. Without repeats there is no interval, and a missing combination
    /// is named.
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
        assert!((FIGURE.about)(&sections(&once)[0]).contains("effects have no intervals"));

        let holed = sections(&whole[..3]);
        assert!((FIGURE.fits)(&holed[0]));
        let said = draw(&holed[0]).description;
        assert!(said.contains("rt/busy not measured") || said.contains("on/busy not measured"), "{said}");
    }

    /// A single axis of loads is not a factorial.
    #[test]
    fn one_axis_is_no_factorial() {
        let all = sample::configurations(3);
        assert!(!(FIGURE.fits)(&sections(&all)[0]));
    }
}
