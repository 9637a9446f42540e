//! The comparison of sides with one value per run, as text.

use super::{Kind, between, number, p_text};
use crate::{
    terminal::{Paint, Style, hang, paint, table},
    tree::{Datum, Head, Sheet},
    words,
};
use latido_judge::numbers::compare::{Against, Compared, Figures};
use latido_statistics::two::{Question, Scale, Verdict};
use table::TextColumn;

/// Returns the text for people.
pub fn text(compared: &Compared, name: &str, style: Style) -> String {
    let mut lines = vec![paint(name, Paint::Bold, style)];
    let column = |head: &str, of: &dyn Fn(&Figures) -> String| TextColumn {
        name: head.into(),
        cells: compared.arms.iter().map(of).collect(),
        ..TextColumn::default()
    };
    lines.extend(table::render(
        vec![
            TextColumn { left: true, ..column("side", &|arm| arm.arm.clone()) },
            column("runs", &|arm| arm.count.to_string()),
            column("min", &|arm| compared.unit.text(arm.min)),
            column("median", &|arm| compared.unit.text(arm.median)),
            column("mean", &|arm| compared.unit.text(arm.mean)),
            column("max", &|arm| compared.unit.text(arm.max)),
        ],
        style,
    ));
    for one in &compared.comparisons {
        lines.push(String::new());
        lines.extend(against_base(one, compared.unit, compared.comparisons.len(), style));
    }
    if let Some(alike) = compared.neighbours {
        let text = format!(
            "successive values are correlated ({alike:.2}), so they are not independent, and p is too small. \
             Alternate the sides run by run, and compare those runs"
        );
        lines.extend(hang("note:", Paint::Warn, &text, style));
    }
    lines.join("\n") + "\n"
}

/// Returns the sides and their verdicts as a table, with the test in a note.
pub fn sheet(compared: &Compared, name: &str) -> Sheet {
    let text = |value: f64| Datum::Text(compared.unit.text(value));
    let row = |arm: &Figures| {
        let against = compared.comparisons.iter().find(|one| one.arm == arm.arm);
        let of = |told: &dyn Fn(&Against) -> String| against.map_or(Datum::Absent, |one| Datum::Text(told(one)));
        let amount = |one: &Against, value: f64| match one.comparison.question.scale {
            Scale::Ratio => number(value),
            Scale::Difference => compared.unit.text(value),
        };
        let interval = |one: &Against| between(one.comparison.estimate.interval, |value| amount(one, value));
        vec![
            Datum::Text(arm.arm.clone()),
            Datum::Count(arm.count),
            text(arm.min),
            text(arm.median),
            text(arm.mean),
            text(arm.max),
            of(&|one| amount(one, one.comparison.estimate.value)),
            of(&|one| interval(one).unwrap_or_else(|| "too few runs".into())),
            of(&|one| p_text(one.p_holm)),
            of(&|one| word(&one.verdict).0.to_owned()),
        ]
    };
    let base = compared.comparisons.first().map_or("", |one| one.base.as_str());
    let ratio = compared.comparisons.iter().any(|one| one.comparison.question.scale == Scale::Ratio);
    let (over, what) =
        if ratio { ("ratio", "Ratio: the side divided by") } else { ("difference", "Difference: the side minus") };
    let head =
        ["side", "runs", "min", "median", "mean", "max", over, "95 % interval", "p", "verdict"].map(Head::from).into();
    let welch = match compared.comparisons.iter().any(|one| one.comparison.uneven.is_some()) {
        true => " Where the sides may spread differently, Welch's t test decides instead.",
        false => "",
    };
    let family = match compared.comparisons.len() {
        0 | 1 => String::new(),
        many => format!(", adjusted by Holm's method over {many} comparisons"),
    };
    let note = format!(
        "Test: exact two-sided Mann-Whitney test on one value per run, at {} %; p is that of the test{family}.{welch} {what} {base}, \
         by Hodges and Lehmann, with its 95 % interval. Lower is better.",
        words::trimmed(compared.level * 100.0),
    );
    Sheet::plain(format!("Comparison of {name}"), head, compared.arms.iter().map(row).collect()).notes([note])
}

/// Returns the same for programs: numbers in the unit of the values, and the test of each row.
pub fn data(compared: &Compared, name: &str) -> Sheet {
    let unit = if matches!(compared.unit, Kind::Ns) { "ns" } else { "" };
    let row = |arm: &Figures| {
        let against = compared.comparisons.iter().find(|one| one.arm == arm.arm);
        let interval = against.and_then(|one| one.comparison.estimate.interval);
        let text = |told: Option<&str>| told.map_or(Datum::Absent, |told| Datum::Text(told.to_owned()));
        let test = |one: &Against| if one.comparison.uneven.is_some() { "Welch" } else { "Mann-Whitney" };
        let scale = |one: &Against| match one.comparison.question.scale {
            Scale::Ratio => "ratio",
            Scale::Difference => "difference",
        };
        let figures = [arm.min, arm.median, arm.mean, arm.max].map(Datum::Value);
        let mut row = vec![Datum::Text(arm.arm.clone()), Datum::Count(arm.count)];
        row.extend(figures);
        row.extend([
            text(against.map(scale)),
            Datum::value(against.map(|one| one.comparison.estimate.value)),
            Datum::value(interval.map(|limits| limits.0)),
            Datum::value(interval.map(|limits| limits.1)),
            text(against.map(test)),
            Datum::value(against.map(|one| one.p_holm)),
            text(against.map(|one| word(&one.verdict).0)),
            Datum::Text(unit.into()),
        ]);
        row
    };
    let head = [
        "arm", "runs", "min", "median", "mean", "max", "scale", "estimate", "lower95", "upper95", "test", "p_holm",
        "verdict", "unit",
    ];
    Sheet::plain(format!("Comparison of {name}"), head.map(Head::from).into(), compared.arms.iter().map(row).collect())
}

