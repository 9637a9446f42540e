//! Numbers from elsewhere, read from a file or stdin. latido limits their size, reads them exactly, and names the line of a wrong one.

use crate::store;
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use latido_judge::numbers::Kind;
use latido_trace::text::clean::decoded;
use std::{fmt, io::Read, path::Path};

/// The largest file read: several million samples.
const MAX_FILE: u64 = 64 << 20;
/// The most lines of a table.
const MAX_ROWS: usize = 100_000;
/// The largest sample, ns: 31 years.
const LARGEST_NS: i128 = 1_000_000_000_000_000_000;
/// The largest number of a table; the smallest is its reciprocal. So no ratio of two is infinite.
const LARGEST: f64 = 1e30;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimeUnit {
    /// Nanoseconds
    Ns,
    /// Microseconds
    #[value(alias = "µs")]
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl TimeUnit {
    /// Returns the unit's power of ten in nanoseconds.
    const fn power(self) -> i32 {
        match self {
            Self::Ns => 0,
            Self::Us => 3,
            Self::Ms => 6,
            Self::S => 9,
        }
    }

    fn in_ns(self) -> f64 {
        10_f64.powi(self.power())
    }
}

/// Returns how reports write values that have a unit, or no unit.
pub fn kind(unit: Option<TimeUnit>) -> Kind {
    if unit.is_some() { Kind::Ns } else { Kind::AsGiven }
}

/// What is wrong with a text, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtLine {
    /// The line, from 1; 0 is the text as a whole.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for AtLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// A text, and the name of its source.
#[derive(Debug)]
pub struct Source {
    /// The path as it was typed, or `stdin`.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Source {
    /// Reads a regular file, or stdin by the name `-`.
    ///
    /// # Errors
    /// It cannot be read, is too large, or is no text.
    pub fn read(path: &Path) -> Result<Self> {
        let stdin = path == Path::new("-");
        let name = if stdin { "stdin".to_string() } else { path.display().to_string() };
        let bytes = if stdin {
            let mut bytes = Vec::new();
            std::io::stdin().take(MAX_FILE + 1).read_to_end(&mut bytes).context("reading stdin")?;
            ensure!(bytes.len() as u64 <= MAX_FILE, "stdin: more than 64 MiB; give a part of it");
            bytes
        } else {
            store::bytes(path, MAX_FILE)
                .context("latido reads numbers from a file of at most 64 MiB, or from stdin with `-`")?
        };
        let text = String::from_utf8(decoded(&bytes).into_owned()).map_err(|error| {
            let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            anyhow::anyhow!("{name}:{line}: this is not UTF-8 text: write numbers as text")
        })?;
        Ok(Self { name, text })
    }

    /// An error at a line of this source.
    pub fn wrong(&self, at: &AtLine) -> anyhow::Error {
        match at.line {
            0 => anyhow::anyhow!("{}: {at}", self.name),
            line => anyhow::anyhow!("{}:{line}: {at}", self.name),
        }
    }
}

/// Returns the lines with content (neither blank nor a comment), with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let all = (1..).zip(text.lines().map(str::trim));
    all.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns whether the text is a word, like the head of a column, and not `nan` or `inf`.
fn is_word(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && !lower.starts_with("nan") && !lower.starts_with("inf")
}

/// Reads samples, one per line in order of time, and returns them in ns. Blank lines, lines that start with `#`, and a word in the first
/// line are skipped.
///
/// # Errors
/// A line is not a number, or not a whole number of nanoseconds.
pub fn samples(text: &str, unit: TimeUnit) -> Result<Vec<i64>, AtLine> {
    let mut samples = Vec::new();
    for (at, (line, text)) in lines(text).enumerate() {
        let text = unquoted(text);
        if at == 0 && is_word(text) && !text.contains(',') {
            continue;
        }
        samples.push(ns(text, unit).map_err(|what| AtLine { line, what })?);
    }
    match samples.is_empty() {
        true => Err(AtLine { line: 0, what: "there are no values: write one per line".into() }),
        false => Ok(samples),
    }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map_or(text, str::trim)
}

/// Returns a decimal number exactly, as its digits and a power of ten.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match rest.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok().filter(|power| power.abs() < 1_000)?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    if !mantissa.bytes().all(|b| b.is_ascii_digit() || b == b'.') || !mantissa.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let digit = |sum: i128, c: char| sum.checked_mul(10)?.checked_add(i128::from(c.to_digit(10)?));
    let digits = whole.chars().chain(fraction.chars()).try_fold(0_i128, digit)?;
    let power = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    Some((if negative { -digits } else { digits }, power))
}

