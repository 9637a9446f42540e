//! One run as text.

use crate::{
    terminal::{Paint, Style, hang, paint, table},
    words::{self, Unit},
};
use latido_judge::{
    extremes::{limit::Limit, seen::chance, tail},
    numbers::one::{One, Quantile},
};
use latido_statistics::tail::gate::{Decision, Verdict};
use table::TextColumn;

/// From this design effect on, latido reports the basis of the limits of quantiles. Below it, the limits are at most twice as wide as those
/// of independent values.
const CROWDED: f64 = 4.0;

/// Returns the text for people.
pub fn text(one: &One, name: &str, style: Style) -> String {
    let typical = one.quantiles.first().and_then(|median| median.value).unwrap_or(one.max) as f64;
    let unit = Unit::fitting("ns", [typical.abs()].into_iter());
    let of = |value: f64| format!("{} {}", unit.text(value), unit.name);
    let mut lines = vec![paint(&title(one, name), Paint::Bold, style)];
    let sd = one.sd.map_or_else(|| "sd: one value has none".into(), |sd| format!("sd {}", of(sd)));
    let (min, mean, max) = (of(one.min as f64), of(one.mean), of(one.max as f64));
    lines.push(format!("min {min}, mean {mean}, {sd}, max {max}"));
    lines.push(String::new());
    lines.extend(table::render(quantile_columns(one, &unit), style));
    if let Some(text) = crowds(one) {
        lines.extend(hang("limits:", Paint::Warn, &text, style));
    }
    lines.push(String::new());
    if let Some(limit) = &one.limit {
        lines.extend(limit_lines(limit, style));
    }
    lines.extend(hang("maximum:", Paint::Dim, &beside_the_maximum(one, of(one.max as f64)), style));
    lines.extend(tail_lines(&one.tail, &of, style));
    lines.join("\n") + "\n"
}

/// Returns the basis of the limits of quantiles where values are clustered.
fn crowds(one: &One) -> Option<String> {
    let worst = one.quantiles.iter().max_by(|a, b| a.design_effect.total_cmp(&b.design_effect))?;
    let own = words::trimmed(worst.p * 100.0);
    let independent = words::count((one.count as f64 / worst.design_effect) as u64);
    (worst.design_effect >= CROWDED).then(|| {
        format!(
            "values come in clusters: p{own} has the limits of {independent} independent values. If the run has fewer than ten \
             stretches of a state of the system, the limits are too narrow"
        )
    })
}

fn title(one: &One, name: &str) -> String {
    let count = words::many(one.count, "value");
    match (one.interval_ns, one.length_s) {
        (Some(interval), Some(length)) => {
            let interval = latido_model::units::Ns(interval);
            format!("{name}: {count}, one every {interval}: {}", words::roughly(length).replace('\u{a0}', " "))
        }
        _ => format!("{name}: {count}"),
    }
}

fn quantile_columns(run: &One, unit: &Unit) -> Vec<TextColumn> {
    let each = |text: &dyn Fn(&Quantile) -> String| run.quantiles.iter().map(text).collect::<Vec<_>>();
    let right = |name: &str, cells| TextColumn { name: name.into(), cells, ..TextColumn::default() };
    let of = |value: i64| unit.text(value as f64);
    let too_small = |one: &Quantile| match one.needed.filter(|needed| *needed > run.count) {
        Some(needed) => format!("n too small ({})", words::count(needed)),
        None => "n too small".into(),
    };
    let rank = |rank: Option<u64>| rank.map_or_else(|| "-".into(), |rank| rank.to_string());
    vec![
        TextColumn::text("quantile", each(&|one| format!("p{}", words::trimmed(one.p * 100.0)))),
        right(&unit.name, each(&|one| one.value.map_or_else(|| "too few".into(), of))),
        right("at least", each(&|one| one.lower.map_or_else(|| "n too small".into(), of))),
        right("at most", each(&|one| one.upper.map_or_else(|| too_small(one), of))),
        right("rank", each(&|one| rank(one.value.map(|_| one.ranks.rank)))).spare(1),
        right("from", each(&|one| rank(one.ranks.lower))).spare(1),
        right("to", each(&|one| rank(one.ranks.upper))).spare(1),
    ]
}

fn beside_the_maximum(one: &One, max: String) -> String {
    let roughly = |seconds| words::roughly(seconds).replace('\u{a0}', " ");
    match (&one.seen, one.length_s) {
        (Some(seen), Some(length)) => format!(
            "{max}; a cause that strikes once a day was missed with probability {} in {}; to see it with 95 % \
             takes {}",
            chance(seen.missed_once_a_day),
            roughly(length),
            roughly(seen.needed_s)
        ),
        _ => {
            format!(
                "{max}; how rare a cause the values could show is not known: give the time between two values with --interval"
            )
        }
    }
}

