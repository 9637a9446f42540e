//! The lines `T:` of cyclictest, cyclicdeadline, signaltest and jitterdebugger: a thread's extremes and mean so far. The last line of each
//! thread counts.

use crate::{
    floors::{Figures, Floors},
    format::Unit,
    imported::{Finding, Series, Severity},
    progress::Progress,
    text::{TORN, contains, lines, number, plain, shown, torn},
};
use anyhow::{Context, Result, bail, ensure};

/// The most threads.
const MOST: usize = 8192;

/// How a tool updates the smallest value of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smallest {
    /// The smallest value only falls.
    OfAll,
    /// cyclicdeadline treats a smallest value of 0 as absent: the next value replaces it, however large.
    SinceZero,
}

/// The figures of a line, in the tool's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// The thread's index.
    pub thread: u32,
    /// The kernel's id of the thread, once it runs.
    pub task: Option<u64>,
    /// The thread's priority; cyclicdeadline prints none.
    pub priority: Option<i64>,
    /// The thread's interval in us. In cyclicdeadline it is the deadline; signaltest prints none.
    pub interval: Option<i64>,
    /// The number of cycles so far.
    pub cycles: u64,
    /// The smallest value.
    pub min: i64,
    /// The range of the mean; the first versions of cyclictest print none.
    pub avg: Option<[f64; 2]>,
    /// The largest value.
    pub max: i64,
    /// The number of SMIs, where the tool counts them.
    pub smi: Option<i64>,
}

impl Status {
    /// Returns the figures that only change in one direction during a run. Before the first cycle, min and max are the tool's start values.
    fn progress(&self, smallest: Smallest) -> Progress {
        let some = self.cycles > 0;
        let min = Some(self.min).filter(|_| some && smallest == Smallest::OfAll);
        let max = Some(self.max).filter(|_| some);
        Progress { task: self.task, count: Some(self.cycles), min, max }
    }

