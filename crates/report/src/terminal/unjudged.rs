//! What a run without a limit prints instead of a verdict: a table of the deadlines that its periodic work kept.

use super::{
    style::{Paint, Style, hang},
    table::{self, TextColumn},
};
use latido_judge::{
    deadline_wording::{round, whose},
    headline::{Deadlines, Missed, Periodic, Trusted},
    span::{Span, plain},
};
use latido_model::units::Ns;

/// A row of the table: the kernels, the deadline, how many of the periods missed it, and where.
struct Row<'a> {
    kernels: String,
    deadline_ns: u64,
    of: &'a Periodic,
    missed: Option<&'a Missed>,
}

/// Returns the lines that follow `word`; `None` if the run has no periodic work for the table.
pub fn lines(word: &str, seen: &Trusted, style: Style) -> Option<Vec<String>> {
    let rows: Vec<Row> = seen.periodic.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return None;
    }
    // A limit above the period would demand nothing.
    let useful = seen
        .periodic
        .iter()
        .filter_map(|one| one.kept.as_ref())
        .map(|of| of.period_ns.min(of.kept_ns.unwrap_or(u64::MAX)));
    let example = Ns(useful.max().unwrap_or(1_000_000));
    let text = format!("add a limit to the command, for example --limit {example}, for PASS or FAIL");
    let mut lines = hang(&format!("{word}:"), Paint::Plain, &text, style);
    lines.extend(table(&rows, style).into_iter().map(|line| format!("  {line}")));
    for one in &seen.periodic {
        let Some(rarity) = one.kept.as_ref().and_then(|kept| kept.rarity) else { continue };
        let whose = if one.kernels.is_empty() { String::new() } else { format!("{}: ", one.kernels.join(", ")) };
        let deadline =
            one.kept.as_ref().and_then(|kept| kept.kept_ns).map(|ns| plain(&[round(ns)])).unwrap_or_default();
        lines.extend(hang("  ", Paint::Plain, &format!("{whose}{deadline}: {}", plain(&rarity.spans())), style));
    }
    if let Some((ns, cell)) = &seen.stopped {
        let text = format!("longest interruption of a busy CPU: {} ({cell})", Span::Time(*ns));
        lines.extend(hang("  ", Paint::Plain, &text, style));
    }
    Some(lines)
}

/// Returns the deadline that was kept, and the next stricter one.
fn rows(of: &Deadlines) -> Vec<Row<'_>> {
    let Some(kept) = &of.kept else { return Vec::new() };
    let row = |deadline_ns, missed| Row { kernels: of.kernels.join(", "), deadline_ns, of: kept, missed };
    let met = kept.kept_ns.map(|deadline_ns| row(deadline_ns, None));
    let missed = kept.missed.as_ref().map(|missed| row(missed.deadline_ns, Some(missed)));
    met.into_iter().chain(missed).collect()
}

fn table(rows: &[Row], style: Style) -> Vec<String> {
    let text = |cell: &dyn Fn(&Row) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    let right = |name: &str, cells| TextColumn { left: false, ..TextColumn::text(name, cells) };
    let mut columns = vec![
        right("period", text(&|row| plain(&[round(row.of.period_ns)]))),
        right("deadline", text(&|row| plain(&[round(row.deadline_ns)]))),
        right("missed", text(&|row| row.missed.map_or(0, |missed| missed.count).to_string())),
        right("of", text(&|row| row.of.slots.to_string())),
    ];
    if rows.iter().any(|row| !row.kernels.is_empty()) {
        columns.insert(0, TextColumn::text("kernel", text(&|row| row.kernels.clone())));
    }
    let remark = |row: &Row| row.missed.and_then(whose).map(|spans| plain(&spans)).unwrap_or_default();
    if rows.iter().any(|row| !remark(row).is_empty()) {
        columns.push(TextColumn::text("", text(&remark)));
    }
    table::render(columns, Style { width: style.width.saturating_sub(2), ..style })
}
