//! Tables as text: aligned columns, some of which are dropped if the terminal is too narrow.

use super::style::{Paint, Style, fit, hang, paint};
use crate::{
    tree::{Datum, Head, Sheet, percent},
    words::{Unit, Units, apart},
};
use latido_model::clean;
use std::borrow::Cow;

/// A column of a table.
#[derive(Clone, Debug, Default)]
pub struct TextColumn {
    /// First line of the header.
    pub name: String,
    /// Second line of the header.
    pub unit: String,
    /// Whether the column is aligned left (text) instead of right (numbers).
    pub left: bool,
    /// If the table is too wide, columns with the largest number are dropped first; those with 0 stay.
    pub spare: u8,
    /// One entry per row.
    pub cells: Vec<String>,
    /// Whether any value except 0 and `-` is bad news.
    pub alarm: bool,
}

impl TextColumn {
    /// Returns a column of text.
    pub fn text(name: &str, cells: Vec<String>) -> Self {
        Self { name: name.into(), left: true, cells, ..Self::default() }
    }

    /// Returns a column of counts.
    pub fn counts(name: &str, cells: impl IntoIterator<Item = Option<u64>>) -> Self {
        let cells = cells.into_iter().map(|n| n.map_or_else(|| "-".into(), |n| n.to_string())).collect();
        Self { name: name.into(), cells, ..Self::default() }
    }

    /// Marks the column to be dropped early if the table is too wide.
    pub fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Marks all values except 0 as bad news.
    pub fn alarm(self) -> Self {
        Self { alarm: true, ..self }
    }

    /// Returns the width of its widest text. This looks at every text, so latido calls it once per table and not once per line.
    fn width(&self) -> usize {
        #[cfg(test)]
        tests::LOOKED_AT.with(|looked| looked.set(looked.get() + self.cells.len() + 2));
        self.cells.iter().chain([&self.name, &self.unit]).map(|text| text.chars().count()).max().unwrap_or(0)
    }
}

/// The blanks between two columns.
const GAP: usize = 2;

