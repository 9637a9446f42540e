//! The lines `T:` of cyclictest, cyclicdeadline and signaltest: a thread's extremes and mean so far; the last one of each
//! counts.

use crate::{
    floors::{Figures, Floors},
    imported::Series,
    progress::Progress,
    text::{TORN, lines, number, plain, shown, torn},
};
use anyhow::{Context, Result, bail, ensure};

/// The most threads.
const MOST: usize = 8192;

/// What a line says, in the tool's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The thread's index.
    pub thread: u32,
    /// Its id in the system, once it runs.
    pub task: Option<u64>,
    /// Its priority; absent of cyclicdeadline.
    pub priority: Option<i64>,
    /// Its interval in us; of cyclicdeadline its deadline; absent of signaltest.
    pub interval: Option<i64>,
    /// How many cycles it has had.
    pub cycles: u64,
    /// Its smallest value.
    pub min: i64,
    /// The whole-number part of the mean.
    pub avg: i64,
    /// Its largest value.
    pub max: i64,
    /// SMIs, where they are counted.
    pub smi: Option<i64>,
}

impl Status {
    /// What only grows in a run. Before the first cycle min and max are where the tool begins from.
    fn progress(&self) -> Progress {
        let some = self.cycles > 0;
        let (min, max) = (Some(self.min).filter(|_| some), Some(self.max).filter(|_| some));
        Progress { task: self.task, count: Some(self.cycles), min, max }
    }

    /// The mean of the truncated values, from and to.
    pub fn mean(&self) -> [f64; 2] {
        [self.avg as f64, self.avg as f64 + 1.0]
    }

