//! `xenomai-latency`: Xenomai's `latency`: its summary, and with `-h` the distribution.

use super::latmus;
use crate::{
    args::Args,
    doubt::{Doubt, Figure},
    format::{Asked, Format},
    imported::{Bin, Ending, Finding, Imported, Interval, Series, Severity},
    rtai, rtla,
    samples::decimal,
    text::{self, TORN, lines, many, plain, shown},
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "xenomai-latency", about: "Xenomai's latency, also -h and -q", recognise, read };

/// Options with a value.
const VALUED: &str = "tTpPlgHBcDs";
/// The default width of a bucket without -B, in ns.
const BUCKET: i64 = 1000;

fn recognise(bytes: &[u8]) -> bool {
    !latmus::is_screen(bytes)
        && !rtai::is_any(bytes)
        && lines(bytes).any(|(_, line)| {
            let line = plain(line);
            [&b"RTS|"[..], b"RTD|", b"RTH|"].iter().any(|mark| line.trim_ascii_start().starts_with(mark))
        })
}

/// The figures of a line, in ns.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// The smallest.
    pub min: i64,
    /// The mean, exact to one ns.
    pub avg: i64,
    /// The largest.
    pub max: i64,
    /// Periods that were overrun.
    pub overruns: i64,
    /// Switches to secondary mode. klatency does not count them.
    pub switches: Option<i64>,
}

/// Reads the figures between `|`, after their mark. Returns them and the rest of the fields.
///
/// # Errors
/// A field is no figure.
pub fn figures(line: &str) -> Result<(Figures, Vec<&str>)> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [min, avg, max, overruns, rest @ ..] = &fields[..] else { anyhow::bail!("not all its columns are there") };
    // The next field is a count of switches, unless it has decimals or is a time of day.
    let (switches, rest) = match rest {
        [first, rest @ ..] if !first.contains(['.', ':']) => (Some(first), rest),
        rest => (None, rest),
    };
    let us = |text: &str| {
        let places = text.split_once('.').is_some_and(|(_, part)| part.len() == 3);
        decimal(text, 1000).filter(|_| places).with_context(|| format!("`{}` is not a time", shown(text.as_bytes())))
    };
    let whole = |text: &str| {
        decimal(text, 1)
            .filter(|value| *value >= 0)
            .with_context(|| format!("`{}` is not a count", shown(text.as_bytes())))
    };
    let figures = Figures {
        min: us(min)?,
        avg: us(avg)?,
        max: us(max)?,
        overruns: whole(overruns)?,
        switches: switches.map(|text| whole(text)).transpose()?,
    };
    ensure!(figures.min <= figures.max, "its smallest is above its largest");
    Ok((figures, rest.to_vec()))
}

/// Returns the series of the figures, and a finding about their trustworthiness.
pub fn described(figures: Figures, asked: &Asked) -> (Series, Option<Finding>) {
    let Figures { min, avg, max, overruns, switches } = figures;
    let mut series = Series {
        quantity: "latency".into(),
        heading: "Wake-up latency".into(),
        cpu: asked.cpus.first().copied(),
        unit: "ns",
        min: Some(Interval::exactly(min)),
        max: Some(Interval::exactly(max)),
        mean: Some([avg.saturating_sub(1) as f64, avg.saturating_add(1) as f64]),
        ..Series::default()
    };
    series.facts.insert("overruns".into(), overruns);
    series.facts.extend(switches.map(|switches| ("mode_switches".to_owned(), switches)));
    let finding = switches.filter(|switches| *switches > 0).map(|switches| Finding {
        severity: Severity::Contaminated,
        name: "mode switches".into(),
        text: format!(
            "{switches} {} to secondary mode: the kernel's latency is among the samples",
            if switches == 1 { "switch" } else { "switches" }
        ),
    });
    (series, finding)
}

