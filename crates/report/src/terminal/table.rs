//! Tables of text: columns that align and leave when the terminal is too narrow, a table for each quantity.

use crate::{judge::configuration::{Configuration, Pooled}, scale::{self, Unit}, terminal::{Paint, Style, fit, paint}, words};
use latido_model::record::Summary;
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

    /// A column of times in ns: in this unit, else in one of its own, else each cell in its own.
    fn times(name: &str, values: &[Option<f64>], unit: Option<Unit>) -> Self {
        let own = unit.is_none().then(|| scale::common(values.iter().flatten().copied())).flatten();
        let cells = scale::column(values, unit.or(own));
        Self {
            name: name.into(),
            unit: own.map_or_else(String::new, |unit| unit.name.into()),
            cells,
            ..Self::default()
        }
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

/// Distributions of one quantity in one table.
pub struct Figures {
    /// The unit of all of its columns, where they have one in common.
    pub unit: Option<String>,
    /// The columns.
    pub columns: Vec<Column>,
}

/// The columns of figures for these distributions, given in `unit`.
pub fn figures(rows: &[Summary], unit: &str) -> Figures {
    let all = |value: &dyn Fn(&Summary) -> Option<f64>| rows.iter().map(value).collect::<Vec<_>>();
    let whole = |value: &dyn Fn(&Summary) -> Option<i64>| all(&|row| value(row).map(|v| v as f64));
    let quantile = |key: &str| whole(&|row| row.quantiles.get(key).copied().flatten());
    let parts = [
        ("min", whole(&|row| row.min), 1),
        ("mean", all(&|row| row.mean), 2),
        ("p50", quantile("0.5"), 0),
        ("p99", quantile("0.99"), 3),
        ("p99.9", quantile("0.999"), 0),
        ("p99.99", quantile("0.9999"), 4),
        ("max", whole(&|row| row.max), 0),
    ];
    let (unit, per) = written(unit);
    let parts = parts.map(|(name, values, spare)| {
        (name, values.into_iter().map(|v: Option<f64>| v.map(|v| v / per)).collect::<Vec<_>>(), spare)
    });
    let samples = Column::counts("samples", rows.iter().map(|row| Some(row.count)));
    // A quantile that too few samples support in every row says nothing.
    let parts = || parts.iter().filter(|(_, values, spare)| *spare == 0 || values.iter().any(Option::is_some));
    if unit != "ns" {
        let digits = |v: f64| if v.fract() == 0.0 { 0 } else { 3 };
        let raw = |value: &Option<f64>| value.map_or_else(|| "-".into(), |v| format!("{v:.*}", digits(v)));
        let column = |name: &str, cells| Column { name: name.into(), cells, ..Column::default() };
        let columns = parts().map(|(name, v, spare)| column(name, v.iter().map(raw).collect()).spare(*spare));
        return Figures { unit: Some(unit.into()), columns: [samples].into_iter().chain(columns).collect() };
    }
    let common = scale::common(parts().flat_map(|(_, values, _)| values.iter().flatten().copied()));
    let columns = parts().map(|(name, values, spare)| Column::times(name, values, common).spare(*spare));
    let unit = common.map(|unit| unit.name.into());
    Figures { unit, columns: [samples].into_iter().chain(columns).collect() }
}

/// In which unit a terminal writes a stored one, and how many of the stored one that is: no picoseconds.
fn written(stored: &str) -> (&str, f64) {
    match stored {
        "ps" => ("ns", 1e3),
        "urad" => ("mrad", 1e3),
        _ => (stored, 1.0),
    }
}

/// A quantity of a configuration: one row.
type Row<'a> = (&'a Configuration, &'a Pooled);

/// The tables of a run or of several: one for each quantity of a probe, one row for each configuration.
pub fn configurations(all: &[Configuration], style: Style) -> Vec<String> {
    let mut groups: Vec<Vec<Row<'_>>> = Vec::new();
    for row in all.iter().flat_map(|one| one.told().map(move |quantity| (one, quantity))) {
        let key = |(one, pooled): &Row<'_>| (one.cell.probe.name.clone(), pooled.quantity.clone(), pooled.unit.clone());
        match groups.iter_mut().find(|group| group.first().map(key) == Some(key(&row))) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let tables: Vec<Vec<String>> = groups.iter().map(|group| one_table(group, style)).collect();
    tables.join(&String::new())
}

fn one_table(rows: &[Row<'_>], style: Style) -> Vec<String> {
    let Some((first, quantity)) = rows.first() else { return Vec::new() };
    let mut columns = vec![Column::text("configuration", rows.iter().map(row_name).collect())];
    let summaries: Vec<Summary> = rows.iter().map(|(_, pooled)| pooled.summary.clone()).collect();
    let figures = figures(&summaries, &quantity.unit);
    columns.extend(figures.columns);
    if rows.iter().any(|(_, pooled)| pooled.above_limit.is_some()) {
        let limits: BTreeSet<_> = rows.iter().filter_map(|(one, _)| one.cell.conditions.limit).collect();
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
    let title = words::title(&first.cell.probe.name, &quantity.quantity);
    let title = figures.unit.map_or_else(|| title.clone(), |unit| format!("{title} ({unit})"));
    let mut lines = vec![paint(&fit(&title, style.width), Paint::Bold, style)];
    lines.extend(render(columns, style));
    lines
}

/// The configuration's label without the probe, which the heading names, and with the quantity's labels.
fn row_name((one, pooled): &Row<'_>) -> String {
    let rest = one.label.strip_prefix(&one.cell.probe.name);
    let rest = rest.and_then(|rest| rest.strip_prefix(", ").or_else(|| rest.strip_prefix(' ')));
    let mut name = match rest {
        Some(rest) if !rest.is_empty() => rest.to_string(),
        _ if one.label == one.cell.probe.name && !one.cell.load.id.is_empty() => one.cell.load.id.clone(),
        _ => one.label.clone(),
    };
    for (key, value) in &pooled.labels {
        name = format!("{name} {key}={value}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::configuration;
    use latido_model::sample::{Fixture, cell, probing, quiet, under, with_spike};

    fn table(fixture: &Fixture, width: usize) -> String {
        let found = configuration::configurations([&fixture.run], fixture).unwrap();
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
        Wake-up latency (us)
        configuration   samples   min  mean   p50   p99  p99.9  p99.99     max  >100us  missed
        idle              20000  2.00  2.64  2.62  3.24   3.25    22.5    24.8       0       0
        stress-ng ramp    20000  2.00  2.75  2.62  3.24   3.25    24.9  2280.0       1       0

        Gaps in a busy loop (ns)
        configuration  samples  min  mean  p50  p99  p99.9  p99.99  max
        idle             10000   20  25.9   26   32     32     224  248

        Compute latency (ns)
        configuration  samples  min  mean  p50  p99  p99.9  max  missed
        idle               100   20  25.6   25   32      -   32       0
        "#);
    }

    /// A row of dashes says nothing; that nothing at all was measured does.
    #[test]
    fn what_measured_nothing_is_left_out_beside_what_did() {
        let mut fixture = Fixture::new(vec![(cell(), vec![quiet(0), vec![]]), (under("busy"), vec![vec![]])]);
        fixture.record(1).series[1].quantity = "latency_after_overrun".into();
        let text = table(&fixture, 80);
        assert!(!text.contains("overrun"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("busy") && line.contains('-')), "{text}");
        fixture = Fixture::new(vec![(cell(), vec![quiet(0), quiet(1)])]);
        fixture.record(1).series[1].quantity = "latency_after_overrun".into();
        let text = table(&fixture, 80);
        assert!(text.lines().any(|line| line == "After a budget overrun (us)"), "{text}");
    }

    #[test]
    fn eighty_columns_hold_what_matters() {
        let text = table(&four(), 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text, @r#"
        Wake-up latency (us)
        configuration   samples   min  mean   p50   p99  p99.9     max  >100us  missed
        idle              20000  2.00  2.64  2.62  3.24   3.25    24.8       0       0
        stress-ng ramp    20000  2.00  2.75  2.62  3.24   3.25  2280.0       1       0

        Gaps in a busy loop (ns)
        configuration  samples  min  mean  p50  p99  p99.9  p99.99  max
        idle             10000   20  25.9   26   32     32     224  248

        Compute latency (ns)
        configuration  samples  min  mean  p50  p99  p99.9  max  missed
        idle               100   20  25.6   25   32      -   32       0
        "#);
    }

    /// Means of batches are stored in picoseconds, angles in microradians: nobody reads those.
    #[test]
    fn small_units_are_written_in_larger_ones() {
        let row = Summary { count: 3, min: Some(6_010), mean: Some(6_340.5), max: Some(12_900), ..Summary::default() };
        let text = |unit| {
            let Figures { unit, columns } = figures(std::slice::from_ref(&row), unit);
            let cell = |name: &str| columns.iter().find(|c| c.name == name).unwrap().cells[0].clone();
            format!("{} {} {} {}", cell("min"), cell("mean"), cell("max"), unit.unwrap_or_default())
        };
        assert_eq!(text("ps"), "6.01 6.34 12.9 ns");
        assert_eq!(text("urad"), "6.010 6.340 12.900 mrad");
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
        Wake-up latency (us)
        configuration     samples   p50  p99.9   max  >100us  missed
        a very long nam~    10000  2.62   3.25  24.8       0       0
        b                   10000  2.62   3.25  24.8       0       0
        "#);
    }

    #[test]
    fn bad_news_is_painted_without_moving_anything() {
        let found = configuration::configurations([&four().run], &four()).unwrap();
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
