//! `cyclictest-v`: the output of `cyclictest -v`: one line per cycle, or with `-o` one per maximum of several cycles.

use crate::{
    cyclictest,
    floors::{Figures, Floors},
    format::{Asked, Format},
    imported::{Finding, Imported, Series, Severity},
    status::{self, Smallest, Status},
    text::{self, TORN, many, plain, shown},
};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;

/// The list entry.
pub const FORMAT: Format = Format {
    name: "cyclictest-v",
    about: "cyclictest -v: a line for each cycle (or, with -o, for the largest of some)",
    recognise,
    read,
};

/// Values below this count in a table, others in a tree. The table of a thread has up to twice as many places as it has lines times
/// [`PLACES`], so that a line with a large value takes no more memory than one with a small value.
const TABLE: usize = 1 << 16;
const PLACES: u64 = 8;

/// The most threads.
const MOST_THREADS: usize = 8192;

/// A line: thread, cycle, value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The thread's index.
    pub thread: u32,
    /// The cycle, from 0.
    pub cycle: u64,
    /// The value in the tool's unit.
    pub value: i64,
}

/// Reads a line: `%8d:%8lu:%8ld`, which a count of SMIs may follow. Returns `None` for anything else.
#[inline]
pub fn line(text: &[u8]) -> Option<Line> {
    let (thread, rest) = digits(text)?;
    let (cycle, rest) = digits(rest.strip_prefix(b":")?)?;
    let rest = rest.strip_prefix(b":")?;
    let rest = skip(rest);
    let (negative, rest) = rest.strip_prefix(b"-").map_or((false, rest), |rest| (true, rest));
    let (value, rest) = digits(rest)?;
    let rest = rest.trim_ascii();
    let smi = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii();
    if !smi.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = i64::try_from(value).ok()?;
    Some(Line { thread: u32::try_from(thread).ok()?, cycle, value: if negative { -value } else { value } })
}

#[inline]
fn skip(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    text.get(blanks..).unwrap_or_default()
}

/// Reads a number after blanks. Returns it and the rest of the text.
#[inline]
fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut rest = skip(text);
    let before = rest.len();
    let mut sum = 0u64;
    while let [digit @ b'0'..=b'9', more @ ..] = rest {
        sum = sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        rest = more;
    }
    (rest.len() < before).then_some((sum, rest))
}

fn recognise(bytes: &[u8]) -> bool {
    // Other messages and the status lines of a terminal may come before.
    text::lines(bytes).take(1000).filter_map(|(_, one)| line(one)).take(2).count() > 0
}

/// What the lines show of a thread.
#[derive(Default)]
struct Thread {
    table: Vec<u64>,
    others: BTreeMap<i64, u64>,
    lines: u64,
    /// The number of steps of more than one cycle, and the number of cycles without a line.
    jumps: u64,
    skipped: u64,
    last: Option<u64>,
}

impl Thread {
    fn add(&mut self, line: Line) -> Result<()> {
        match self.last {
            Some(last) if last >= line.cycle => bail!("cycle {} of thread {} after {last}", line.cycle, line.thread),
            Some(last) if last + 1 < line.cycle => {
                self.jumps += 1;
                self.skipped = self.skipped.saturating_add(line.cycle - last - 1);
            }
            // A first line of -o has a cycle above 0, too. With few lines latido claims only the extremes of the lines.
            None => {
                self.skipped = line.cycle;
                self.jumps = u64::from(line.cycle > 0);
            }
            Some(_) => {}
        }
        self.last = Some(line.cycle);
        self.lines += 1;
        let room = self.lines.saturating_mul(PLACES);
        let is_near = |value: &usize| *value < self.table.len() || (*value < TABLE && (*value as u64) < room);
        match usize::try_from(line.value).ok().filter(is_near) {
            Some(at) => {
                if self.table.len() <= at {
                    self.table.resize((at + 1).next_power_of_two(), 0);
                }
                if let Some(count) = self.table.get_mut(at) {
                    *count += 1;
                }
            }
            None => *self.others.entry(line.value).or_default() += 1,
        }
        Ok(())
    }

    /// Returns whether the cycles jump so often that each line must be the largest of several cycles.
    fn jumps_often(&self) -> bool {
        self.jumps * 10 > self.lines
    }

    /// Adds to the import which cycles of the thread have no line. `counted` is how many cycles the tool counts.
    fn tell_missing(&self, imported: &mut Imported, index: u32, counted: Option<u64>) {
        let skipped = self.skipped;
        let unprinted = counted.and_then(|all| all.checked_sub(self.lines)).unwrap_or(0);
        if skipped > 0 {
            imported.findings.push(Finding {
                severity: Severity::Contaminated,
                name: "lost cycles".into(),
                text: format!("{skipped} cycles of thread {index} have no line: the ring of 16384 was overwritten"),
            });
        } else if unprinted > 0 {
            imported.notes.push(format!("the last {unprinted} cycles of thread {index} were not printed"));
        }
    }

