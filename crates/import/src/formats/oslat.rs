//! `oslat`: the table of oslat as text.

use crate::{
    format::{Asked, Format},
    imported::{Ending, Imported},
    oslat::{self, Bias, Generation, Label, Row, Thread},
    text::{TORN, lines, number, numbers, plain, shown, torn},
};
use anyhow::{Context, Result, bail, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "oslat", about: "oslat's table as text, versions 1.9 to 2.10", recognise, read };

/// The beginning of the line with the frequencies up to 2.2.
const CPU: &[u8] = b"CPU Freq:";

/// The possible beginnings of that line.
const FREQUENCY: [&[u8]; 2] = [CPU, b"Counter Freq:"];

/// The most columns.
const MOST: usize = 8192;

fn recognise(bytes: &[u8]) -> bool {
    let key = |name: &[u8]| lines(bytes).take(100_000).any(|(_, line)| line.trim_ascii_start().starts_with(name));
    key(b"Core:") && FREQUENCY.iter().any(|name| key(name))
}

/// The content of the table, one element per column.
#[derive(Default)]
struct Table {
    cores: Vec<i64>,
    freq: Vec<i64>,
    megahertz: Option<bool>,
    of_cpu: bool,
    rows: Vec<(Label, Vec<i64>)>,
    including: bool,
    min: Option<Vec<String>>,
    max: Option<Vec<String>>,
    durations: Option<Vec<String>>,
    version: Option<String>,
    bias: Option<String>,
    priority: Option<String>,
    /// The lines after the table: a shell's prompt, the output of `time`.
    behind: Vec<String>,
}

/// latido's error for a file with two tables.
const SECOND: &str = "a second run: keep one run per file";

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = torn(bytes);
    let mut table = Table::default();
    for (at, line) in lines(bytes) {
        let clean = plain(line);
        let counts = table.line(clean.trim_ascii()).with_context(|| format!("line {at}"))?;
        ensure!(!counts || torn != Some(at), "line {at} {TORN}");
    }
    ensure!(!table.cores.is_empty(), "no line `Core:`");
    let whole = table.min.is_some() && table.max.is_some() && table.including;
    let threads = table.threads()?;
    let args = asked.args.as_deref().map(oslat::args_of);
    let zero = threads.iter().any(|one| one.min.as_deref().is_some_and(|text| text == "0"));
    let point = table.rows.iter().any(|(label, _)| label.ns() % 1000 != 0);
    // If the version is `2.10`, only the name of a line, or the case of a letter in it, distinguishes 2.1 from 2.10.
    let generation = match (table.megahertz, table.version.as_deref()) {
        _ if table.of_cpu => Generation::AddingOne,
        (Some(true), _) => Generation::Truncating,
        _ if zero || point => Generation::Truncating,
        (Some(false), Some("2.50" | "2.60")) => Generation::RoundingUp,
        (Some(false), Some(_)) => Generation::AddingOne,
        _ => Generation::Unknown,
    };
    let mut imported = Imported { version: table.version.clone(), ..oslat::imported(asked) };
    imported.policy = imported.policy.or(table.policy());
    for (index, thread) in (0u32..).zip(threads) {
        let told = thread.series(index, generation, args.as_ref(), &mut imported.notes);
        imported.series.push(told.with_context(|| format!("core {index} of the table"))?);
    }
    let durations = table.durations.iter().flatten().filter_map(|text| oslat::decimal_ns(text, 1_000_000_000));
    imported.elapsed_ns = durations.max().and_then(|ns| u64::try_from(ns).ok());
    imported.notes.extend(table.bias);
    imported.notes.extend(table.behind.first().map(|line| format!("latido skipped lines below the table: `{line}`")));
    if !whole {
        imported.ending = Ending::Interrupted("the file ends before the end of its table".into());
    }
    Ok(imported)
}