/// Sets the distribution from rows of bucket numbers with their counts. The tool counted negative values by their absolute value.
///
/// # Errors
/// The figures contradict each other.
pub fn distribution(series: &mut Series, rows: &[(i64, u64)], bucket: i64) -> Result<()> {
    let (Some(min), Some(max)) = (series.min.map(|one| one.low), series.max.and_then(|one| one.high)) else {
        return Ok(());
    };
    let mut bins: Vec<Bin> = Vec::new();
    let mut sum = 0u64;
    for (at, (number, count)) in rows.iter().enumerate() {
        let low = number.checked_mul(bucket).context("a value beyond 2^63 ns")?;
        let mut high = low.checked_add(bucket - 1).context("a value beyond 2^63 ns")?;
        sum = sum.checked_add(*count).context("more than 2^64 samples")?;
        if at + 1 == rows.len() && max > high {
            // The last bucket contains all larger values.
            high = max;
        }
        ensure!(bins.last().is_none_or(|last| last.low < low), "bucket {number} is out of order");
        // If a bucket may contain folded negative values, it becomes one bin together with all buckets nearer to 0.
        match bins.last_mut() {
            Some(last) if min < 0 && low <= min.saturating_abs() => {
                (last.high, last.count) = (Some(high), last.count + count)
            }
            _ => bins.push(Bin {
                low: if min < 0 && low <= min.saturating_abs() { min } else { low },
                high: Some(high),
                count: *count,
            }),
        }
    }
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return Ok(()) };
    let within = |value: i64, bin: &Bin| bin.low <= value && Some(value) <= bin.high;
    ensure!(
        within(min, first) && within(max, last),
        "buckets of {bucket} ns do not contain its smallest {min} and largest {max} ns: give its -B in --args"
    );
    series.count = Some(sum);
    series.width = u64::try_from(bucket).ok().filter(|bucket| *bucket > 1);
    series.bins = bins;
    Ok(())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    table(bytes, asked, "latency", "xenomai latency")
}

/// The part of the table that was read so far.
#[derive(Default)]
struct Table {
    /// The line RTS, of the whole run.
    end: Option<Figures>,
    /// The last line RTD, of one second.
    last: Option<Figures>,
    /// How many seconds have a line.
    seconds: i64,
    /// The time in the last line RTT, in ns.
    clock: Option<u64>,
    period: Option<i64>,
    elapsed_ns: Option<u64>,
    policy: Option<String>,
    cpu: Option<u32>,
    /// The bucket numbers with their counts, and the number of all samples.
    rows: Vec<(i64, u64)>,
    total: Option<u64>,
    modes: Vec<String>,
}

impl Table {
    fn of(bytes: &[u8], torn: Option<usize>) -> Result<Self> {
        let mut table = Self::default();
        for (at, raw) in lines(bytes).filter(|(at, _)| torn != Some(*at)) {
            let clean = plain(raw);
            let text = String::from_utf8_lossy(&clean);
            let line = text.trim();
            table.line(at, line.strip_prefix("^C").unwrap_or(line))?;
        }
        Ok(table)
    }