    /// Adds the line's other figures to the series as facts.
    pub fn facts(&self, series: &mut Series) {
        let facts = [("priority", self.priority), ("interval_us", self.interval), ("smi", self.smi)];
        series.facts.extend(facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }

    /// Builds the series of the thread: extremes and mean, no distribution.
    ///
    /// # Errors
    /// No samples can have these figures: the `-x` of 2.4 prints such figures.
    pub fn series(&self, unit: Floors) -> Result<Series> {
        // The `-x` of 2.4 computes wrong differences. If any figure shows this, all figures of the line are useless.
        let mean = self.avg.is_none_or(|[_, to]| to >= 0.0);
        ensure!(
            mean && (self.cycles == 0 || self.max >= 0 && self.min <= self.max),
            "thread {}: min {}, avg {}, max {} are not figures of samples (a known fault of 2.4 with -x)",
            self.thread,
            self.min,
            self.avg.map_or_else(|| "?".into(), |[from, _]| from.to_string()),
            self.max
        );
        let figures = Figures {
            min: Some(self.min),
            max: Some(self.max),
            mean: self.avg,
            count: Some(self.cycles),
            over: Some(0),
            ..Figures::default()
        };
        let mut series = unit.series(figures)?;
        self.facts(&mut series);
        Ok(series)
    }
}

/// Whether a line is a status line.
pub fn is(line: &[u8]) -> bool {
    let clean = plain(line);
    let line = own(&clean);
    line.starts_with(b"T:") && contains(line, b"Max:")
}

/// Returns a line without the `pid = 20483` that cyclictest 1.8 prints before its first line without a line end.
fn own(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    let id = line.strip_prefix(b"pid = ").map(|rest| rest.trim_ascii_start());
    let rest = id.and_then(|rest| rest.get(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()..));
    rest.unwrap_or(line)
}

/// Returns the last line of each thread, in the order of threads.
///
/// # Errors
/// A line is invalid or belongs to another run (the error names its number), or a thread between others has no line.
pub fn read(bytes: &[u8], smallest: Smallest) -> Result<Vec<Status>> {
    let torn = torn(bytes);
    let mut all: Vec<Status> = Vec::new();
    for (at, line) in lines(bytes) {
        let clean = plain(line);
        let line = own(&clean);
        if !line.starts_with(b"T:") {
            continue;
        }
        ensure!(torn != Some(at), "line {at} {TORN}");
        let status = one(line).with_context(|| format!("line {at}: `{}`", shown(line)))?;
        ensure!(
            (status.thread as usize) < MOST,
            "line {at}: thread {}, but latido reads at most {MOST} threads",
            status.thread
        );
        match all.iter_mut().find(|known| known.thread == status.thread) {
            Some(known) => {
                let follows = known.progress(smallest).then(&status.progress(smallest));
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

/// Returns a note if the text has more status lines than threads: such a screen has a block per moment, and the last block may not be the
/// end of the run.
pub fn live(bytes: &[u8], all: &[Status]) -> Option<String> {
    let blocks = lines(bytes).filter(|(_, line)| is(line)).count();
    (blocks > all.len()).then(|| LIVE.into())
}

/// Finds the unit of cyclictest's lines by the widths of their columns. With `-N` the latest value and the mean are 8 wide, else 5 wide,
/// and the smallest value is 7 wide in both cases. The first versions, which had no `-N`, print all of them 8 wide. `None` where lines lost
/// their blanks or contradict each other.
pub fn unit(bytes: &[u8]) -> Option<Unit> {
    let mut all = lines(bytes).filter(|(_, line)| is(line)).filter_map(|(_, line)| unit_of(own(&plain(line))));
    let first = all.next()?;
    all.all(|unit| unit == first).then_some(first)
}

fn unit_of(line: &[u8]) -> Option<Unit> {
    let [min, act, avg] = [&b"Min:"[..], b"Act:", b"Avg:"].map(|name| column(line, name));
    let (min, act, avg) = (min?, act?, avg?);
    let both = |width: usize| act.is(width) && avg.is(width);
    match (both(8), both(5)) {
        (true, false) if min.is(7) => Some(Unit::Ns),
        (true, false) if min.is(8) => Some(Unit::Us),
        (false, true) if min.is(7) => Some(Unit::Us),
        _ => None,
    }
}

/// The width of a number behind its name with its blanks, and the number of its characters.
struct Column {
    width: usize,
    digits: usize,
}

impl Column {
    /// Whether printf(3) prints this number so in a column of this width.
    fn is(&self, width: usize) -> bool {
        self.width == self.digits.max(width)
    }
}

fn column(line: &[u8], name: &[u8]) -> Option<Column> {
    let at = line.windows(name.len()).position(|part| part == name)?;
    let rest = line.get(at + name.len()..)?;
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    let digits = rest.iter().skip(blanks).take_while(|byte| byte.is_ascii_digit() || **byte == b'-').count();
    (digits > 0).then_some(Column { width: blanks + digits, digits })
}

/// The note about a live screen.
pub const LIVE: &str = "a live screen: latido read the last line of each thread";

/// Finds a thread that has had less than half of the cycles that fit its interval, measured by the other threads. Such a thread hardly ran,
/// and its samples cover only the moments when it did.
pub fn starved(all: &[Status]) -> Option<Finding> {
    let spans = |one: &Status| Some(u128::from(one.cycles) * u128::try_from(one.interval?).ok()?);
    let most = all.iter().filter_map(spans).max().filter(|most| *most >= LONG_US)?;
    let one = all.iter().find(|one| spans(one).is_some_and(|span| span * 2 < most))?;
    let room = most / u128::try_from(one.interval?).ok()?.max(1);
    Some(Finding {
        severity: Severity::Contaminated,
        name: "starved thread".into(),
        text: format!("thread {} had {} of about {room} cycles: it hardly ran", one.thread, one.cycles),
    })
}

/// If the run is shorter than this, in us, a thread may simply not have started yet.
const LONG_US: u128 = 50_000;

/// Parses one line: names that end with a colon, each with a number behind it.
fn one(line: &[u8]) -> Result<Status> {
    let mut status = Status::default();
    let mut seen = [false; 4];
    let mut rest = line;
    while let Some(colon) = rest.iter().position(|byte| *byte == b':') {
        let (before, after) = rest.split_at(colon);
        let after = after.get(1..).unwrap_or_default();
        let name = before.rsplit(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
        let blanks = after.iter().take_while(|byte| **byte == b' ').count();
        let text = after.get(blanks..).unwrap_or_default();
        let end = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'-').unwrap_or(text.len());
        let (digits, more) = text.split_at(end);
        // `7,983` does not mean 7.
        let ends = match name {
            b"T" => more.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'('),
            b"Avg" => true,
            _ => more.first().is_none_or(u8::is_ascii_whitespace),
        };
        ensure!(ends, "the text after `{}:` is not a whole number", shown(name));
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
            // Before the first cycle there are no figures: jitterdebugger prints its start value as the smallest, and no number as the
            // mean.
            b"Min" => {
                status.min = if status.cycles > 0 { value()? } else { 0 };
                take(2);
            }
            b"Avg" => status.avg = if status.cycles > 0 { Some(mean(digits, more)?) } else { None },
            b"Max" => {
                status.max = value()?;
                take(3);
            }
            b"SMI" => status.smi = Some(value()?),
            _ => {}
        }
        rest = more;
    }
    ensure!(seen.iter().all(|seen| *seen), "T:, C:, Min: or Max: is missing");
    Ok(status)
}

/// Parses a mean and returns its range: the tool truncated a whole number, and rounded one with decimals.
fn mean(whole: &[u8], more: &[u8]) -> Result<[f64; 2]> {
    let part = number(whole).with_context(|| format!("`Avg` has `{}` instead of a number", shown(whole)))? as f64;
    let decimals = more.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    if decimals.is_empty() {
        return Ok([part, part + 1.0]);
    }
    let decimals = decimals.strip_prefix(b".").filter(|digits| digits.iter().all(u8::is_ascii_digit));
    let decimals =
        decimals.filter(|digits| (1..=9).contains(&digits.len())).context("the text after `Avg:` is not a number")?;
    let unit = 0.1f64.powi(decimals.len() as i32);
    let middle = part + number(decimals).context("the mean")? as f64 * unit;
    Ok([middle - unit / 2.0, middle + unit / 2.0])
}

/// Parses the id in the parentheses behind a thread's index; 0 means that the thread does not run yet.
fn task(text: &[u8]) -> Option<u64> {
    let inside = text.trim_ascii_start().strip_prefix(b"(")?.split(|byte| *byte == b')').next()?;
    u64::try_from(number(inside)?).ok().filter(|task| *task > 0)
}

/// Returns the priority of the lines where all have the same priority above 0: the tools then run as FIFO unless requested otherwise.
pub fn priority(all: &[Status]) -> Option<i64> {
    let first = all.first()?.priority.filter(|priority| *priority > 0)?;
    all.iter().all(|one| one.priority == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean of jitterdebugger has decimals, and is no number before the first cycle. The first versions of cyclictest print no mean, and
    /// 1.8 prints a word before the line.
    #[test]
    fn a_mean_is_a_whole_number_or_has_decimals_or_is_absent() {
        let text = b"T: 0 ( 1797) A: 0 C:  0 Min:18446744073709551615 Avg:    -nan Max:  0 \x1b[K\n\x1b[1A\
                     T: 0 ( 1797) A: 0 C: 299 Min: 15 Avg: 25.74 Max: 93 \x1b[K\n";
        let [mean] = read(text, Smallest::OfAll).unwrap().iter().map(|one| one.avg.unwrap()).collect::<Vec<_>>()[..]
        else {
            panic!()
        };
        assert!((mean[0] - 25.735).abs() < 1e-9 && (mean[1] - 25.745).abs() < 1e-9, "{mean:?}");
        let old = b"pid = 20483T: 0 ( 5407) P:80 I:    1100 C: 2047066 Min:       7 Act:      15 Max:      59\n";
        let told = read(old, Smallest::OfAll).unwrap();
        assert_eq!((told[0].avg, told[0].max), (None, 59));
        for bad in ["nan", "2.", "2.x", "2.5,1", "2,5"] {
            assert!(read(format!("T: 0 (8) P:9 C: 1 Min: 1 Avg: {bad} Max: 2\n").as_bytes(), Smallest::OfAll).is_err());
        }
        for bad in ["7,983", "7.983", "7x983", "7e6", "7_983", "7983us", "7\0983", "0x1F2F"] {
            let text = format!("T: 0 (8) P:9 C: 1 Min: 1 Avg: 2 Max: {bad}\n");
            let error = format!("{:#}", read(text.as_bytes(), Smallest::OfAll).unwrap_err());
            assert!(error.contains("not a whole number"), "{bad}: {error}");
        }
    }

    #[test]
    fn a_thread_that_hardly_ran_is_found() {
        let of = |cycles: u64| {
            let text = format!(
                "T: 0 (7) P:9 I:1000 C: 60000 Min: 1 Act: 1 Avg: 1 Max: 2\n\
                 T: 1 (8) P:9 I:1500 C: {cycles} Min: 1 Act: 1 Avg: 1 Max: 2\n"
            );
            starved(&read(text.as_bytes(), Smallest::OfAll).unwrap())
        };
        assert_eq!((of(40_000), of(20_001)), (None, None));
        assert!([0, 3, 19_999].iter().all(|cycles| of(*cycles).unwrap().text.starts_with("thread 1")));
    }

    #[test]
    fn a_smallest_value_may_begin_anew_after_a_zero() {
        let text = b"T: 0 (29929) I:10000 C: 2 Min: 0 Act: 0 Avg: 1 Max: 2\n\
                     T: 0 (29929) I:10000 C: 3 Min: 15 Act: 15 Avg: 5 Max: 15\n";
        assert_eq!(read(text, Smallest::SinceZero).unwrap()[0].min, 15);
        assert!(read(text, Smallest::OfAll).unwrap_err().to_string().contains("thread 0"));
    }

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
            avg: Some([39.0, 40.0]),
            max: 725,
            smi: Some(3),
        };
        assert_eq!(read(text, Smallest::OfAll).unwrap(), [expected]);
        assert!(read(&text[..text.len() - 1], Smallest::OfAll).unwrap_err().to_string().contains("no end"));
        assert!(read(b"T: 1 (8) P:9 C: 1 Min: 1 Act: 1 Avg: 1 Max: 2\n", Smallest::OfAll).is_err());
        assert!(read(b"T: 0 (8) P:9 C: 1 Min: Act: 1 Avg: 1 Max: 2\n", Smallest::OfAll).is_err());
        // The `-x` of 2.4 prints such a mean.
        let broken = Status { avg: Some([i64::MIN as f64, i64::MIN as f64 + 1.0]), ..expected };
        assert!(broken.series(Floors::of(crate::Unit::Us)).is_err());
        assert!(Status { max: -4, ..expected }.series(Floors::of(crate::Unit::Us)).is_err());
    }
}
