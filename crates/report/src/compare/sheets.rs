//! A comparison as tables: for a paper, with the test in a note, and for programs.

use super::{Estimates, estimate, interval, name, repeats, repeats_left_out, title};
use crate::{
    numbers::{compare::word, p_text},
    tree::{Datum, Head, Sheet},
    words,
};
use latido_judge::{
    compare::{Compared, Row},
    numbers::compare::Figures,
};
use latido_statistics::two::Scale;

/// Returns the verdicts as a table, with the test in a note. Medians are texts with their unit, because one comparison can have quantities
/// in several units.
pub fn sheet(compared: &Compared) -> Sheet {
    let text = |text: Option<String>| text.map_or(Datum::Absent, Datum::Text);
    let middle =
        |figures: &Option<Figures>, row: &Row| text(figures.as_ref().map(|found| row.measure.text(found.median)));
    // The names of two sides are the column headings; with more sides, each row names its own.
    let many = compared.arms.len() > 2;
    let arms = |at: usize| compared.arms.get(at).map_or("", |arm| arm.arm.as_str());
    let line = |row: &Row| {
        let mut line = vec![Datum::Text(name(row))];
        line.extend(many.then(|| Datum::Text(row.arm.clone())));
        line.extend([
            Datum::Text(repeats(row)),
            middle(&row.a, row),
            middle(&row.b, row),
            text(estimate(row)),
            Datum::Text(interval(row).unwrap_or_else(|| "too few repeats".into())),
            text(row.p_holm.map(p_text)),
            Datum::Text(word(&row.verdict).0.to_owned()),
        ]);
        line
    };
    let of_arm = if many { "side" } else { arms(1) };
    let mut head = vec![Head::from("median of repeats")];
    head.extend(many.then(|| Head::from("side")));
    let estimate = Estimates::of_rows(&compared.rows).head();
    head.extend(["repeats", arms(0), of_arm, estimate, "95 % interval", "p", "verdict"].map(Head::from));
    let notes = std::iter::once(tested(compared))
        .chain(compared.despite.iter().map(|one| format!("Not alike: {}.", one.detail)))
        .chain(compared.left_out.iter().map(|one| format!("Left out: {}.", one.detail)))
        .chain(repeats_left_out(compared).into_iter().map(|one| format!("Left out: {one}.")))
        .chain(compared.in_turn.then(|| {
            "The sides were measured one after the other, so a drift of the machine would look like a difference."
                .into()
        }));
    Sheet::plain(capital(&title(compared)), head, compared.rows.iter().map(line).collect())
        .leading(if many { 2 } else { 1 })
        .notes(notes)
}

/// Returns the same for programs: numbers with their unit in another column, and the test of each row.
pub fn data(compared: &Compared) -> Sheet {
    let text = |text: &str| Datum::Text(text.to_owned());
    let line = |row: &Row| {
        let found = row.comparison.as_ref();
        let interval = found.and_then(|found| found.estimate.interval);
        let count = |figures: &Option<Figures>| Datum::Count(figures.as_ref().map_or(0, |found| found.count));
        vec![
            Datum::Text(name(row)),
            text(&row.base),
            text(&row.arm),
            text(row.measure.name()),
            count(&row.a),
            count(&row.b),
            Datum::value(row.a.as_ref().map(|found| found.median)),
            Datum::value(row.b.as_ref().map(|found| found.median)),
            text(if found.is_some_and(|found| found.question.scale == Scale::Difference) {
                "difference"
            } else {
                "ratio"
            }),
            Datum::value(found.map(|found| found.estimate.value)),
            Datum::value(interval.map(|limits| limits.0)),
            Datum::value(interval.map(|limits| limits.1)),
            text(test(row)),
            Datum::value(row.p_holm),
            text(word(&row.verdict).0),
            text(if row.decides { "yes" } else { "no" }),
        ]
    };
    let head = [
        "quantity",
        "base",
        "arm",
        "unit",
        "repeats_base",
        "repeats_arm",
        "median_base",
        "median_arm",
        "scale",
        "estimate",
        "lower95",
        "upper95",
        "test",
        "p_holm",
        "verdict",
        "decides",
    ];
    Sheet::plain(capital(&title(compared)), head.map(Head::from).into(), compared.rows.iter().map(line).collect())
}

/// Returns the test that decides a row.
fn test(row: &Row) -> &'static str {
    match (&row.measure, row.comparison.as_ref()) {
        (_, None) => "none",
        (_, Some(found)) if found.uneven.is_some() => "Welch",
        _ => "Mann-Whitney",
    }
}

/// Returns the note below a table; it names the deciding test.
pub fn tested(compared: &Compared) -> String {
    let deciding = compared.rows.iter().filter(|row| row.decides).count() as u64;
    let welch = match compared.rows.iter().any(|row| test(row) == "Welch") {
        true => " Where the sides may spread differently, Welch's t test decides instead.",
        false => "",
    };
    let better = if compared.metric.higher_is_worse() { "Lower" } else { "Higher" };
    let family = match deciding {
        0 | 1 => String::new(),
        many => format!(", adjusted by Holm's method over the {many} deciding comparisons"),
    };
    let of = Estimates::of_rows(&compared.rows);
    format!(
        "Test: exact two-sided Mann-Whitney test on the {} of each repeat, at {} %; p is that of the test{family}.{welch} \
         The {} is {} of all pairs of repeats (Hodges and Lehmann), not the {2} of the medians, with its 95 % interval. {better} is better.",
        compared.metric,
        words::trimmed(compared.level * 100.0),
        of.head(),
        of.middle(),
    )
}

/// Capitalises the first letter, for captions.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