impl Table {
    /// Reads a line. Returns whether its numbers count.
    fn line(&mut self, line: &[u8]) -> Result<bool> {
        let after = |name: &[u8]| line.strip_prefix(name);
        // oslat prints these before its table.
        let head: [&[u8]; 4] = [b"oslat V ", b"Version:", b"Total runtime:", b"Thread priority:"];
        ensure!(self.cores.is_empty() || !head.iter().any(|head| line.starts_with(head)), SECOND);
        if let Some(rest) = after(b"Core:") {
            ensure!(self.cores.is_empty(), SECOND);
            self.cores = numbers(rest)?;
            ensure!(self.cores.len() <= MOST, "more than {MOST} cores");
            ensure!(
                self.cores.iter().all(|core| (0..=i64::from(u32::MAX)).contains(core)),
                "a core with an invalid number"
            );
        } else if let Some(rest) = FREQUENCY.into_iter().find_map(after) {
            let text = String::from_utf8_lossy(rest).into_owned();
            self.megahertz = Some(text.contains("(MHz)"));
            self.of_cpu = line.starts_with(CPU);
            self.freq = numbers(text.split('(').next().unwrap_or_default().as_bytes())?;
        } else if let Some(rest) = after(b"Minimum:") {
            self.min = Some(figures(rest)?);
        } else if let Some(rest) = after(b"Maximum:") {
            self.max = Some(figures(rest)?);
        } else if let Some(rest) = after(b"Duration:") {
            self.durations = Some(figures(rest)?);
        } else if let Some(rest) = after(b"oslat V ") {
            self.version = Some(shown(rest));
        } else if let Some(rest) = after(b"Thread priority:") {
            self.priority = Some(shown(rest));
        } else if line.starts_with(b"Global bias set to") {
            self.bias = Some(shown(line));
        } else if !self.cores.is_empty() && self.durations.is_none() && line.first().is_some_and(u8::is_ascii_digit) {
            self.row(line)?;
        } else if self.durations.is_some() && !line.is_empty() {
            ensure!(self.behind.len() < 10_000, "too many lines below the table");
            self.behind.push(shown(line));
            return Ok(false);
        } else if !self.cores.is_empty() && !line.is_empty() {
            let known: [&[u8]; 4] = [b"...", b"Average:", b"Max-Min:", b"Test"];
            ensure!(known.iter().any(|known| line.starts_with(known)), "not a line of the table: `{}`", shown(line));
            return Ok(false);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn row(&mut self, line: &[u8]) -> Result<()> {
        ensure!(!self.including, "a row behind the one that includes overflows");
        let text = String::from_utf8_lossy(line);
        let (label, rest) = text.split_once("(us):").context("a row without `(us):`")?;
        let label = Label::of(label.trim())?;
        let (counts, including) = match rest.split_once('(') {
            Some((counts, "including overflows)")) => (counts, true),
            Some(_) => bail!("a row with an unknown end: `{}`", shown(line)),
            None => (rest, false),
        };
        self.including = including;
        let counts = numbers(counts.as_bytes())?;
        ensure!(counts.len() == self.cores.len(), "{} columns, not {}", counts.len(), self.cores.len());
        ensure!(counts.iter().all(|count| *count >= 0), "a count below 0");
        let last = self.rows.last().map(|(label, _)| label.ns());
        ensure!(last.is_none_or(|last| last < label.ns()), "rows out of their order");
        self.rows.push((label, counts));
        Ok(())
    }

    fn policy(&self) -> Option<String> {
        let rest = self.priority.as_deref()?.strip_prefix("SCHED_FIFO:")?;
        Some(format!("fifo {}", number(rest.as_bytes())?))
    }

    /// Returns the columns as threads.
    fn threads(&self) -> Result<Vec<Thread>> {
        let of = |all: &Option<Vec<String>>, at: usize| -> Result<Option<String>> {
            let Some(all) = all else { return Ok(None) };
            ensure!(all.len() == self.cores.len(), "{} figures for {} cores", all.len(), self.cores.len());
            Ok(all.get(at).cloned())
        };
        let thread = |(at, core): (usize, &i64)| {
            let rows = self.rows.iter().map(|(label, counts)| Row {
                label: *label,
                count: counts.get(at).copied().and_then(|count| u64::try_from(count).ok()).unwrap_or(0),
            });
            Ok(Thread {
                cpu: u32::try_from(*core).ok(),
                rows: rows.collect(),
                last_includes: self.including,
                min: of(&self.min, at)?,
                max: of(&self.max, at)?,
                mhz: self.freq.get(at).copied(),
                bias: self.bias.as_deref().map(bias),
            })
        };
        self.cores.iter().enumerate().map(thread).collect()
    }
}

/// Reads a line such as `Global bias set to 1 (us)`.
fn bias(text: &str) -> Bias {
    let us = text.split_whitespace().find_map(|word| number(word.as_bytes()));
    Bias(us.and_then(|us| us.checked_mul(1_000)))
}

/// Returns the numbers of a line before its unit, as written.
fn figures(text: &[u8]) -> Result<Vec<String>> {
    let text = String::from_utf8_lossy(text);
    let (figures, _) = text.split_once('(').context("a line without its unit")?;
    Ok(figures.split_whitespace().map(str::to_owned).collect())
}
