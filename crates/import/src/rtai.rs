//! The tables of RTAI's tests `latency` and `preempt`, and what tells them from Xenomai's tables, whose lines begin with the same marks.
//! Source: `display.c` of `testsuite/{kern,kthreads,user}/{latency,preempt}` in RTAI 3.6 to 5.1, and of `testsuite` in RTAI 5.3.4.

use crate::{
    imported::{Ending, Imported},
    samples::decimal,
    text::{self, TORN, lines, many, number, plain, shown},
};
use anyhow::{Context, Result, ensure};
use std::borrow::Cow;

/// The table of one test.
pub struct Table<const N: usize> {
    /// What its program prints once at its start, in one of these forms.
    titles: &'static [&'static str],
    /// The names of its columns.
    columns: [&'static str; N],
    /// The column that tells it from every other table.
    own: &'static str,
}

/// The table of `latency`: smallest of the last second and of all, mean of the last second, largest of the last second and of all, overruns.
pub const LATENCY: Table<6> = Table {
    titles: &["latency (all data in nanoseconds)", "KERNEL space latency test", "testsuite and calibration tool"],
    columns: ["lat min", "ovl min", "lat avg", "lat max", "ovl max", "overruns"],
    own: "ovl max",
};

/// The table of `preempt`: smallest of all, mean of the last line, largest of all; the largest jitter of the two other tasks.
pub const PREEMPT: Table<5> = Table {
    titles: &["preempt (all data in nanoseconds)"],
    columns: ["lat min", "lat avg", "lat max", "jit fast", "jit slow"],
    own: "jit fast",
};

/// The first columns of the table that makertaikernel.sh writes above the outputs of several tests.
const SUMMARY: [&str; 2] = ["general", "description"];

/// What a text says beside its rows.
#[derive(Debug, Default)]
pub struct About {
    /// Where the measuring task ran: `kernel`, `kernel thread`, `user`.
    pub context: Option<&'static str>,
    /// The period in ns.
    pub period: Option<i64>,
    /// Whether the timer ran in periodic mode.
    pub is_periodic: bool,
    /// The first date, as the program printed it.
    pub begun: Option<String>,
    /// The rows of other tests.
    skipped: u64,
    /// The number of the last line if it has no end.
    torn: Option<usize>,
}

impl<const N: usize> Table<N> {
    /// Tells whether a text has this table, or the line above it, and no line of Xenomai's.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.shows(bytes) && !is_xenomai(bytes)
    }

    /// Tells whether a text has this table or the line above it. In a text without any heading the number of columns decides.
    fn shows(&self, bytes: &[u8]) -> bool {
        let heads =
            |line: &str| line.strip_prefix("RTH|").is_some_and(|names| cells(names).any(|name| name == self.own));
        let is_row = |line: &str| line.strip_prefix("RTD|").and_then(whole::<N>).is_some();
        has(bytes, |line| heads(line) || self.begins(line))
            || has(bytes, is_row) && !has(bytes, |line| line.starts_with("RTH|"))
    }

    /// Tells whether the program prints this line at its start.
    fn begins(&self, line: &str) -> bool {
        line.starts_with("RTAI ") && self.titles.iter().any(|title| line.contains(title))
    }

    /// Gives each row of this table to `each`, and returns what else the text says. Skips the tables of RTAI's other tests.
    ///
    /// # Errors
    /// A row is not N whole numbers, `each` refuses it, a heading has other columns, or a second run begins; the error has the number of
    /// the line.
    pub fn walk(&self, bytes: &[u8], mut each: impl FnMut([i64; N]) -> Result<()>) -> Result<About> {
        let mut about = About { torn: text::torn(bytes), ..About::default() };
        let (mut is_own, mut is_begun) = (true, false);
        for (at, raw) in lines(bytes) {
            if about.torn == Some(at) {
                continue;
            }
            let read = |line: &str| -> Result<()> {
                if let Some(names) = line.strip_prefix("RTH|") {
                    is_own = cells(names).eq(self.columns);
                    ensure!(is_own || is_others(names), "latido does not know these columns: `{}`", short(line));
                } else if let Some(row) = line.strip_prefix("RTD|") {
                    if !is_own {
                        about.skipped = about.skipped.saturating_add(1);
                        return Ok(());
                    }
                    let row = whole(row).with_context(|| format!("not {N} whole numbers: `{}`", short(line)))?;
                    is_begun = true;
                    return each(row);
                } else if self.begins(line) {
                    ensure!(!is_begun, "a second run: keep one run per file");
                    (about.context, about.begun) = (context(line), None);
                } else {
                    about.remark(line, is_begun);
                }
                Ok(())
            };
            cleaned(raw, read).with_context(|| format!("line {at}"))?;
        }
        Ok(about)
    }
}

