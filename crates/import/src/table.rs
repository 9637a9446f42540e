//! The histogram that cyclictest and cyclicdeadline print: rows of counts, then a footer of `#` lines.

use crate::{
    floors::Figures,
    text::{self, TORN, lines, many, number, numbers, plain, shown},
};
use anyhow::{Context, Result, bail, ensure};

/// The most columns that latido reads: threads, and the sum.
const MOST_COLUMNS: usize = 8193;
/// The most rows.
const MOST_ROWS: usize = 10_000_000;
/// The number of rows that must add up before latido takes the last column of a file without a footer for the sum of the others.
const SUMS: usize = 8;

/// The remark about values beyond the rows in the earliest versions.
const BEYOND: &str = "this version counts no value beyond its rows, and takes the largest value from the rows";

/// A histogram as read from the file.
#[derive(Debug, Default)]
pub struct Table {
    /// One entry per thread.
    pub threads: Vec<Figures>,
    /// Whether the footer has all lines that matter.
    pub whole: bool,
    /// The value that stopped the run, and its thread (`-b`).
    pub broken: Option<(i64, Option<usize>)>,
    /// SMIs per thread, where the tool counted them.
    pub smis: Vec<i64>,
    /// Contradictions between the sums and the other numbers.
    pub doubts: Vec<String>,
    /// Lines before the histogram that the file's author added, and notes on how latido read the file.
    pub remarks: Vec<String>,
}

/// The lines of the footer, each with its line number.
#[derive(Default)]
struct Footer {
    total: Option<(usize, Vec<i64>)>,
    min: Option<(usize, Vec<i64>)>,
    avg: Option<(usize, Vec<i64>)>,
    max: Option<(usize, Vec<i64>)>,
    over: Option<(usize, Vec<i64>)>,
    /// Versions from 0.56 to 0.74 print no smallest values.
    no_min: bool,
    /// Still earlier versions end with the largest value of all threads.
    ends: bool,
    ids: Vec<i64>,
    break_thread: Option<i64>,
    break_value: Option<i64>,
}

/// What the footer says of each thread, without the sums.
struct Said {
    total: Option<Vec<i64>>,
    min: Option<Vec<i64>>,
    avg: Option<Vec<i64>>,
    max: Option<Vec<i64>>,
    over: Option<Vec<i64>>,
}

/// The counts per column, without the rows of 0.
#[derive(Default)]
struct Rows {
    columns: Vec<Vec<(i64, u64)>>,
    /// The value of the last row.
    last: Option<i64>,
    /// The number of rows that have a count, and the number of rows whose last column is the sum of the others.
    counted: usize,
    adding_up: usize,
}

/// The first line of a histogram.
const HEADING: &[u8] = b"# Histogram";

/// Whether a text contains such a histogram.
pub fn has(bytes: &[u8]) -> bool {
    is_headed(bytes) || has_without_heading(bytes)
}

fn is_headed(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| plain(line).as_ref() == HEADING)
}

/// Whether a text contains a histogram without its heading, as in the log of a console: rows, and a footer with the number of samples that
/// the rows must have.
fn has_without_heading(bytes: &[u8]) -> bool {
    let mut all = lines(bytes).map(|(_, line)| plain(line)).skip_while(|line| !is_row(line));
    all.next().is_some() && all.any(|line| line.starts_with(b"# Total:"))
}

/// Whether a line is a row and nothing else: numbers of six or more digits.
fn is_row(line: &[u8]) -> bool {
    let number = |word: &[u8]| word.len() >= NONE.len() && word.iter().all(u8::is_ascii_digit);
    Words(line).count() > 1 && Words(line).all(number)
}