fn limit_lines(limit: &Limit, style: Style) -> Vec<String> {
    let label = format!("above {}:", words::value(limit.limit as f64, "ns").replace('\u{a0}', " "));
    let tone = if limit.samples.above > 0 { Paint::Warn } else { Paint::Good };
    hang(&label, tone, &limit.sentence(), style)
}

fn tail_lines(answer: &tail::Answer, of: &impl Fn(f64) -> String, style: Style) -> Vec<String> {
    let found = match answer {
        tail::Answer::Refused { refused, .. } => return hang("tail:", Paint::Dim, &format!("none: {refused}"), style),
        tail::Answer::Fitted(found) => found,
    };
    let open = |limit: Option<f64>| limit.map_or_else(|| "open".into(), |xi| format!("{xi:.3}"));
    let fit = format!(
        "{} above u = {}: xi = {:.3} ({} to {}), sigma = {}, log-likelihood {:.2}",
        words::many(found.k, if found.k == found.exceedances { "value" } else { "burst" }),
        of(found.u as f64),
        found.xi.value,
        open(found.xi.lower),
        open(found.xi.upper),
        of(found.sigma),
        found.log_likelihood
    );
    let mut lines = hang("tail:", Paint::Dim, &fit, style);
    let (tone, gate) = match found.gate.verdict {
        Verdict::Accepted => (Paint::Good, "open: no test found more than one cause among the largest values"),
        Verdict::IntervalCensored => (Paint::Good, "open: the values are in steps, and were fitted as bins"),
        Verdict::Refused => (Paint::Warn, "shut: no levels are given"),
    };
    lines.extend(hang("gate:", tone, gate, style));
    let decision = |decision| match decision {
        Decision::Passed => "  passed",
        Decision::Adapted => "  adapted",
        Decision::Refused => "  refused",
    };
    let width = found.gate.tests.iter().map(|test| test.name.len()).max().unwrap_or(0);
    for test in &found.gate.tests {
        let tone = if test.decision == Decision::Refused { Paint::Bad } else { Paint::Dim };
        let label = format!("{:<9} {:<width$} ", decision(test.decision), test.name);
        lines.extend(hang(&label, tone, &test.reason, style));
    }
    if found.gate.verdict == Verdict::Refused {
        return lines;
    }
    for level in &found.levels {
        let text = match (&level.level, &level.refused) {
            (Some(found), _) => {
                let limit =
                    |limit: Option<f64>| limit.filter(|limit| limit.is_finite()).map_or_else(|| "open".into(), of);
                let (low, high) = (limit(found.lower), limit(found.upper));
                format!("{} ({low} to {high}), under the causes observed", of(found.value))
            }
            (None, why) => format!("not given: {}", why.as_deref().unwrap_or("no reason")),
        };
        lines.extend(hang(&format!("{}:", level.once), Paint::Dim, &text, style));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::text as said;
    use crate::terminal::Style;
    use latido_judge::numbers::one::{Question, of};

    /// A system that stays in each of two states for a twentieth of the run: few of 20,000 values are independent.
    #[test]
    fn limits_say_how_many_independent_values_they_rest_on() {
        let text = |state: &dyn Fn(i64) -> i64| {
            // Multiples of a prime modulo another prime look independent.
            let values: Vec<i64> = (0..20_000).map(|at| 10_000 + at * 7_919 % 1_009 + state(at)).collect();
            let found = of(&values, &Question { interval_ns: None, limit_ns: None, tail: None }).unwrap();
            said(&found, "x", Style { width: 300, color: false })
        };
        let told = text(&|at| at / 1_000 % 2 * 8_000);
        assert!(told.contains("values come in clusters: p") && told.contains("stretches of a state"), "{told}");
        assert!(!text(&|_| 0).contains("values come in clusters"));
    }

    /// Ten values support p50 and p90. The largest of them is no p99.
    #[test]
    fn a_quantile_of_too_few_values_is_not_printed() {
        let found = of(&(1_000..1_010).collect::<Vec<i64>>(), &Question::default()).unwrap();
        let told = said(&found, "x", Style { width: 300, color: false });
        let cells = |name: &str| -> Vec<&str> {
            let row = told.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
            row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
        };
        assert_eq!(cells("p90")[..2], ["p90", "1.01"], "{told}");
        assert_eq!(cells("p95")[..2], ["p95", "too few"], "{told}");
        assert_eq!(cells("p99")[..3], ["p99", "too few", "1.01"], "{told}");
    }
}