/// Returns a verdict in a word, and what it means where lower is better.
pub fn word(verdict: &Verdict) -> (&'static str, Paint) {
    match verdict {
        Verdict::Lower => ("lower", Paint::Good),
        Verdict::Higher => ("higher", Paint::Bad),
        Verdict::Equivalent => ("equivalent", Paint::Good),
        Verdict::Undecided { .. } => ("undecided", Paint::Warn),
    }
}

fn against_base(against: &Against, unit: Kind, family: usize, style: Style) -> Vec<String> {
    let (word, tone) = word(&against.verdict);
    let reason =
        if let Verdict::Undecided { reason } = &against.verdict { format!(": {reason}") } else { String::new() };
    let found = &against.comparison;
    let text = format!("{}: {word}{}{reason}", estimate(against, unit), than(against, unit));
    let mut lines = hang("verdict:", tone, &text, style);
    let test = &found.mann_whitney;
    let adjusted = if family > 1 { format!(", after Holm {}", p_text(against.p_holm)) } else { String::new() };
    let ranks = format!(
        "Mann-Whitney U {} of {}, {} of {}; p {}",
        words::trimmed(test.u_a),
        against.base,
        words::trimmed(test.u_b),
        against.arm,
        p_text(test.p.p)
    );
    // Ranks decide, except for sides with different spreads.
    let (decides, beside) = match found.uneven {
        None => (format!("{ranks}{adjusted}"), String::new()),
        Some(one) => (
            format!(
                "Welch's t {:.2}, because the sides may spread differently ({:.1} degrees of freedom); p {}{adjusted}",
                one.t,
                one.freedom,
                p_text(one.p)
            ),
            format!("{ranks}; "),
        ),
    };
    let shape = found
        .anderson_darling
        .as_ref()
        .map_or_else(|| "not available".into(), |test| format!("A2 {:.3}, p {}", test.statistic, p_text(test.p.p)));
    for (label, text) in [
        ("  decides:", decides),
        (
            "  also:",
            format!(
                "{beside}Cliff's delta {:.3}; permutation of means, p {}; shapes (Anderson-Darling) {shape}",
                found.cliffs_delta,
                p_text(found.permutation.p)
            ),
        ),
    ] {
        lines.extend(hang(label, Paint::Dim, &text, style));
    }
    lines
}

/// Returns the estimate: `b is 2.10 times a (1.60 to 2.70)`.
pub(crate) fn estimate(against: &Against, unit: Kind) -> String {
    let (found, scale) = (&against.comparison.estimate, against.comparison.question.scale);
    let text = |value: f64| if scale == Scale::Ratio { number(value) } else { unit.text(value) };
    let interval = between(found.interval, text).unwrap_or_else(|| "too few runs for an interval".into());
    match scale {
        Scale::Ratio => format!("{} is {} times {} ({interval})", against.arm, text(found.value), against.base),
        Scale::Difference => {
            let more = if found.value < 0.0 { "less" } else { "more" };
            format!("{} is {} {more} than {} ({interval})", against.arm, unit.text(found.value.abs()), against.base)
        }
    }
}

/// Returns the stated null hypothesis or margin of the question, if the user stated one: ` than 2 times a`.
fn than(against: &Against, unit: Kind) -> String {
    let Question { scale, null, margin } = against.comparison.question;
    let word = match against.verdict {
        Verdict::Lower | Verdict::Higher => "than",
        Verdict::Equivalent => "to",
        Verdict::Undecided { .. } => "against",
    };
    let stated = match scale {
        Scale::Ratio if null != 1.0 => format!(" {word} {} times {}", number(null), against.base),
        Scale::Difference if null != 0.0 => format!(" {word} {} and {}", against.base, unit.text(null)),
        _ => String::new(),
    };
    match margin.filter(|_| against.verdict == Verdict::Equivalent) {
        Some(margin) if scale == Scale::Ratio => format!("{stated}, within {} %", words::trimmed(margin * 100.0)),
        Some(margin) => format!("{stated}, within {}", unit.text(margin)),
        None => stated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::numbers::compare::{Arm, of};

    #[test]
    fn values_that_follow_each_other_are_noted() {
        let wave = |shift: f64| (0..12).map(|at| 100.0 + 10.0 * (f64::from(at) / 2.0 + shift).sin()).collect();
        let arms = [("a", wave(0.0)), ("b", wave(1.0))].map(|(name, values)| Arm { name: name.into(), values });
        let found = of(&arms, Question::RATIO, Kind::AsGiven).unwrap();
        let text = text(&found, "x", Style { width: 200, color: false });
        assert!(text.contains("they are not independent"), "{text}");
    }
}