impl About {
    /// Reads a line that is not part of a table. Below its first row a title or a date belongs to another test, but a program that writes
    /// to a file may print its period and its mode late.
    fn remark(&mut self, line: &str, is_begun: bool) {
        if let Some((_, rest)) = line.split_once("period = ") {
            let period = rest.split_once("(ns)").and_then(|(ns, _)| number(ns.as_bytes()));
            self.period = period.filter(|ns| *ns > 0).or(self.period);
        } else if let Some((_, mode)) = line.split_once("timer_mode is ") {
            self.is_periodic = mode.contains("periodic");
        } else if !is_begun {
            if is_date(line) {
                self.begun.get_or_insert_with(|| line.to_owned());
            }
            self.context = context(line).or(self.context);
        }
    }

    /// Adds to an import what its text says of all its series.
    pub fn describe(self, imported: &mut Imported) {
        let [begun, _] = &mut imported.times;
        *begun = self.begun;
        if let Some(context) = self.context {
            for series in &mut imported.series {
                series.labels.insert("context".into(), context.into());
            }
        }
        if let Some(at) = self.torn {
            imported.ending = Ending::Interrupted(format!("line {at} {TORN}"));
        }
        if self.skipped > 0 {
            imported.notes.push(format!("latido left out {} of other tests", many(self.skipped, "row")));
        }
    }
}

/// Tells whether a text has a table of one of RTAI's tests, or of a summary of them, and no line of Xenomai's.
pub fn is_any(bytes: &[u8]) -> bool {
    let summary = |line: &str| line.strip_prefix("RTH|").is_some_and(is_others);
    (LATENCY.shows(bytes) || PREEMPT.shows(bytes) || has(bytes, summary)) && !is_xenomai(bytes)
}

/// Tells whether a text has lines of Xenomai's programs: its headings begin with dashes, it prints its clock and a summary, and its times
/// have decimals.
fn is_xenomai(bytes: &[u8]) -> bool {
    let is_time = |text: &str| text.contains('.') && decimal(text, 1000).is_some();
    let own = |line: &str| {
        ["RTH|-", "RTT|", "RTS|"].iter().any(|mark| line.starts_with(mark))
            || line.strip_prefix("RTD|").and_then(|row| cells(row).next()).is_some_and(is_time)
    };
    has(bytes, own)
}

/// Tells whether a text has such a line.
fn has(bytes: &[u8], such: impl Fn(&str) -> bool) -> bool {
    lines(bytes).any(|(_, line)| cleaned(line, &such))
}

/// Tells whether these are the columns of one of RTAI's tests, or of a summary of them.
fn is_others(names: &str) -> bool {
    let first = cells(names).next();
    cells(names).eq(LATENCY.columns)
        || cells(names).eq(PREEMPT.columns)
        || first.is_some_and(|name| SUMMARY.contains(&name))
}

/// Gives `see` a line without what a terminal adds to it. A terminal writes `^C` anywhere in a line.
fn cleaned<T>(raw: &[u8], see: impl FnOnce(&str) -> T) -> T {
    let clean = plain(raw);
    let mut line = String::from_utf8_lossy(&clean);
    if line.contains("^C") {
        line = Cow::Owned(line.replace("^C", ""));
    }
    see(line.trim())
}

/// Returns the cells of a line, without the blanks around them.
fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split('|').map(str::trim)
}

/// Reads cells that are N whole numbers.
fn whole<const N: usize>(row: &str) -> Option<[i64; N]> {
    let mut cells = cells(row);
    let mut all = [0; N];
    for one in &mut all {
        *one = number(cells.next()?.as_bytes())?;
    }
    cells.next().is_none().then_some(all)
}

fn short(line: &str) -> String {
    shown(line.as_bytes())
}

/// Returns where the measuring task runs, by a title of a test.
fn context(line: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if !line.starts_with("RTAI ") && !line.starts_with("***") {
        return None;
    }
    if has(&["kernel threads", "KERNEL threads"]) {
        return Some("kernel thread");
    }
    if has(&["KERNEL ", "kernel tasks", "UP preempt"]) {
        return Some("kernel");
    }
    // RTAI 5.3 has this test for user space alone.
    has(&["USER ", "LXRT ", "user space", "testsuite and calibration tool"]).then_some("user")
}

/// Tells whether a line is a date as `latency` prints it: `2026/11/9 08:05:00`.
fn is_date(line: &str) -> bool {
    let numbers = |text: &str, mark: char| {
        text.split(mark).filter(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())).count() == 3
            && text.split(mark).count() == 3
    };
    line.split_once(' ').is_some_and(|(day, time)| numbers(day, '/') && numbers(time, ':'))
}
