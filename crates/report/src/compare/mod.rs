//! A comparison of stored runs for a terminal: the differences, the verdicts, further tests, the shift functions.

mod figures;
mod sheets;

pub use figures::figures;
pub use sheets::{data, sheet, tested};

use crate::{
    numbers::{between, compare::word, number, p_text},
    terminal::{
        Paint, Style, hang, paint,
        table::{self, TextColumn},
    },
    words,
};
use latido_judge::{
    compare::{ArmView, Compared, Row},
    numbers::compare::{Figures, Outcome},
    observed::unlike::Despite,
};
use latido_statistics::two::{Scale, Verdict};
use std::collections::BTreeSet;

/// Writes the comparison as text for the terminal.
pub fn text(compared: &Compared, style: Style) -> String {
    let mut lines = vec![paint(&title(compared), Paint::Bold, style)];
    lines.extend(compared.arms.iter().flat_map(|arm| of_arm(arm, style)));
    lines.extend(differing(compared, style));
    lines.push(String::new());
    lines.extend(verdicts(compared, style));
    if compared.rows.iter().any(|row| estimate(row).is_some()) {
        let of = Estimates::of_rows(&compared.rows);
        let note = format!(
            "{}: {} of all pairs of repeats (Hodges and Lehmann), not the {0} of the medians",
            of.head(),
            of.middle()
        );
        lines.extend(hang("", Paint::Dim, &note, style));
    }
    lines.extend(reasons(compared, style));
    let deciding = compared.rows.iter().filter(|row| row.decides && !row.shift.is_empty());
    for row in deciding {
        lines.push(String::new());
        lines.extend(figures::shifted(row, style));
    }
    lines.push(String::new());
    lines.extend(last_word(compared, style));
    lines.join("\n") + "\n"
}

fn title(compared: &Compared) -> String {
    let by = compared.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let margin = compared
        .margin
        .map(|margin| format!(", differences within {} % count as equal", words::trimmed(margin * 100.0)));
    format!("{} of each repeat{by}{}", compared.metric, margin.unwrap_or_default())
}

/// Returns how the sides differ, and what weakens the comparison.
fn differing(compared: &Compared, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &compared.differences {
        let value = |(arm, value): (&ArmView, &String)| {
            format!("{} {}", arm.arm, if value.is_empty() { "unknown" } else { value })
        };
        let values: Vec<String> = compared.arms.iter().zip(&row.values).map(value).collect();
        lines.extend(hang(&format!("  {}:", row.what), Paint::Dim, &values.join("; "), style));
    }
    let besides = compared.by.as_ref().map(|by| format!(" except {by}")).unwrap_or_default();
    let head = match lines.is_empty() {
        true => format!("differs: nothing that latido recorded{besides}"),
        false => "differs:".into(),
    };
    lines.insert(0, paint(&head, Paint::Plain, style));
    for one in &compared.despite {
        lines.extend(hang("not alike:", Paint::Warn, &one.detail, style));
    }
    for one in &compared.unmatched {
        lines.extend(hang("left out:", Paint::Dim, one, style));
    }
    for one in &compared.left_out {
        lines.extend(hang("left out:", Paint::Warn, &with_the_way(one), style));
    }
    for one in repeats_left_out(compared) {
        lines.extend(hang("left out:", Paint::Warn, one, style));
    }
    if compared.in_turn {
        let text = "the sides were measured one after the other, so a drift of the machine would look like a difference; \
                    an interleaved run, compared with --by, avoids this";
        lines.extend(hang("note:", Paint::Warn, text, style));
    }
    lines
}

/// Returns why a place is left out, and the option that compares it anyway.
fn with_the_way(one: &Despite) -> String {
    format!("{}; --despite {} compares it anyway", one.detail, one.what)
}

/// Returns which repeats are left out, and why. Each appears once, although each side is compared with several others and has the same
/// quantities at several places.
fn repeats_left_out(compared: &Compared) -> Vec<&String> {
    let mut told = BTreeSet::new();
    compared.rows.iter().flat_map(|row| &row.left_out).filter(|one| told.insert(*one)).collect()
}

/// The table of verdicts.
fn verdicts(compared: &Compared, style: Style) -> Vec<String> {
    let rows = &compared.rows;
    let column = |head: &str, of: &dyn Fn(&Row) -> String| TextColumn {
        name: head.into(),
        cells: rows.iter().map(of).collect(),
        ..TextColumn::default()
    };
    let middle = |figures: &Option<Figures>, row: &Row| {
        figures.as_ref().map_or_else(|| "-".into(), |found| row.measure.text(found.median))
    };
    let many = compared.arms.len() > 2;
    let p = if rows.len() > 1 { "p (Holm)" } else { "p" };
    let of = Estimates::of_rows(rows);
    let mut columns = vec![TextColumn { left: true, ..column("median of repeats", &name) }];
    if many {
        columns.push(TextColumn { left: true, ..column("side", &|row| row.arm.clone()) });
    }
    let (base, arm) =
        (compared.arms.first().map_or("", |arm| &arm.arm), compared.arms.get(1).map_or("", |arm| &arm.arm));
    columns.extend([
        column("repeats", &repeats).spare(2),
        column(base, &|row| middle(&row.a, row)).spare(1),
        column(if many { "side" } else { arm }, &|row| middle(&row.b, row)).spare(1),
        column(if many && of == Estimates::Ratios { "times base" } else { of.head() }, &|row| {
            estimate(row).unwrap_or_else(|| "-".into())
        }),
        column("95 % interval", &|row| interval(row).unwrap_or_else(|| "-".into())),
        column(p, &|row| row.p_holm.map_or_else(|| "-".into(), p_text)),
        TextColumn { left: true, ..column("verdict", &|row| word(&row.verdict).0.to_owned()) },
    ]);
    table::render(columns, style)
}