/// Reads the histogram of a text. `sum` is whether the command line requested the sum column; `None` if that is unknown.
///
/// # Errors
/// What is wrong, and in which line.
pub fn read(bytes: &[u8], sum: Option<bool>) -> Result<Table> {
    let torn = text::torn(bytes);
    let (mut table, mut rows, mut footer) = (Table::default(), Rows::default(), Footer::default());
    let (mut begun, mut ended) = (false, false);
    let (headed, mut behind) = (is_headed(bytes), None);
    for (at, line) in lines(bytes) {
        let clean = plain(line);
        let line = clean.as_ref();
        let row = line.first().is_some_and(u8::is_ascii_digit);
        if !headed && !begun && is_row(line) {
            begun = true;
            table.remarks.push("its line `# Histogram` is missing, but the rows add up to their total".into());
        }
        if line == HEADING {
            ensure!(!begun, "line {at}: a second histogram: keep one run per file");
            begun = true;
        } else if !begun {
            if let Some(remark) = line.strip_prefix(b"#") {
                table.remarks.push(shown(remark));
            }
        } else if row && !ended {
            ensure!(torn != Some(at), "line {at} {TORN}");
            rows.add(line).with_context(|| format!("line {at}"))?;
        } else if let Some(text) = line.strip_prefix(b"#") {
            ended = true;
            let counts = footer.line(at, text, &mut table).with_context(|| format!("line {at}"))?;
            ensure!(!counts || torn != Some(at), "line {at} {TORN}");
        } else if !line.is_empty() {
            ensure!(ended && !row, "line {at}: neither a row of the histogram nor its footer: `{}`", shown(line));
            behind.get_or_insert((at, shown(line)));
        }
    }
    let passed =
        behind.map(|(at, text)| format!("latido skipped the text after the footer, from line {at} on: `{text}`"));
    table.remarks.extend(passed);
    ensure!(begun, "no line `# Histogram`");
    ensure!(headed || footer.total.is_some(), "neither a line `# Histogram` nor one `# Total:`");
    let ends = footer.over.is_some() && footer.max.is_some() && (footer.min.is_some() || footer.no_min);
    table.whole = ends || footer.ends;
    let threads = rows.threads(&footer, sum)?;
    // This is the first line of latido's own export.
    let converted = table.remarks.iter().any(|remark| remark.starts_with("latido ") && remark.contains(" run "));
    (table.threads, table.doubts) = footer.figures(rows, threads, converted, headed)?;
    let broken_thread = footer.break_thread.and_then(|id| footer.ids.iter().position(|own| *own == id));
    table.broken = footer.break_value.map(|value| (value, broken_thread));
    Ok(table)
}

impl Rows {
    fn add(&mut self, line: &[u8]) -> Result<()> {
        let mut words = Words(line);
        let value = words.next().and_then(number).context("no row of a histogram")?;
        let last = self.last.unwrap_or_default();
        ensure!(self.last.is_none_or(|last| last < value), "row {value} does not follow row {last}: rows must ascend");
        let first = self.last.is_none();
        let (mut column, mut sum, mut latest) = (0, 0u64, 0u64);
        for word in words {
            sum = sum.checked_add(latest).context("more than 2^64 samples")?;
            if word == NONE && !first {
                (latest, column) = (0, column + 1);
                continue;
            }
            latest = count(word).with_context(|| format!("`{}` is not a count", shown(word)))?;
            if first {
                ensure!(column < MOST_COLUMNS, "more than {MOST_COLUMNS} columns");
                self.columns.push(Vec::new());
            }
            let counts = self.columns.get_mut(column).context("more columns than the row before")?;
            if latest > 0 {
                ensure!(counts.len() < MOST_ROWS, "more than {MOST_ROWS} rows");
                counts.push((value, latest));
            }
            column += 1;
        }
        ensure!(column > 0 && column == self.columns.len(), "{column} columns, not {}", self.columns.len());
        self.last = Some(value);
        if sum > 0 || latest > 0 {
            self.counted += 1;
            self.adding_up += usize::from(sum == latest);
        }
        Ok(())
    }

    /// Returns how many columns are threads: by the footer, else by the command line, else by which columns add up.
    fn threads(&self, footer: &Footer, asked: Option<bool>) -> Result<usize> {
        let columns = self.columns.len();
        let adds_up = columns > 1 && self.adding_up == self.counted;
        if let Some((at, min)) = &footer.min {
            let threads = min.len();
            ensure!(threads > 0, "line {at}: no thread");
            ensure!(threads <= MOST_COLUMNS, "line {at}: more than {MOST_COLUMNS} threads");
            let sum = columns == threads + 1;
            ensure!(
                columns == 0 || columns == threads || sum,
                "line {at}: {}, but {}",
                many(threads as u64, "thread"),
                many(columns as u64, "column")
            );
            return Ok(threads);
        }
        match asked {
            _ if columns == 0 => bail!("the file ends before its first row"),
            Some(false) => Ok(columns),
            Some(true) => Ok(columns.saturating_sub(1).max(1)),
            None if !adds_up => Ok(columns),
            None if self.counted >= SUMS => Ok(columns - 1),
            None => bail!("the file ends before the footer that shows whether its last column is the sum: add --args"),
        }
    }
}

