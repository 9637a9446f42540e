//! What the outputs of rtla have in common: the table of its histogram, durations, what ended the run and which events it missed.

mod series;

use crate::{
    imported::{Ending, Finding, Imported, Interval, Series, Severity},
    text::{self, TORN, lines, number, plain, shown},
};
use anyhow::{Context, Result, bail, ensure};

/// The most columns, and the most rows.
const MOST: (usize, usize) = (8192, 10_000_000);
/// The lines below the rows.
const FOOTER: [&str; 5] = ["over", "count", "min", "avg", "max"];

/// A histogram as read from the file.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The unit in ns.
    pub unit: i64,
    /// How long rtla measured.
    pub elapsed_ns: Option<u64>,
    /// The columns with their names: `IRQ-000`.
    pub columns: Vec<Column>,
    /// The value of the last row.
    pub last: Option<i64>,
    /// The width of bins in the unit: the greatest common divisor of the rows' values; 0 where the rows do not determine it.
    pub width: i64,
    /// Whether the footer is complete.
    pub whole: bool,
    /// The lines below the table.
    pub rest: Vec<String>,
    /// The lines with `#` above the title, which the file's author added.
    pub remarks: Vec<String>,
}

/// A column.
#[derive(Debug, Default)]
pub struct Column {
    /// What the column counts: `IRQ`, `CPU`.
    pub kind: String,
    /// The CPU of the column.
    pub cpu: u32,
    /// Rows with their counts, ascending, without the rows of count 0.
    pub rows: Vec<(i64, u64)>,
    /// The number of samples above the last row.
    pub over: Option<u64>,
    /// The number of all samples.
    pub count: Option<u64>,
    /// The smallest value.
    pub min: Option<i64>,
    /// The mean as printed, whole or with two decimals, in hundredths; and whether it has decimals.
    pub avg: Option<(i64, bool)>,
    /// The largest value.
    pub max: Option<i64>,
}

/// Whether the text has a line `# RTLA NAME`.
pub fn titled(bytes: &[u8], title: &str) -> bool {
    lines(bytes).take(100).any(|(_, line)| plain(line).trim_ascii() == title.as_bytes())
}

/// Parses a time as rtla prints it: `0 00:00:04`, days first. Returns ns.
pub fn duration(text: &str) -> Option<u64> {
    let (days, clock) = text.trim().split_once(' ')?;
    let mut sum = days.parse::<u64>().ok()?;
    let mut parts = clock.trim().split(':');
    for base in [24, 60, 60] {
        sum = sum.checked_mul(base)?.checked_add(parts.next()?.parse().ok().filter(|part| *part < base)?)?;
    }
    parts.next().is_none().then_some(sum)?.checked_mul(1_000_000_000)
}

/// Reads the histogram below its title.
///
/// # Errors
/// What is wrong, and in which line.
pub fn histogram(bytes: &[u8], title: &str) -> Result<Histogram> {
    let torn = text::torn(bytes);
    let mut all = Histogram::default();
    let (mut titles, mut begun, mut ended, mut summed, mut footer) = (false, false, false, false, 0);
    for (at, raw) in lines(bytes) {
        let clean = plain(raw);
        let line = String::from_utf8_lossy(&clean);
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if torn == Some(at) {
            // No number of a torn line counts.
            ensure!(titles, "line {at} {TORN}");
            all.whole = false;
            break;
        }
        let name = line.split_once(':').map(|(name, _)| name);
        if line == title {
            ensure!(!titles, "line {at}: a second histogram: keep one run per file");
            titles = true;
        } else if !titles {
            // These lines are a shell's prompt or warnings.
            let remark = line.strip_prefix('#').filter(|_| all.remarks.len() < 10_000);
            all.remarks.extend(remark.map(|remark| shown(remark.as_bytes())));
        } else if let Some(text) = line.strip_prefix('#').filter(|_| !begun) {
            all.heading(at, text.trim())?;
        } else if !begun {
            ensure!(
                line.split_ascii_whitespace().next() == Some("Index"),
                "line {at}: no `Index`: with --no-index or --no-header its bins are lost"
            );
            begun = true;
            all.columns = columns(line).with_context(|| format!("line {at}"))?;
        } else if !ended && line.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            ensure!(footer == 0, "line {at}: a row below `over:`");
            all.row(line).with_context(|| format!("line {at}"))?;
        } else if let Some(place) = name.and_then(|name| FOOTER.iter().position(|own| *own == name)) {
            if !summed {
                ensure!(place == footer, "line {at}: `{}:` out of its order", FOOTER.get(place).unwrap_or(&""));
                all.footer(line).with_context(|| format!("line {at}"))?;
                footer += 1;
                ended = footer == FOOTER.len();
                all.whole = ended;
            }
        } else if name == Some("ALL") {
            summed = true;
        } else {
            ensure!(all.rest.len() < 10_000, "line {at}: too many lines below the histogram");
            all.rest.push(shown(&clean));
        }
    }
    ensure!(titles, "no line `{title}`: with --no-header its unit and columns are lost");
    ensure!(begun, "the file ends before its line `Index`");
    ensure!(all.unit > 0, "no line `# Time unit is`");
    all.without_empty()
}