/// Returns the reason for each undecided verdict, and further tests for the verdicts that decide.
fn reasons(compared: &Compared, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for row in compared.rows.iter().filter(|row| row.decides) {
        let name = if compared.arms.len() > 2 { format!("{}, {}", name(row), row.arm) } else { name(row) };
        if let Verdict::Undecided { reason } = &row.verdict {
            lines.extend(hang("undecided:", Paint::Warn, &format!("{name}: {reason}"), style));
        }
        let Some(found) = &row.comparison else { continue };
        if found.repeats == (1, 1) {
            continue;
        }
        let shape = found.anderson_darling.map(|test| format!("; shapes (Anderson-Darling) p {}", p_text(test.p.p)));
        let text = format!(
            "{name}: Mann-Whitney U {} of {}, {} of {}; Cliff's delta {:.2}; permutation of means p {}{}",
            words::trimmed(found.mann_whitney.u_a),
            row.base,
            words::trimmed(found.mann_whitney.u_b),
            row.arm,
            found.cliffs_delta,
            p_text(found.permutation.p),
            shape.unwrap_or_default()
        );
        lines.extend(hang("also:", Paint::Dim, &text, style));
    }
    lines
}

fn last_word(compared: &Compared, style: Style) -> Vec<String> {
    let deciding = || compared.rows.iter().filter(|row| row.decides);
    let worse = if compared.metric.higher_is_worse() { "higher" } else { "lower" };
    let bad: Vec<String> = deciding()
        .filter(|row| compared.outcome_of(row) == Outcome::Worse)
        .map(|row| format!("{} in {}", name(row), row.arm))
        .collect();
    let open = deciding().filter(|row| matches!(row.verdict, Verdict::Undecided { .. })).count() as u64;
    let (label, tone, text) = match compared.outcome {
        Outcome::Worse => ("worse:", Paint::Bad, format!("{worse}: {}", bad.join("; "))),
        Outcome::Undecided => {
            let all = words::many(deciding().count() as u64, "comparison");
            let mut text = format!("{} of {all}; none is shown to be {worse}", words::count(open));
            if !compared.left_out.is_empty() {
                text += ", and what was left out may be";
            }
            ("undecided:", Paint::Warn, text)
        }
        Outcome::NotWorse => ("not worse:", Paint::Good, format!("no deciding comparison is {worse}")),
    };
    hang(label, tone, &text, style)
}

/// Writes a side and its runs: `a: 10 cells of RUN`.
fn of_arm(arm: &ArmView, style: Style) -> Vec<String> {
    let cells = words::many(arm.cells as u64, "cell");
    hang(&format!("{}:", arm.arm), Paint::Plain, &format!("{cells} of {}", arm.runs.join(", ")), style)
}

/// `wakeup latency, busy`, with its labels.
pub fn name(row: &Row) -> String {
    let quantity = format!("{} {}", row.probe, row.quantity.replace('_', " "));
    let parts = [quantity, words::labels(&row.labels), row.place.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn repeats(row: &Row) -> String {
    let count = |figures: &Option<Figures>| figures.as_ref().map_or(0, |found| found.count);
    match (count(&row.a), count(&row.b)) {
        (a, b) if a == b => a.to_string(),
        (a, b) => format!("{a}, {b}"),
    }
}

/// What a column of estimates contains. Zeros have no ratio.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Estimates {
    Ratios,
    Differences,
    Both,
}

impl Estimates {
    fn of(scales: impl Iterator<Item = Scale>) -> Self {
        let all: Vec<Scale> = scales.collect();
        match (all.contains(&Scale::Ratio), all.contains(&Scale::Difference)) {
            (_, false) => Self::Ratios,
            (false, true) => Self::Differences,
            (true, true) => Self::Both,
        }
    }

    fn of_rows(rows: &[Row]) -> Self {
        Self::of(rows.iter().filter_map(|row| Some(row.comparison.as_ref()?.question.scale)))
    }

    /// Returns the heading of the column.
    const fn head(self) -> &'static str {
        match self {
            Self::Ratios => "ratio",
            Self::Differences => "difference",
            Self::Both => "ratio/difference",
        }
    }

    /// Returns what the estimate is, computed over all pairs of repeats.
    const fn middle(self) -> &'static str {
        match self {
            Self::Ratios => "the median of the ratios",
            Self::Differences => "the median of the differences",
            Self::Both => "the median of the ratios (or differences)",
        }
    }
}

/// Writes a ratio, or a difference with its sign.
fn amount(row: &Row, scale: Scale, value: f64) -> String {
    match scale {
        Scale::Ratio => number(value),
        Scale::Difference if value > 0.0 => format!("+{}", row.measure.text(value)),
        Scale::Difference => row.measure.text(value),
    }
}

pub(crate) fn estimate(row: &Row) -> Option<String> {
    let found = row.comparison.as_ref()?;
    Some(amount(row, found.question.scale, found.estimate.value))
}

pub(crate) fn interval(row: &Row) -> Option<String> {
    let found = row.comparison.as_ref()?;
    between(found.estimate.interval, |value| amount(row, found.question.scale, value))
}
