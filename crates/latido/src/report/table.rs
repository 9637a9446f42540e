//! Tables of text: columns that choose their unit, align, and leave when the terminal is too narrow.

use super::terminal::{Paint, Style, fit, paint};
use crate::{
    analyze::configuration::{Configuration, Pooled},
    record::Summary,
};
use std::collections::BTreeSet;

/// A column of a table.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// First line of the header.
    pub name: String,
    /// Second line of the header.
    pub unit: String,
    /// Text is aligned left, numbers right.
    pub left: bool,
    /// Columns of the largest number leave first when the table is too wide; 0 stays.
    pub spare: u8,
    /// One entry a row.
    pub cells: Vec<String>,
    /// Whether any value but 0 and `-` is bad news.
    pub alarm: bool,
}

impl Column {
    /// A column of text.
    pub fn text(name: &str, cells: Vec<String>) -> Self {
        Self { name: name.into(), left: true, cells, ..Self::default() }
    }

    /// A column of counts.
    pub fn counts(name: &str, cells: impl IntoIterator<Item = Option<u64>>) -> Self {
        let cells = cells.into_iter().map(|n| n.map_or_else(|| "-".into(), |n| n.to_string())).collect();
        Self { name: name.into(), cells, ..Self::default() }
    }

    /// A column of times in ns, all in the one unit that keeps the smallest readable; `whole` if they are integers.
    pub fn times(name: &str, values: &[Option<f64>], whole: bool) -> Self {
        let (unit, scale, digits) = unit_of(values.iter().flatten().copied(), whole);
        let text = |value: &Option<f64>| value.map_or_else(|| "-".into(), |v| format!("{:.digits$}", v / scale));
        Self { name: name.into(), unit: unit.into(), cells: values.iter().map(text).collect(), ..Self::default() }
    }

    /// Leaves early when the table is too wide.
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Values but 0 are bad news.
    pub fn alarm(self) -> Self {
        Self { alarm: true, ..self }
    }