    /// Reads the line with the number `at`.
    fn line(&mut self, at: usize, line: &str) -> Result<()> {
        let Some((mark, rest)) = line.split_once('|') else {
            if let Some(text) = line.strip_prefix("== Sampling period:") {
                let us = text.trim().strip_suffix(" us");
                self.period = us.and_then(|text| decimal(text, 1000)).filter(|period| *period > 0);
            } else if let Some(text) = line.strip_prefix("== Test mode:") {
                self.modes.push(shown(text.as_bytes()));
            }
            return Ok(());
        };
        let place = || format!("line {at}: `{}`", shown(line.as_bytes()));
        match mark.trim() {
            "RTS" => {
                ensure!(self.end.is_none(), "line {at}: a second summary: keep one run per file");
                let (figures, rest) = figures(rest).with_context(place)?;
                let times = rest.first().and_then(|times| times.split_once('/')).with_context(place)?;
                self.elapsed_ns = Some(time_of_day(times.0).with_context(place)?);
                self.end = Some(figures);
            }
            "RTD" => {
                let (figures, rest) = figures(rest).with_context(place)?;
                let [best, worst] = rest[..] else { anyhow::bail!(place()) };
                let us = |text: &str| decimal(text, 1000).with_context(place);
                self.last = Some(Figures { min: us(best)?, max: us(worst)?, ..figures });
                self.seconds = self.seconds.saturating_add(1);
            }
            "RTT" => {
                let now = rest.split_once('(').and_then(|(now, _)| time_of_day(now));
                let grows = self.clock.zip(now).is_none_or(|(before, now)| before <= now);
                ensure!(grows && self.end.is_none(), "line {at}: a second run: keep one run per file");
                self.clock = now.or(self.clock);
                self.task(rest).with_context(place)?;
            }
            "HSD" => {
                let fields: Vec<&str> = rest.split('|').map(str::trim).collect();
                let [what, range, count] = fields[..] else { anyhow::bail!(place()) };
                // The other rows count the extremes of each second.
                if what == "avg" {
                    let (from, to) = range.split_once('-').with_context(place)?;
                    let number = |text: &str| decimal(text, 1).filter(|value| *value >= 0).with_context(place);
                    ensure!(number(from)?.checked_add(1) == Some(number(to)?), place());
                    ensure!(self.rows.len() < 10_000_000, "line {at}: more than ten million rows");
                    self.rows.push((number(from)?, u64::try_from(number(count)?)?));
                }
            }
            "HSS" => {
                let mut fields = rest.split('|').map(str::trim);
                if fields.next() == Some("avg") {
                    let count = fields.next().and_then(|count| count.parse::<u64>().ok());
                    self.total = Some(count.with_context(place)?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads the task in a line RTT: its priority and its CPU.
    fn task(&mut self, text: &str) -> Result<()> {
        if let Some((_, priority)) = text.split_once("priority ") {
            self.policy = Some(format!("fifo {}", digits(priority).parse::<u8>()?));
        }
        let cpu = text.split_once(", CPU").and_then(|(_, text)| digits(text).parse().ok());
        self.cpu = cpu.or(self.cpu);
        Ok(())
    }

    /// Sets the distribution from the rows, in buckets of `bucket` ns. Returns whether they have as many samples as the table counts.
    ///
    /// # Errors
    /// As [`distribution`].
    fn distribute(&self, series: &mut Series, bucket: i64) -> Result<bool> {
        let listed = self.rows.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        let sums = self.total.is_none_or(|total| Some(total) == listed);
        if sums {
            distribution(series, &self.rows, bucket)?;
        } else {
            let [listed, total] = [listed, self.total].map(Option::unwrap_or_default);
            let why = format!("its rows have {}, but it counts {total}", many(listed, "sample"));
            series.doubts.push(Doubt::of(Figure::Rows, why));
        }
        Ok(sums)
    }
}

/// Returns the digits at the beginning of a text.
fn digits(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()
}

/// Reads a time such as `00:00:01`, in ns.
fn time_of_day(text: &str) -> Option<u64> {
    rtla::duration(&format!("0 {}", text.trim()))
}

/// Reads the table that a tool of this form prints: Xenomai's `latency`, EVL's `latmus`.
///
/// # Errors
/// What is wrong, and in which line.
pub fn table(bytes: &[u8], asked: &Asked, tool: &str, title: &str) -> Result<Imported> {
    let torn = text::torn(bytes);
    let args = asked.args.as_deref().map(|line| Args::new(line, VALUED));
    let said = args.as_ref().and_then(|args| args.number('B', "")).filter(|bucket| *bucket > 0);
    let mut table = Table::of(bytes, torn)?;
    let all = table.end.or(table.last).context("no line RTS or RTD with figures")?;
    let (mut series, finding) = described(all, asked);
    series.cpu = table.cpu.or(series.cpu);
    let mut imported = Imported {
        tool: tool.into(),
        title: title.into(),
        command: asked.args.clone(),
        elapsed_ns: table.elapsed_ns,
        policy: table.policy.take(),
        notes: std::mem::take(&mut table.modes),
        findings: finding.into_iter().collect(),
        ..Imported::default()
    };
    if table.end.is_none() {
        // The mean of the last second is not the mean of the run.
        series.mean = None;
        let why = torn.map_or_else(|| "the file ends without its line RTS".into(), |at| format!("line {at} {TORN}"));
        imported.ending = Ending::Interrupted(why);
    }
    series.facts.extend(table.period.map(|period| ("period_ns".to_owned(), period)));
    if let (Some(period), true) = (table.period, table.seconds > 0) {
        let bound = (1_000_000_000 / period).saturating_mul(table.seconds);
        series.facts.insert("samples_at_most".into(), bound);
    }
    if !table.rows.is_empty() && table.end.is_some() {
        let sums = table.distribute(&mut series, said.unwrap_or(BUCKET))?;
        if said.is_none() && sums {
            imported.notes.push("latido assumes that buckets are 1000 ns wide: give another -B in --args".into());
        }
    }
    if torn.is_some() && imported.ending == Ending::Complete {
        imported.ending = Ending::Interrupted("the file ends within a line".into());
    }
    imported.series.push(series);
    Ok(imported)
}