/// Returns a sample in ns.
fn ns(text: &str, unit: TimeUnit) -> Result<i64, String> {
    let Some((digits, power)) = decimal(text) else { return Err(no_number(text, "one value per line")) };
    let (shown, power) = (short(text), power + unit.power());
    let scale = |power: i32| 10_i128.checked_pow(power.unsigned_abs());
    let ns = match scale(power) {
        _ if digits == 0 => Some(0),
        Some(scale) if power >= 0 => digits.checked_mul(scale),
        Some(scale) if digits % scale == 0 => Some(digits / scale),
        None if power >= 0 => None,
        _ => return Err(format!("`{shown}` is finer than one nanosecond: round it to whole nanoseconds")),
    };
    let small = ns.filter(|ns| ns.abs() <= LARGEST_NS).and_then(|ns| i64::try_from(ns).ok());
    small.ok_or_else(|| format!("`{shown}` is longer than 31 years: is --unit the right one?"))
}

fn no_number(text: &str, form: &str) -> String {
    format!("`{}` is not a number: {form}, for example 12, 12.5 or 1.25e1", short(text))
}

/// Returns the part of a text that an error quotes.
fn short(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { short + "..." } else { short }
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its line number.
    pub line: usize,
    /// The fields before the value.
    pub fields: Vec<String>,
    /// The value; times in ns.
    pub value: f64,
}

/// Lines of comma-separated fields. The last field of each is a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The words of the first line, if its last field is not a number.
    pub head: Option<Vec<String>>,
    /// The lines.
    pub rows: Vec<Row>,
}

/// Reads a table with this number of columns, or as many as its first line has. A field may be in double quotes (RFC 4180), but must end on
/// its line.
///
/// # Errors
/// A line has another number of columns, or no number at its end.
pub fn table(text: &str, columns: Option<usize>, unit: Option<TimeUnit>) -> Result<Table, AtLine> {
    let (mut columns, mut table) = (columns, Table { head: None, rows: Vec::new() });
    for (at, (line, text)) in lines(text).enumerate() {
        let wrong = |what: String| AtLine { line, what };
        if table.rows.len() >= MAX_ROWS {
            return Err(wrong("more than 100 000 lines: a value is one run, not one sample".into()));
        }
        let mut fields = fields(text).map_err(wrong)?;
        let wanted = *columns.get_or_insert(fields.len().max(2));
        if fields.len() != wanted {
            let many = |n: usize| if n == 1 { "1 column".to_string() } else { format!("{n} columns") };
            return Err(wrong(format!("{}, but the table has {wanted}, separated by commas", many(fields.len()))));
        }
        if at == 0 && fields.last().is_some_and(|last| is_word(last)) {
            table.head = Some(fields);
            continue;
        }
        let value = number(&fields.pop().unwrap_or_default(), unit).map_err(wrong)?;
        if let Some(empty) = fields.iter().position(String::is_empty) {
            return Err(wrong(format!("column {} is empty: every value needs its name there", empty + 1)));
        }
        table.rows.push(Row { line, fields, value });
    }
    match table.rows.is_empty() {
        true => Err(AtLine { line: 0, what: "there are no values".into() }),
        false => Ok(table),
    }
}