    fn width(&self) -> usize {
        self.cells.iter().chain([&self.name, &self.unit]).map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// The unit whose scale leaves the smallest value at 1 or more, with as many digits as make three.
fn unit_of(values: impl Iterator<Item = f64>, whole: bool) -> (&'static str, f64, usize) {
    let smallest = values.map(f64::abs).filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    if !smallest.is_finite() {
        return ("ns", 1.0, 0);
    }
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| smallest >= *scale).unwrap_or(("ns", 1.0));
    let digits = match smallest / scale {
        _ if whole && unit == "ns" => 0,
        shown if shown < 10.0 => 2,
        shown if shown < 100.0 => 1,
        _ => 0,
    };
    (unit, scale, digits)
}

/// Blanks between two columns.
const GAP: usize = 2;

/// Lines of a table that fits the width where its columns allow it: spare ones leave, then the first one is cut.
pub fn render(mut columns: Vec<Column>, style: Style) -> Vec<String> {
    let total = |columns: &[Column]| columns.iter().map(|c| c.width() + GAP).sum::<usize>().saturating_sub(GAP);
    while total(&columns) > style.width {
        let Some(last) = columns.iter().map(|c| c.spare).max().filter(|spare| *spare > 0) else { break };
        columns.retain(|column| column.spare != last);
    }
    let excess = total(&columns).saturating_sub(style.width);
    if let Some(first) = columns.first_mut().filter(|first| first.left && excess > 0) {
        let width = first.width().saturating_sub(excess).max(12);
        first.cells.iter_mut().for_each(|cell| *cell = fit(cell, width));
    }
    let mut lines = vec![line(&columns, |column| (column.name.clone(), Paint::Dim), style)];
    if columns.iter().any(|column| !column.unit.is_empty()) {
        lines.push(line(&columns, |column| (column.unit.clone(), Paint::Dim), style));
    }
    for row in 0..columns.iter().map(|column| column.cells.len()).max().unwrap_or(0) {
        let cell = |column: &Column| {
            let text = column.cells.get(row).map(String::as_str).unwrap_or_default();
            let bad = column.alarm && !matches!(text, "0" | "-" | "");
            (text.to_string(), if bad { Paint::Bad } else { Paint::Plain })
        };
        lines.push(line(&columns, cell, style));
    }
    lines
}

/// One line: every column's text, aligned first and painted then, so that colours move nothing.
fn line(columns: &[Column], text: impl Fn(&Column) -> (String, Paint), style: Style) -> String {
    let cells = columns.iter().map(|column| {
        let ((text, tone), width) = (text(column), column.width());
        let padded = if column.left { format!("{text:<width$}") } else { format!("{text:>width$}") };
        paint(&padded, tone, style)
    });
    cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_string()
}

/// The columns of figures for these distributions.
pub fn figures(rows: &[Summary]) -> Vec<Column> {
    let all = |value: &dyn Fn(&Summary) -> Option<f64>| rows.iter().map(value).collect::<Vec<_>>();
    let whole = |value: &dyn Fn(&Summary) -> Option<i64>| all(&|row| value(row).map(|v| v as f64));
    let quantile = |key: &str| whole(&|row| row.quantiles.get(key).copied().flatten());
    vec![
        Column::counts("samples", rows.iter().map(|row| Some(row.count))),
        Column::times("min", &whole(&|row| row.min), true).spare(1),
        Column::times("mean", &all(&|row| row.mean), false).spare(2),
        Column::times("p50", &quantile("0.5"), true),
        Column::times("p99", &quantile("0.99"), true).spare(3),
        Column::times("p99.9", &quantile("0.999"), true),
        Column::times("p99.99", &quantile("0.9999"), true).spare(4),
        Column::times("max", &whole(&|row| row.max), true),
    ]
}

/// The table of a run or of several: one row for each configuration and quantity.
pub fn configurations(all: &[Configuration], style: Style) -> Vec<String> {
    let rows: Vec<(&Configuration, &Pooled)> =
        all.iter().flat_map(|one| one.quantities.iter().map(move |quantity| (one, quantity))).collect();
    let units: BTreeSet<&str> = rows.iter().map(|(_, pooled)| pooled.unit.as_str()).collect();
    let mut lines = Vec::new();
    // Times first; other units get a table of their own, as they are.
    let mut units: Vec<&str> = units.into_iter().collect();
    units.sort_by_key(|unit| *unit != "ns");
    for unit in units {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let rows: Vec<_> = rows.iter().copied().filter(|(_, pooled)| pooled.unit == unit).collect();
        lines.extend(one_table(&rows, unit, style));
    }
    lines
}

fn one_table(rows: &[(&Configuration, &Pooled)], unit: &str, style: Style) -> Vec<String> {
    let names = rows.iter().map(|(one, pooled)| row_name(one, pooled)).collect();
    let mut columns = vec![Column::text("configuration", names)];
    let summaries: Vec<Summary> = rows.iter().map(|(_, pooled)| pooled.summary.clone()).collect();
    if unit == "ns" {
        columns.extend(figures(&summaries));
    } else {
        columns.extend(raw_figures(&summaries, unit));
    }
    if rows.iter().any(|(_, pooled)| pooled.above_limit.is_some()) {
        let limits: BTreeSet<_> = rows.iter().filter_map(|(one, _)| one.cell.limit).collect();
        let name = match limits.first() {
            Some(limit) if limits.len() == 1 => format!(">{limit}"),
            _ => ">limit".into(),
        };
        columns.push(Column::counts(&name, rows.iter().map(|(_, pooled)| pooled.above_limit)).alarm());
    }
    if rows.iter().any(|(_, pooled)| pooled.slots.is_some()) {
        let missed = rows.iter().map(|(_, pooled)| pooled.slots.map(|slots| slots.missed));
        columns.push(Column::counts("missed", missed).alarm());
    }
    render(columns, style)
}

fn raw_figures(rows: &[Summary], unit: &str) -> Vec<Column> {
    let column = |name: &str, value: &dyn Fn(&Summary) -> Option<String>| Column {
        name: name.into(),
        unit: unit.into(),
        cells: rows.iter().map(|row| value(row).unwrap_or_else(|| "-".into())).collect(),
        ..Column::default()
    };
    let quantile = |row: &Summary, key: &str| row.quantiles.get(key).copied().flatten().map(|v| v.to_string());
    vec![
        Column::counts("samples", rows.iter().map(|row| Some(row.count))),
        column("min", &|row| row.min.map(|v| v.to_string())),
        column("mean", &|row| row.mean.map(|v| format!("{v:.3}"))),
        column("p50", &|row| quantile(row, "0.5")),
        column("p99.9", &|row| quantile(row, "0.999")).spare(1),
        column("max", &|row| row.max.map(|v| v.to_string())),
    ]
}

/// The configuration's label, with the quantity where it has several.
fn row_name(one: &Configuration, pooled: &Pooled) -> String {
    let mut name = one.label.clone();
    if one.quantities.iter().any(|other| other.quantity != pooled.quantity) {
        name = format!("{name} {}", pooled.quantity);
    }
    for (key, value) in &pooled.labels {
        name = format!("{name} {key}={value}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::{
        configuration,
        sample::{Fixture, cell, probing, quiet, under, with_spike},
    };

    fn table(fixture: &Fixture, width: usize) -> String {
        let found = configuration::configurations([&fixture.run], &|c, s| fixture.load(c, s)).unwrap();
        configurations(&found.all, Style { width, color: false }).join("\n")
    }

    fn four() -> Fixture {
        let short: Vec<i64> = quiet(3).iter().map(|v| v / 100).collect();
        Fixture::new(vec![
            (cell(), vec![quiet(0), quiet(1)]),
            (under("stress-ng ramp"), vec![quiet(0), with_spike(1, 3_000, 2_280_000)]),
            (probing("gap"), vec![short.clone()]),
            (probing("compute"), vec![short[..100].to_vec()]),
        ])
    }

    #[test]
    fn a_table_of_four_configurations() {
        insta::assert_snapshot!(table(&four(), 120), @r#"
        configuration           samples   min    mean   p50   p99  p99.9  p99.99      max  >100us  missed
                                           ns      ns    ns    ns     ns      ns       ns
        wakeup, idle              20000  2000  2635.3  2625  3237   3249   22463    24849       0       0
        wakeup, stress-ng ramp    20000  2000  2749.2  2625  3237   3249   24863  2280000       1       0
        gap, idle                 10000    20    25.9    26    32     32     224      248       -       -
        compute, idle               100    20    25.6    25    32      -       -       32       -       0
        "#);
    }

    #[test]
    fn eighty_columns_hold_what_matters() {
        let text = table(&four(), 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text, @r#"
        configuration           samples   min   p50  p99.9      max  >100us  missed
                                           ns    ns     ns       ns
        wakeup, idle              20000  2000  2625   3249    24849       0       0
        wakeup, stress-ng ramp    20000  2000  2625   3249  2280000       1       0
        gap, idle                 10000    20    26     32      248       -       -
        compute, idle               100    20    25      -       32       -       0
        "#);
    }

    #[test]
    fn long_names_are_cut_before_figures_are() {
        let fixture = Fixture::new(vec![
            (under("a very long name of a load that somebody wrote"), vec![quiet(0)]),
            (under("b"), vec![quiet(0)]),
        ]);
        let text = table(&fixture, 60);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        insta::assert_snapshot!(text, @r#"
        configuration     samples   p50  p99.9   max  >100us  missed
                                     us     us    us
        a very long nam~    10000  2.62   3.25  24.8       0       0
        b                   10000  2.62   3.25  24.8       0       0
        "#);
    }

    #[test]
    fn units_keep_the_smallest_value_readable() {
        let column = |values: &[f64]| {
            let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
            let column = Column::times("x", &values, true);
            (column.unit, column.cells)
        };
        assert_eq!(column(&[24_900.0, 54e6]), ("us".into(), vec!["24.9".into(), "54000.0".into()]));
        assert_eq!(column(&[9.0, 2_100.0]), ("ns".into(), vec!["9".into(), "2100".into()]));
        assert_eq!(column(&[0.0, 0.0]), ("ns".into(), vec!["0".into(), "0".into()]));
        assert_eq!(column(&[0.0, 1.5e9]), ("s".into(), vec!["0.00".into(), "1.50".into()]));
    }

    #[test]
    fn bad_news_is_painted_without_moving_anything() {
        let found = configuration::configurations([&four().run], &|c, s| four().load(c, s)).unwrap();
        let plain = configurations(&found.all, Style { width: 80, color: false });
        let painted = configurations(&found.all, Style { width: 80, color: true });
        assert!(painted.iter().any(|line| line.contains("\x1b[31m")));
        let stripped = |line: &String| {
            let mut text = String::new();
            let mut rest = line.as_str();
            while let Some((before, after)) = rest.split_once('\x1b') {
                text.push_str(before);
                rest = after.split_once('m').unwrap().1;
            }
            (text + rest).trim_end().to_string()
        };
        assert_eq!(painted.iter().map(stripped).collect::<Vec<_>>(), plain);
    }
}