fn columns(line: &str) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for word in line.split_ascii_whitespace().skip(1) {
        ensure!(columns.len() < MOST.0, "more than {} columns", MOST.0);
        let (kind, cpu) =
            word.split_once('-').with_context(|| format!("`{}` is not a column", shown(word.as_bytes())))?;
        let cpu = cpu.parse().with_context(|| format!("`{}` has no CPU", shown(word.as_bytes())))?;
        let again = columns.iter().any(|known: &Column| known.kind == kind && known.cpu == cpu);
        ensure!(!again, "a second column `{}`", shown(word.as_bytes()));
        columns.push(Column { kind: kind.into(), cpu, ..Column::default() });
    }
    Ok(columns)
}

/// Parses a count; a negative one has wrapped.
fn count(word: &str) -> Result<u64> {
    let value = number(word.as_bytes()).with_context(|| format!("`{}` is not a count", shown(word.as_bytes())))?;
    u64::try_from(value).with_context(|| format!("the count {value} has wrapped: rtla keeps 31 bits"))
}

/// Parses a number with no decimals or with two, in hundredths, and returns whether it has decimals.
fn hundredths(word: &str) -> Option<(i64, bool)> {
    let Some((whole, part)) = word.split_once('.') else {
        return Some((number(word.as_bytes())?.checked_mul(100)?, false));
    };
    let part = (part.len() == 2).then(|| number(part.as_bytes())).flatten().filter(|part| *part >= 0)?;
    Some((number(whole.as_bytes()).filter(|whole| *whole >= 0)?.checked_mul(100)?.checked_add(part)?, true))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Histogram {
    /// Reads a line `#` between the title and the table: the unit or the duration.
    fn heading(&mut self, at: usize, text: &str) -> Result<()> {
        if let Some(unit) = text.strip_prefix("Time unit is ") {
            self.unit = match unit.rsplit_once('(').map(|(_, unit)| unit) {
                Some("us)") => 1000,
                Some("ns)") => 1,
                _ => bail!("line {at}: a unit that is neither us nor ns: `{}`", shown(unit.as_bytes())),
            };
        } else if let Some(text) = text.strip_prefix("Duration:") {
            self.elapsed_ns = Some(duration(text).with_context(|| format!("line {at}: no duration"))?);
        }
        Ok(())
    }

    /// Returns the histogram without the columns that count 0 samples: a CPU without samples has no figures either.
    fn without_empty(mut self) -> Result<Self> {
        for column in self.columns.iter().filter(|column| column.count == Some(0)) {
            let none = column.rows.is_empty() && column.over.unwrap_or(0) == 0;
            ensure!(none, "{}-{:03}: its rows have samples, but it counts 0", column.kind, column.cpu);
        }
        self.columns.retain(|column| column.count != Some(0));
        Ok(self)
    }

    fn row(&mut self, line: &str) -> Result<()> {
        let mut words = line.split_ascii_whitespace();
        let value = words.next().and_then(|word| number(word.as_bytes())).filter(|value| *value >= 0);
        let value = value.context("no row of a histogram")?;
        let last = self.last.unwrap_or_default();
        ensure!(self.last.is_none_or(|last| last < value), "row {value} does not follow row {last}: rows must ascend");
        let mut had = 0;
        for word in words {
            let column = self.columns.get_mut(had).context("more columns than its header has")?;
            let count = count(word)?;
            if count > 0 {
                ensure!(column.rows.len() < MOST.1, "more than {} rows", MOST.1);
                column.rows.push((value, count));
            }
            had += 1;
        }
        ensure!(had == self.columns.len(), "{had} columns, but its header has {}", self.columns.len());
        self.width = gcd(value, self.width);
        self.last = Some(value);
        Ok(())
    }

    fn footer(&mut self, line: &str) -> Result<()> {
        let (name, values) = line.split_once(':').context("no name")?;
        let words: Vec<&str> = values.split_ascii_whitespace().collect();
        // Without columns rtla 6.1 prints nothing; newer versions print a 0.
        if self.columns.is_empty() {
            ensure!(matches!(words[..], [] | ["0"]), "figures without a column");
            return Ok(());
        }
        ensure!(
            words.len() == self.columns.len(),
            "{} columns, but its header has {}",
            words.len(),
            self.columns.len()
        );
        for (column, word) in self.columns.iter_mut().zip(words) {
            // Up to 6.9 rtla prints 2^64 - 1 as the smallest value of a column without samples.
            let empty = column.count == Some(0) && ["min", "avg", "max"].contains(&name);
            if word == "-" || empty {
                continue;
            }
            let value =
                || number(word.as_bytes()).with_context(|| format!("`{}` is not a number", shown(word.as_bytes())));
            match name {
                "over" => column.over = Some(count(word)?),
                "count" => column.count = Some(count(word)?),
                "min" => column.min = Some(value()?),
                "max" => column.max = Some(value()?),
                _ => {
                    column.avg =
                        Some(hundredths(word).with_context(|| format!("`{}` is not a mean", shown(word.as_bytes())))?)
                }
            }
        }
        Ok(())
    }
}

/// Adds what follows a table to the import: a stop with its analysis, missed events, and what ended the run.
pub fn rest(imported: &mut Imported, rest: &[String], whole: bool) {
    let stopped = rest.iter().any(|line| line.contains("hit stop tracing"));
    let missed = |line: &&String| line.contains("events missed");
    for line in rest.iter().filter(missed) {
        imported.findings.push(Finding {
            severity: Severity::Contaminated,
            name: "missed events".into(),
            text: line.trim().into(),
        });
    }
    imported.notes.extend(rest.iter().filter(|line| !missed(line)).cloned());
    if stopped {
        let thread = rest.iter().find_map(|line| line.trim().strip_prefix("## CPU ")?.split(' ').next()?.parse().ok());
        let thread = thread.and_then(|cpu: u32| imported.series.iter().find(|one| one.cpu == Some(cpu)));
        let told = rest.iter().rev().find_map(|line| latency(line));
        imported.ending = Ending::Stopped {
            value: told.unwrap_or_else(|| reach(&imported.series)),
            thread: thread.map(|one| one.thread),
        };
    } else if !whole {
        imported.ending = Ending::Interrupted("the file ends before the end of its footer".into());
    }
}

/// Parses the value that stopped the run from the last line of its analysis: `Thread latency: 3700.60 us (100%)`.
fn latency(line: &str) -> Option<Interval> {
    let text = line.trim();
    let text = text.strip_prefix("Thread latency:").or_else(|| text.strip_prefix("IRQ latency:"))?;
    // Only the last line of the analysis gives the whole latency.
    let (us, _) = text.trim().split_once(" us").filter(|(_, share)| share.trim() == "(100%)")?;
    let ns = hundredths(us)?.0.checked_mul(10)?;
    Some(Interval::between(ns.checked_sub(5)?, ns.checked_add(5)?))
}

/// Returns the interval from the smallest to the largest value of all series.
fn reach(series: &[Series]) -> Interval {
    let low = series.iter().filter_map(|one| Some(one.min?.low)).min().unwrap_or(0);
    Interval { low, high: series.iter().filter_map(|one| one.max?.high).max() }
}

/// Returns the index of a CPU among those seen so far, adding it if it is new. The index stands for the thread.
pub fn place(cpus: &mut Vec<u32>, cpu: u32) -> u32 {
    let place = cpus.iter().position(|known| *known == cpu).unwrap_or_else(|| {
        cpus.push(cpu);
        cpus.len() - 1
    });
    u32::try_from(place).unwrap_or(u32::MAX)
}