impl Table {
    /// Refuses values that have no ratio.
    ///
    /// # Errors
    /// A value is zero or negative.
    pub fn positive(&self, remedy: &str) -> Result<(), AtLine> {
        match self.rows.iter().find(|row| row.value <= 0.0) {
            Some(Row { line, value, .. }) => Err(AtLine {
                line: *line,
                what: format!("{value} is not above zero, and ratios need values above zero: {remedy}"),
            }),
            None => Ok(()),
        }
    }
}

fn fields(line: &str) -> Result<Vec<String>, String> {
    if line.bytes().filter(|byte| *byte == b'"').count() % 2 == 1 {
        return Err("a quote is not closed on its line".into());
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .buffer_capacity(line.len() + 1)
        .from_reader(line.as_bytes());
    let record = reader.records().next().and_then(Result::ok);
    record
        .map(|record| record.iter().map(str::to_string).collect())
        .ok_or_else(|| "this is not a line of a table".into())
}

/// Reads a number of a table.
fn number(text: &str, unit: Option<TimeUnit>) -> Result<f64, String> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    let value: Option<f64> = text.parse().ok().filter(|_| plain);
    let value = value.ok_or_else(|| match text {
        "" => "the value is missing".to_string(),
        _ => no_number(text, "the last column must be the value"),
    })?;
    let size = value.abs();
    let zero = !text.bytes().take_while(|b| !matches!(b, b'e' | b'E')).any(|b| matches!(b, b'1'..=b'9'));
    if !(zero || (1.0 / LARGEST..=LARGEST).contains(&size)) {
        return Err(format!("`{}` is out of range: values must be between 1e-30 and 1e30", short(text)));
    }
    Ok(value * unit.map_or(1.0, TimeUnit::in_ns))
}

/// Reads a distance between values: a number in their unit or, for times, one with its own unit, such as `20us`.
///
/// # Errors
/// It is neither.
pub fn amount(text: &str, unit: Option<TimeUnit>) -> Result<f64, String> {
    let split = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
    let (digits, own) = text.split_at(split);
    let unit = match (own, unit) {
        ("", unit) => unit,
        (own, Some(_)) => {
            Some(TimeUnit::from_str(own, false).map_err(|_| format!("`{text}`: a unit is ns, us, ms or s"))?)
        }
        (_, None) => {
            return Err(format!("`{text}`: the values have no unit: give one with --unit, or remove this one"));
        }
    };
    number(digits, unit).map_err(|_| format!("`{text}` is not a number"))
}

/// Reads a margin of a ratio, `5%`, as a part of 1.
///
/// # Errors
/// It has no percent sign, or is not above zero.
pub fn percent(text: &str) -> Result<f64, String> {
    let Some(percent) = text.strip_suffix('%') else {
        return Err(format!("`{text}`: the margin of a ratio has a percent sign: {text}%"));
    };
    let part = amount(percent.trim_end(), None)? / 100.0;
    if part > 0.0 { Ok(part) } else { Err(format!("`{text}`: the margin must be above zero")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A decimal number of microseconds gives exactly the nanoseconds that its digits name, in every notation.
        #[test]
        fn decimals_are_exact(ns in -1_000_000_000_000_000_000_i64..=1_000_000_000_000_000_000) {
            let (sign, size) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
            let text = format!("{sign}{}.{:03}\n{sign}{size}e-3\n", size / 1_000, size % 1_000);
            prop_assert_eq!(samples(&text, TimeUnit::Us), Ok(vec![ns, ns]));
        }
    }

    #[test]
    fn an_amount_has_the_unit_of_the_values_or_its_own() {
        assert_eq!(amount("20", Some(TimeUnit::Us)), Ok(20_000.0));
        assert_eq!(amount("-1.5ms", Some(TimeUnit::Us)), Ok(-1_500_000.0));
        assert_eq!(amount("0.5", None), Ok(0.5));
        for (text, unit) in [("20us", None), ("20h", Some(TimeUnit::Us)), ("", None), ("us", Some(TimeUnit::Us))] {
            assert!(amount(text, unit).is_err(), "{text}");
        }
    }
}