    /// Returns the values with their counts, ascending.
    fn rows(self) -> Vec<(i64, u64)> {
        let table = (0..).zip(self.table).filter(|(_, count)| *count > 0);
        // The rows are sorted, and the two counts of a value that is in both are added.
        let mut rows: Vec<(i64, u64)> = table.chain(self.others).collect();
        rows.sort_unstable();
        rows.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        rows
    }
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = cyclictest::unit(asked, bytes);
    let torn = text::torn(bytes);
    let mut threads: Vec<Thread> = Vec::new();
    for (at, raw) in text::lines(bytes) {
        let found = line(raw).or_else(|| raw.contains(&0x1b).then(|| line(&plain(raw))).flatten());
        if let Some(found) = found {
            ensure!(torn != Some(at), "line {at} {TORN}");
            let index = found.thread as usize;
            ensure!(index < MOST_THREADS, "line {at}: thread {index}, but latido reads at most {MOST_THREADS} threads");
            if threads.len() <= index {
                threads.resize_with(index + 1, Thread::default);
            }
            let thread = threads.get_mut(index).context("a thread")?;
            thread.add(found).with_context(|| format!("line {at}"))?;
        } else {
            let clean = plain(raw);
            let odd = clean.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
            ensure!(!odd, "line {at}: not a line of -v: `{}`", shown(&clean));
        }
    }
    ensure!(!threads.is_empty(), "the file has no line of -v: THREAD: CYCLE: VALUE");
    // These are the final figures of all threads, if the tool lived to print them.
    let last = status::read(bytes, Smallest::OfAll).unwrap_or_default();
    let mut imported = cyclictest::described("cyclictest", asked);
    imported.findings.extend(cyclictest::unit_taken(asked, bytes));
    let reduced = cyclictest::args(asked).is_some_and(|args| args.has('o', "oscope"));
    for (index, thread) in (0u32..).zip(threads) {
        if thread.lines == 0 {
            continue;
        }
        let status = last.iter().find(|one| one.thread == index);
        let series = if reduced || thread.jumps_often() {
            imported.notes.push(format!(
                "lines of thread {index} are the largest of several cycles each (-o): only its extremes are known"
            ));
            of_maxima(thread, status, unit)
        } else {
            thread.tell_missing(&mut imported, index, status.map(|one| one.cycles));
            of_cycles(thread, status, unit)
        };
        let series = series.with_context(|| format!("thread {index}"))?;
        let mut series = cyclictest::series(series, index, asked);
        if let Some(status) = status {
            status.facts(&mut series);
        }
        imported.series.push(series);
    }
    cyclictest::policy_of(&mut imported, &last);
    if last.is_empty() {
        imported.notes.push("without -q the tool prints no line `T:` at its end: cycles may be missing".into());
    }
    Ok(imported)
}

/// Returns the series of a thread whose lines are maxima of several cycles. It has no distribution.
fn of_maxima(thread: Thread, status: Option<&Status>, unit: Floors) -> Result<Series> {
    let lines = thread.lines;
    let largest = thread.rows().last().map(|(value, _)| *value);
    let figures = Figures {
        min: status.map(|one| one.min),
        max: status.map(|one| one.max).max(largest),
        mean: status.and_then(|status| status.avg),
        count: status.map(|one| one.cycles),
        over: Some(0),
        ..Figures::default()
    };
    let mut series = unit.series(figures)?;
    // The number of cycles differs from the number of lines.
    series.facts.insert("lines".into(), i64::try_from(lines).unwrap_or(i64::MAX));
    Ok(series)
}

/// Returns the series of a thread whose lines are single cycles. Its distribution is incomplete if cycles are missing.
fn of_cycles(thread: Thread, status: Option<&Status>, unit: Floors) -> Result<Series> {
    let (lines, skipped) = (thread.lines, thread.skipped);
    if let Some(cycles) = status.map(|one| one.cycles) {
        ensure!(cycles >= lines, "{}, but the tool counts {}", many(lines, "line"), many(cycles, "cycle"));
    }
    let mut series = unit.series(figures(thread.rows(), lines))?;
    if let Some(status) = status {
        // These include the cycles without a line.
        let [min, max] = [unit.interval(status.min)?, unit.interval(status.max)?];
        series.min = series.min.map(|own| own.min(min));
        series.max = series.max.map(|own| own.max(max));
        series.facts.insert("cycles".into(), i64::try_from(status.cycles).unwrap_or(i64::MAX));
    }
    if skipped > 0 {
        series.cut = true;
        if status.is_none() {
            (series.min, series.max, series.mean) = (None, None, None);
        }
    }
    Ok(series)
}

/// Returns the figures of a thread from the values of its lines.
fn figures(rows: Vec<(i64, u64)>, lines: u64) -> Figures {
    let (smallest, largest) = (rows.first().map(|(value, _)| *value), rows.last().map(|(value, _)| *value));
    let sum: f64 = rows.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
    let mean = sum / lines.max(1) as f64;
    Figures {
        min: smallest,
        max: largest,
        mean: Some([mean, mean]),
        end: largest.map_or(0, |value| value.saturating_add(1)),
        rows,
        collected: true,
        over: Some(0),
        count: None,
        total: None,
        converted: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thread(values: impl IntoIterator<Item = i64>) -> Thread {
        let mut thread = Thread::default();
        let lines = (0..).zip(values).map(|(cycle, value)| Line { thread: 0, cycle, value });
        lines.for_each(|line| thread.add(line).unwrap());
        thread
    }

    /// A line takes the same memory whatever its value: a file with one line for each of 8,192 threads is small.
    #[test]
    fn a_large_value_takes_no_large_table() {
        assert!(thread([65_535]).table.is_empty());
        assert!(thread([7]).table.len() <= 8);
        let many = thread((0..10_000).map(|at| 60_000 + at % 7));
        assert_eq!(many.table.len(), TABLE, "a thread of many lines has its table");
    }

    proptest! {
        /// Wherever latido counts a value, the count must be the number of its occurrences.
        #[test]
        fn every_value_is_counted(values in prop::collection::vec(prop_oneof![-9i64..200, -70_000i64..140_000], 1..300)) {
            let mut naive = BTreeMap::new();
            values.iter().for_each(|value| *naive.entry(*value).or_insert(0u64) += 1);
            prop_assert_eq!(thread(values).rows(), naive.into_iter().collect::<Vec<_>>());
        }
    }
}