/// Returns the lines of a table. If it is too wide, spare columns are dropped, then the first column is cut; the table may still be too
/// wide after that.
pub fn render(mut columns: Vec<TextColumn>, style: Style) -> Vec<String> {
    // The texts are cleaned first, because escapes take room.
    for text in columns.iter_mut().flat_map(|one| one.cells.iter_mut().chain([&mut one.name, &mut one.unit])) {
        if let Cow::Owned(clean) = clean::line(text) {
            *text = clean;
        }
    }
    let mut columns: Vec<(TextColumn, usize)> = columns.into_iter().map(with_width).collect();
    let total = |columns: &[(TextColumn, usize)]| {
        columns.iter().map(|(_, width)| width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    while total(&columns) > style.width {
        let Some(last) = columns.iter().map(|(one, _)| one.spare).max().filter(|spare| *spare > 0) else { break };
        columns.retain(|(column, _)| column.spare != last);
    }
    let excess = total(&columns).saturating_sub(style.width);
    if let Some((first, wide)) = columns.first_mut().filter(|(first, _)| first.left && excess > 0) {
        let width = wide.saturating_sub(excess).max(12);
        let names: Vec<&str> = first.cells.iter().map(String::as_str).collect();
        // The part that distinguishes the names stays, which is the end of a path: the same as on a page.
        first.cells = apart(&names, |name| name.chars().count() <= width);
        *wide = first.width();
    }
    let mut lines = vec![line(&columns, |column| (column.name.clone(), Paint::Dim), style)];
    if columns.iter().any(|(column, _)| !column.unit.is_empty()) {
        lines.push(line(&columns, |column| (column.unit.clone(), Paint::Dim), style));
    }
    for row in 0..columns.iter().map(|(column, _)| column.cells.len()).max().unwrap_or(0) {
        let cell = |column: &TextColumn| {
            let text = column.cells.get(row).map(String::as_str).unwrap_or_default();
            let bad = column.alarm && !matches!(text, "0" | "-" | "");
            (text.to_string(), if bad { Paint::Bad } else { Paint::Plain })
        };
        lines.push(line(&columns, cell, style));
    }
    lines
}

/// Returns a column with its width.
fn with_width(column: TextColumn) -> (TextColumn, usize) {
    let width = column.width();
    (column, width)
}

/// Returns one line: each column's text is first aligned and then coloured, so that colours do not change the alignment.
fn line(columns: &[(TextColumn, usize)], text: impl Fn(&TextColumn) -> (String, Paint), style: Style) -> String {
    let cells = columns.iter().map(|(column, width)| {
        let ((text, tone), width) = (text(column), *width);
        let padded = if column.left { format!("{text:<width$}") } else { format!("{text:>width$}") };
        paint(&padded, tone, style)
    });
    cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_string()
}

/// Returns a table below its title, which includes the unit.
pub fn titled(sheet: &Sheet, style: Style) -> Vec<String> {
    let mut lines = vec![paint(&fit(&with_unit(&sheet.title, sheet), style.width), Paint::Bold, style)];
    lines.extend(render(columns(sheet), style));
    lines.extend(notes(sheet, style));
    lines
}

/// Returns the sentences below a table.
fn notes(sheet: &Sheet, style: Style) -> impl Iterator<Item = String> {
    sheet.notes.iter().flat_map(move |note| hang("", Paint::Dim, note, style))
}

/// Returns a table whose first column has the title and the unit as its head.
pub fn untitled(sheet: &Sheet, style: Style) -> Vec<String> {
    let mut columns = columns(sheet);
    columns.iter_mut().take(1).for_each(|first| first.name = with_unit(&first.name, sheet));
    let mut lines = render(columns, style);
    lines.extend(notes(sheet, style));
    lines
}

fn with_unit(title: &str, sheet: &Sheet) -> String {
    match &sheet.units {
        Some(Units::One(unit)) => format!("{title} ({})", unit.name),
        _ => title.to_owned(),
    }
}

fn columns(sheet: &Sheet) -> Vec<TextColumn> {
    let one = matches!(sheet.units, Some(Units::One(_)));
    let column = |(k, head): (usize, &Head)| {
        let unit = sheet.unit(k);
        let data: Vec<&Datum> = sheet.rows.iter().filter_map(|row| row.get(k)).collect();
        TextColumn {
            name: if head.group.is_empty() { head.name.clone() } else { head.group.clone() },
            unit: match unit.filter(|_| !one) {
                Some(unit) => unit.name.clone(),
                None if head.group.is_empty() => String::new(),
                None => head.name.clone(),
            },
            left: k == 0,
            spare: head.spare,
            cells: texts(&data, unit),
            alarm: head.alarm,
        }
    };
    sheet.head.iter().enumerate().map(column).collect()
}

/// Formats a column with aligned decimal points; no value is rounded to zero.
fn texts(data: &[&Datum], unit: Option<&Unit>) -> Vec<String> {
    let per = unit.map_or(1.0, |unit| unit.per);
    let known = || data.iter().filter_map(|datum| datum.number());
    let magnitudes = known().map(f64::abs).filter(|v| *v > 0.0);
    let (low, high) = magnitudes.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
    let whole = per == 1.0 && known().all(|v| v.fract() == 0.0);
    let digits = if whole || high == 0.0 { 0 } else { digits(low / per, high / low) };
    // A spread below the resolution of the clock keeps its first digit.
    let digits = unit.and_then(Unit::decimals).filter(|_| low >= 1.0).map_or(digits, |most| digits.min(most));
    let text = |datum: &&Datum| match datum {
        Datum::Text(text) => text.clone(),
        Datum::Count(n) => n.to_string(),
        Datum::AtLeast(n) => format!("{n} or more"),
        Datum::Value(v) | Datum::Over(v) if *v == 0.0 => "0".into(),
        Datum::Value(v) | Datum::Over(v) => format!("{:.digits$}", v / per),
        Datum::Estimate(one) => one.text(|v| format!("{:.digits$}", v / per)),
        Datum::Between(low, high) => {
            let [low, high] = [Some(*low), *high].map(|v| v.map(|v| format!("{:.digits$}", v / per)));
            match (low, high) {
                (Some(low), Some(high)) if low != high => format!("{low} to {high}"),
                (Some(low), None) => format!("{low} or more"),
                (low, _) => low.unwrap_or_default(),
            }
        }
        Datum::Share(share) => percent(*share),
        Datum::Absent | Datum::TooFew => "-".into(),
    };
    data.iter().map(text).collect()
}

/// Returns the decimals: three digits for the smallest value, or two if the largest is at least 1000 times as large. It is never rounded to
/// zero.
fn digits(smallest: f64, ratio: f64) -> usize {
    let point = match smallest {
        s if s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s => 2 + (-s.log10()).ceil() as usize,
    };
    if ratio >= 1e3 { point.saturating_sub(1) } else { point }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// The number of texts whose width was computed.
        pub(super) static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
    }

    /// The cost of a table is proportional to its rows: a hundred times the rows need a hundred times the width computations.
    #[test]
    fn a_table_grows_as_its_rows() {
        let looks = |rows: usize| {
            LOOKED_AT.set(0);
            let names = (0..rows).map(|row| format!("a name of some length, {row}")).collect();
            let counts = (0..rows).map(|row| Some(row as u64));
            let columns = vec![TextColumn::text("run", names), TextColumn::counts("n", counts)];
            assert_eq!(render(columns, Style { width: 30, color: false }).len(), rows + 1);
            LOOKED_AT.get()
        };
        for rows in [10, 100, 1_000] {
            let looks = looks(rows);
            assert!((2 * (rows + 2)..=4 * (rows + 2)).contains(&looks), "{rows} rows: {looks} looks");
        }
    }

    /// Returns head and cells of one column of values, as in a table.
    fn written(stored: &str, values: &[f64]) -> Vec<String> {
        let rows = values.iter().map(|v| vec![Datum::Text("x".into()), Datum::Value(*v)]).collect();
        let sheet = Sheet::new("t".into(), vec!["row".into(), "value".into()], rows, stored, values);
        let column = columns(&sheet).pop().unwrap();
        column.cells.into_iter().chain(sheet.unit(1).map(|unit| unit.name.clone())).collect()
    }

    #[test]
    fn points_align_and_the_smallest_stays_readable() {
        assert_eq!(written("ns", &[24_900.0, 228_000.0]), ["24.9", "228.0", "µs"]);
        assert_eq!(written("ns", &[9_790.0, 13_800.0, 4_800_000.0]), ["9.79", "13.80", "4800.00", "µs"]);
        assert_eq!(written("ns", &[9.0, 2_100.0]), ["9", "2100", "ns"]);
        assert_eq!(written("ns", &[9.84, 11.4]), ["10", "11", "ns"], "a clock of whole nanoseconds");
        assert_eq!(written("ns", &[0.0, 1.5e10]), ["0", "15.0", "s"]);
        assert_eq!(written("ps", &[6_010.0, 6_340.5, 12_900.0]), ["6.01", "6.34", "12.90", "ns"]);
        assert_eq!(written("urad", &[6_010.0, 12_900.0]), ["6.01", "12.90", "mrad"]);
    }

    /// A kernel's path that is too long keeps its end, which identifies the kernel and its boot options.
    #[test]
    fn a_path_is_cut_at_its_beginning() {
        let at = |name: &str| format!("/home/somebody/kernels/built/linux-6.12/arch/x86/boot/{name}");
        let names = vec![at("vmlinuz-6.12-a"), at("vmlinuz-6.12-b:preempt=full"), "6.12-rt".into()];
        let columns =
            vec![TextColumn::text("configuration", names), TextColumn::counts("n", [Some(1), Some(2), Some(3)])];
        let lines = render(columns, Style { width: 50, color: false });
        assert!(lines[1].starts_with('…') && lines[1].contains("boot/vmlinuz-6.12-a "), "{lines:#?}");
        assert!(lines[2].starts_with('…') && lines[2].contains("vmlinuz-6.12-b:preempt=full "), "{lines:#?}");
        assert!(lines[3].starts_with("6.12-rt "), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 50), "{lines:#?}");
    }

    proptest::proptest! {
        /// Whatever the other values are, a value above zero is never written as zero.
        #[test]
        fn nothing_is_rounded_away(values: Vec<u32>, powers in proptest::collection::vec(0i32..12, 1..8)) {
            let all: Vec<f64> =
                values.iter().zip(&powers).map(|(value, power)| f64::from(*value) * 10f64.powi(power - 9)).collect();
            for (value, text) in all.iter().zip(written("ns", &all)) {
                let written = text.contains(|c: char| c.is_ascii_digit() && c != '0');
                proptest::prop_assert_eq!(*value == 0.0, !written, "{}", text);
            }
        }
    }
}