    /// Adds what it says of the thread as facts.
    pub fn facts(&self, series: &mut Series) {
        let facts = [("priority", self.priority), ("interval_us", self.interval), ("smi", self.smi)];
        series.facts.extend(facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }

    /// The series of the thread: extremes and mean, no distribution.
    ///
    /// # Errors
    /// Figures that no samples have: the -x of 2.4 prints them.
    pub fn series(&self, unit: Floors) -> Result<Series> {
        let sound = self.avg >= 0 && (self.cycles == 0 || self.max >= 0 && self.min <= self.max);
        ensure!(
            sound,
            "thread {}: min {}, avg {}, max {} are no figures of samples (a known fault of 2.4 with -x)",
            self.thread,
            self.min,
            self.avg,
            self.max
        );
        let figures = Figures {
            min: Some(self.min),
            max: Some(self.max),
            mean: Some(self.mean()),
            count: Some(self.cycles),
            over: Some(0),
            ..Figures::default()
        };
        let mut series = unit.series(figures)?;
        self.facts(&mut series);
        Ok(series)
    }
}

/// Whether a line is one.
pub fn is(line: &[u8]) -> bool {
    let clean = plain(line);
    let line = clean.trim_ascii_start();
    line.starts_with(b"T:") && line.windows(4).any(|four| four == b"Max:")
}

/// The last line of each thread, in the order of threads.
///
/// # Errors
/// A line that is none, or one of another run, with its number; a thread without a line between others.
pub fn read(bytes: &[u8]) -> Result<Vec<Status>> {
    let torn = torn(bytes);
    let mut all: Vec<Status> = Vec::new();
    for (at, line) in lines(bytes) {
        let clean = plain(line);
        let line = clean.trim_ascii();
        if !line.starts_with(b"T:") {
            continue;
        }
        ensure!(torn != Some(at), "line {at} {TORN}");
        let status = one(line).with_context(|| format!("line {at}: `{}`", shown(line)))?;
        ensure!((status.thread as usize) < MOST, "line {at}: thread {}, of which {MOST} are read", status.thread);
        match all.iter_mut().find(|known| known.thread == status.thread) {
            Some(known) => {
                let follows = known.progress().then(&status.progress());
                follows.with_context(|| format!("line {at}: thread {}", status.thread))?;
                *known = status;
            }
            None => all.push(status),
        }
    }
    all.sort_by_key(|status| status.thread);
    if let Some((missing, _)) = (0..).zip(&all).find(|(index, status)| *index != status.thread) {
        bail!("thread {missing} has no line `T:`");
    }
    Ok(all)
}

/// One line: names that end with a colon, each with a number behind it.
fn one(line: &[u8]) -> Result<Status> {
    let mut status = Status::default();
    let mut seen = [false; 5];
    let mut rest = line;
    while let Some(colon) = rest.iter().position(|byte| *byte == b':') {
        let (before, after) = rest.split_at(colon);
        let after = after.get(1..).unwrap_or_default();
        let name = before.rsplit(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
        let blanks = after.iter().take_while(|byte| **byte == b' ').count();
        let text = after.get(blanks..).unwrap_or_default();
        let end = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-').unwrap_or(text.len());
        let (digits, more) = text.split_at(end);
        let value = || number(digits).with_context(|| format!("`{}` has no number", shown(name)));
        let mut take = |at: usize| seen.get_mut(at).map(|seen| *seen = true);
        match name {
            b"T" => {
                status.thread = u32::try_from(value()?).context("the thread's index")?;
                status.task = task(more);
                take(0);
            }
            b"P" => status.priority = Some(value()?),
            b"I" => status.interval = Some(value()?),
            b"C" => {
                status.cycles = u64::try_from(value()?).context("the number of cycles")?;
                take(1);
            }
            b"Min" => {
                status.min = value()?;
                take(2);
            }
            b"Avg" => {
                status.avg = value()?;
                take(3);
            }
            b"Max" => {
                status.max = value()?;
                take(4);
            }
            b"SMI" => status.smi = Some(value()?),
            _ => {}
        }
        rest = more;
    }
    ensure!(seen.iter().all(|seen| *seen), "T:, C:, Min:, Avg: and Max: are not all there");
    Ok(status)
}

/// The id between the parentheses behind a thread's index; 0 stands for a thread that does not run yet.
fn task(text: &[u8]) -> Option<u64> {
    let inside = text.trim_ascii_start().strip_prefix(b"(")?.split(|byte| *byte == b')').next()?;
    u64::try_from(number(inside)?).ok().filter(|task| *task > 0)
}

/// The priorities of lines, where all have the same one above 0: the tools then run as FIFO unless told otherwise.
pub fn priority(all: &[Status]) -> Option<i64> {
    let first = all.first()?.priority.filter(|priority| *priority > 0)?;
    all.iter().all(|one| one.priority == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_thread_counts() {
        let text = b"T: 0 ( 8259) P:95 I:1000 C:   5000 Min:  16 Act:  25 Avg:  39 Max:  724\n\x1b[1A\
                     T: 0 ( 8259) P:95 I:1000 C:   5001 Min:  15 Act:-9223372036854775808 Avg:  39 Max:  725 SMI:  3\n";
        let expected = Status {
            thread: 0,
            task: Some(8259),
            priority: Some(95),
            interval: Some(1000),
            cycles: 5001,
            min: 15,
            avg: 39,
            max: 725,
            smi: Some(3),
        };
        assert_eq!(read(text).unwrap(), [expected]);
        assert!(read(&text[..text.len() - 1]).unwrap_err().to_string().contains("no end"));
        assert!(read(b"T: 1 (8) P:9 C: 1 Min: 1 Act: 1 Avg: 1 Max: 2\n").is_err());
        assert!(read(b"T: 0 (8) P:9 C: 1 Min: Act: 1 Avg: 1 Max: 2\n").is_err());
        // The -x of 2.4.
        let broken = Status { avg: i64::MIN, ..expected };
        assert!(broken.series(Floors::of(crate::Unit::Us)).is_err());
        assert!(Status { max: -4, ..expected }.series(Floors::of(crate::Unit::Us)).is_err());
    }
}