impl Footer {
    /// Reads a line without its `#`. Returns whether its content counts.
    fn line(&mut self, at: usize, line: &[u8], table: &mut Table) -> Result<bool> {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { return Ok(false) };
        let (name, rest) = line.split_at(colon);
        let rest = rest.get(1..).unwrap_or_default();
        let field = match name.trim_ascii() {
            b"Total" => &mut self.total,
            b"Min Latencies" => &mut self.min,
            b"Avg Latencies" => &mut self.avg,
            b"Max Latencies" => &mut self.max,
            b"Max Latencys" => {
                self.no_min = true;
                &mut self.max
            }
            b"Max Latency" => {
                self.ends = true;
                table.remarks.push(format!("`Max Latency:{}` of all threads: {BEYOND}", shown(rest)));
                return Ok(true);
            }
            b"Histogram Overflows" => &mut self.over,
            b"SMIs" => {
                table.smis = numbers(rest)?;
                return Ok(true);
            }
            b"Thread Ids" => {
                self.ids = numbers(rest)?;
                return Ok(true);
            }
            b"Break thread" => {
                self.break_thread = number(rest);
                return Ok(true);
            }
            b"Break value" => {
                self.break_value = Some(number(rest).context("no break value")?);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        ensure!(field.is_none(), "a second line `{}`", shown(name));
        *field = Some((at, numbers(rest)?));
        Ok(true)
    }

    /// Returns what the footer says of each thread, without the sums, and adds a doubt for each sum that does not fit.
    fn split(&self, threads: usize, summed: bool, doubts: &mut Vec<String>) -> Result<Said> {
        let uneven = |at: usize, values: &[i64]| {
            let (numbers, threads) = (many(values.len() as u64, "number"), many(threads as u64, "thread"));
            format!("line {at}: {numbers} for {threads}")
        };
        let mut of = |line: &Option<(usize, Vec<i64>)>, sum: fn(&[i64]) -> Option<i64>| -> Result<Option<Vec<i64>>> {
            let Some((at, values)) = line else { return Ok(None) };
            let (own, more) = values.split_at_checked(threads).with_context(|| uneven(*at, values))?;
            let sums = more.is_empty() || (summed && more.len() == 1 && sum(own) == more.first().copied());
            ensure!(summed || more.is_empty(), "{}", uneven(*at, values));
            if !sums {
                doubts.push(format!("line {at}: the last number is not the sum, or the largest, of the others"));
            }
            Ok(Some(own.to_vec()))
        };
        let added = |own: &[i64]| own.iter().try_fold(0i64, |sum, value| sum.checked_add(*value));
        let largest = |own: &[i64]| own.iter().max().copied();
        let total = of(&self.total, added)?;
        let (min, avg) = (of(&self.min, |_| None)?, of(&self.avg, |_| None)?);
        let (max, over) = (of(&self.max, largest)?, of(&self.over, added)?);
        Ok(Said { total, min, avg, max, over })
    }

    /// Returns the figures of each thread, and the doubts.
    fn figures(
        &self,
        rows: Rows,
        threads: usize,
        converted: bool,
        headed: bool,
    ) -> Result<(Vec<Figures>, Vec<String>)> {
        let summed = rows.columns.len() > threads;
        let rows_off = rows.counted - rows.adding_up;
        let mut doubts = Vec::new();
        let lone = summed && rows_off > 0 && self.total.is_none();
        if summed && rows_off > 0 {
            let what = if lone {
                "the file does not show which is right, so latido uses no row"
            } else {
                "the totals of the threads fit their rows"
            };
            let rows_off = many(rows_off as u64, "row");
            doubts.push(format!("in {rows_off} the last column is not the sum of the others: {what}"));
        }
        let said = self.split(threads, summed, &mut doubts)?;
        let end = rows.last.map_or(0, |last| last.saturating_add(1));
        let mut columns = rows.columns;
        columns.resize(threads, Vec::new());
        let at = |line: &Option<Vec<i64>>, thread: usize| line.as_ref().and_then(|line| line.get(thread).copied());
        let figures = columns.into_iter().enumerate().map(|(thread, rows)| {
            let within: u64 = rows.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
            let total =
                at(&said.total, thread).map(|total| u64::try_from(total).context("a total below 0")).transpose()?;
            // Without a heading only the total shows that these are all rows.
            let all = headed || total.is_none_or(|total| total == within);
            let (rows_have, total_is) = (many(within, "sample"), total.unwrap_or(0));
            ensure!(all, "thread {thread}: its rows have {rows_have}, but its total is {total_is}");
            let over = at(&said.over, thread)
                .map(|over| u64::try_from(over).context("samples beyond the rows below 0"))
                .transpose()?;
            // Rows begin at 0, so no value is below the first row.
            let first = || rows.iter().map(|(value, _)| *value).min().filter(|_| self.no_min || self.ends);
            let (min, max) = (at(&said.min, thread).or_else(first), at(&said.max, thread));
            // A thread without a cycle prints its start values.
            let unseen = within == 0 && over == Some(0) && total.unwrap_or(0) == 0;
            let (min, max) = if unseen { (None, None) } else { (min, max) };
            let mean = at(&said.avg, thread).filter(|_| !unseen).map(|avg| [avg as f64, avg as f64 + 1.0]);
            if lone {
                return Ok(Figures { min, max, mean, converted, ..Figures::default() });
            }
            Ok(Figures { rows, collected: true, end, over, min, max, mean, count: None, total, converted })
        });
        let figures = figures.collect::<Result<_>>()?;
        Ok((figures, doubts))
    }
}

/// The words of a row, separated by blanks and tabs.
struct Words<'a>(&'a [u8]);

/// A column without samples as cyclictest prints it: most of a table consists of these.
const NONE: &[u8] = b"000000";

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let gap = |byte: &u8| matches!(byte, b' ' | b'\t');
        if let Some((none, [b'\t', rest @ ..])) = self.0.split_at_checked(NONE.len()).filter(|(word, _)| *word == NONE)
        {
            self.0 = rest;
            return Some(none);
        }
        let begin = self.0.iter().position(|byte| !gap(byte))?;
        let (_, rest) = self.0.split_at_checked(begin)?;
        let (word, rest) = rest.split_at_checked(rest.iter().position(gap).unwrap_or(rest.len()))?;
        self.0 = rest;
        Some(word)
    }
}

/// Parses a count: digits only.
#[inline]
fn count(word: &[u8]) -> Option<u64> {
    if word == NONE {
        return Some(0);
    }
    // A number of at most 18 digits is below 2^63. A table has hundreds of thousands of them, so this path is fast.
    if word.is_empty() || word.len() > 18 {
        return number(word).and_then(|count| u64::try_from(count).ok());
    }
    word.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The fast path over columns without samples changes no word: the words of any row are the texts between its gaps.
        #[test]
        fn words_are_what_lies_between_gaps(row in "(0{5,7}|[0-9]{1,8}|[ \t]){0,24}") {
            let plain = row.split([' ', '\t']).filter(|word| !word.is_empty());
            prop_assert_eq!(Words(row.as_bytes()).collect::<Vec<_>>(), plain.map(str::as_bytes).collect::<Vec<_>>());
            for word in Words(row.as_bytes()).filter(|word| word.len() < 19) {
                prop_assert_eq!(count(word), std::str::from_utf8(word).unwrap().parse().ok());
            }
        }
    }

    /// A number beyond 2^63 is none, and takes the slow path.
    #[test]
    fn a_count_beyond_the_range_is_no_count() {
        assert_eq!(Words(b"10000000000000000000\t").map(count).collect::<Vec<_>>(), [None]);
        assert_eq!(count(b"999999999999999999"), Some(999_999_999_999_999_999));
        assert_eq!(count(b"9223372036854775807"), Some(9_223_372_036_854_775_807));
    }
}
