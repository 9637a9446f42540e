//! `latmus`: the file or output of EVL's `latmus -g`: a header of `# key: value`, then rows in microseconds.

use crate::{
    doubt::{self, Doubt, Figure},
    format::{Asked, Format},
    imported::{Bin, Ending, Finding, Imported, Interval, Series, Severity},
    mean,
    samples::decimal,
    text::{self, TORN, lines, many, shown},
};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The list entry.
pub const FORMAT: Format = Format { name: "latmus", about: "EVL's latmus -g", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    is_plot(bytes)
}

/// Tells whether the header of `-g` is present.
pub fn is_plot(bytes: &[u8]) -> bool {
    let has = |name: &[u8]| lines(bytes).any(|(_, line)| line.starts_with(name));
    has(b"# min latency:") && has(b"# max latency:") && (has(b"# libevl version:") || has(b"# sample count:"))
}

/// Tells whether its console output is present, which has the marks of Xenomai's `latency`.
pub fn is_screen(bytes: &[u8]) -> bool {
    lines(bytes).take(100).any(|(_, line)| line.starts_with(b"warming up on CPU"))
}

/// The content of the file.
#[derive(Default)]
struct Table {
    header: BTreeMap<String, String>,
    /// The lower ends of rows in ns, ascending, with their counts.
    rows: Vec<(i64, u64)>,
    /// The samples above the last row: the smallest possible value, and how many.
    over: Option<(i64, u64)>,
}

impl Table {
    fn of(bytes: &[u8], torn: Option<usize>) -> Result<Self> {
        let mut table = Self::default();
        for (at, line) in lines(bytes).filter(|(at, line)| torn != Some(*at) && !line.is_empty()) {
            let text = String::from_utf8_lossy(line);
            if let Some(text) = text.strip_prefix('#') {
                table.remark(at, text)?;
            } else if !table.header.is_empty() {
                // The console output comes before the header.
                table.row(at, &text)?;
            }
        }
        Ok(table)
    }

    /// Reads a line of the header.
    fn remark(&mut self, at: usize, text: &str) -> Result<()> {
        ensure!(self.header.len() < 1000, "line {at}: a header of more than 1000 lines");
        // A time of day contains colons too.
        let (key, value) = text.split_once(": ").unwrap_or((text.trim_end_matches(':'), ""));
        let again = self.header.insert(key.trim().to_owned(), value.trim().to_owned());
        ensure!(again.is_none(), "line {at}: `{}` a second time", shown(key.as_bytes()));
        Ok(())
    }

    fn row(&mut self, at: usize, text: &str) -> Result<()> {
        let place = || format!("line {at}: `{}`", shown(text.as_bytes()));
        ensure!(self.over.is_none(), "line {at}: a row below the outliers");
        let (value, count) = text.split_once([' ', '\t']).with_context(place)?;
        let count = count.trim().parse::<u64>().ok().filter(|count| *count < 1 << 63).with_context(place)?;
        if let Some(value) = value.strip_suffix('+') {
            self.over = Some((decimal(value, 1000).with_context(place)?, count));
            return Ok(());
        }
        let value = decimal(value, 1).and_then(|value| value.checked_mul(1000)).with_context(place)?;
        ensure!(self.rows.last().is_none_or(|(last, _)| *last < value), "line {at}: out of order");
        ensure!(self.rows.len() < 10_000_000, "line {at}: more than ten million rows");
        self.rows.push((value, count));
        Ok(())
    }

    /// Returns a time from the header, in ns.
    fn time(&self, key: &str) -> Result<i64> {
        let text = self.header.get(key).with_context(|| format!("no line `# {key}:`"))?;
        decimal(text, 1000).with_context(|| format!("{key}: `{}` is not a time in us", shown(text.as_bytes())))
    }

    /// Returns the rows with samples, and their number of samples. The largest value is the end of the last row.
    fn bins(&self, max: i64) -> Result<(Vec<Bin>, u64)> {
        let (mut bins, mut sum): (Vec<Bin>, u64) = (Vec::new(), 0);
        for (low, count) in self.rows.iter().filter(|(_, count)| *count > 0) {
            sum = sum.checked_add(*count).context("more than 2^64 samples")?;
            let high = low.checked_add(999).context("a value beyond 2^63 ns")?;
            bins.push(Bin { low: *low, high: Some(high), count: *count });
        }
        if let Some((low, count)) = self.over.filter(|(_, count)| *count > 0) {
            ensure!(bins.last().is_none_or(|last| last.low < low), "outliers that begin within the rows");
            if let Some(last) = bins.last_mut() {
                last.high = last.high.map(|high| high.min(low - 1));
            }
            sum = sum.checked_add(count).context("more than 2^64 samples")?;
            bins.push(Bin { low, high: Some(max).filter(|max| *max >= low), count });
        }
        Ok((bins, sum))
    }

    /// Adds what the header contains in addition to its figures: a context, overruns, switches, and everything as notes.
    fn describe(&self, series: &mut Series, imported: &mut Imported) {
        series.labels.extend(self.header.get("context").map(|context| ("context".to_owned(), context.clone())));
        for (key, text) in &self.header {
            let value = text.split_ascii_whitespace().next().and_then(|word| decimal(word, 1));
            let upper = key.to_ascii_uppercase();
            if upper.contains("OVERRUNS") {
                series.facts.extend(value.map(|value| ("overruns".to_owned(), value)));
            }
            if upper.contains("IN-BAND SWITCHES") && value.is_none_or(|value| value > 0) {
                imported.findings.push(Finding {
                    severity: Severity::Contaminated,
                    name: "mode switches".into(),
                    text: format!("in-band switches: {}", shown(text.as_bytes())),
                });
            }
            // latido reports the gravity, and never adds it to the values.
            imported.notes.push(if text.is_empty() { key.clone() } else { format!("{key}: {text}") });
        }
    }
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let table = Table::of(bytes, torn)?;
    let header = &table.header;
    let (min, avg, max) = (table.time("min latency")?, table.time("avg latency")?, table.time("max latency")?);
    ensure!(min <= max, "its smallest is above its largest");
    // Old versions do not print it. Then the rows are complete if they reach the largest value.
    let told = header.get("sample count").map(|text| text.parse::<u64>().context("no sample count")).transpose()?;
    let (mut bins, sum) = table.bins(max)?;
    let count = told.unwrap_or(sum);
    let mut doubts = Vec::new();
    if sum > count {
        let why = format!("its rows have {}, but it counts {count}", many(sum, "sample"));
        doubts.push(Doubt::of(Figure::Rows, why));
        bins.clear();
    }
    let told = told.filter(|_| doubts.is_empty());
    let reached = bins.last().is_some_and(|last| last.high.is_none_or(|high| max <= high));
    let whole = (sum == count && (told.is_some() || reached) || !doubts.is_empty()) && torn.is_none();
    let mut mean = Some([avg.saturating_sub(1) as f64, avg.saturating_add(1) as f64]);
    let (mut min, mut max) = (Some(Interval::exactly(min)), Some(Interval::exactly(max)));
    if whole {
        let rows = mean::of(bins.iter().map(|bin| (bin.low, bin.high.unwrap_or(bin.low), bin.count)));
        mean = mean::settled(mean, rows, &mut doubts);
        doubt::ends(&bins, &mut min, &mut max, &mut doubts);
    }
    let mut imported =
        Imported { tool: "latmus".into(), title: "latmus".into(), command: asked.args.clone(), ..Imported::default() };
    imported.version = header.get("libevl version").cloned();
    if !whole {
        imported.ending = Ending::Interrupted(match torn {
            Some(at) => format!("line {at} {TORN}"),
            None if told.is_none() => "its rows end before its largest value".into(),
            None => format!("its rows have {sum} of {}", many(count, "sample")),
        });
    }
    imported.elapsed_ns =
        header.get("duration (hhmmss)").and_then(|clock| crate::rtla::duration(&format!("0 {clock}")));
    let priority = header.get("thread priority").and_then(|text| text.parse::<u8>().ok());
    imported.policy = priority.map(|priority| format!("fifo {priority}"));
    let cpu = header.get("thread affinity").and_then(|text| text.strip_prefix("CPU")?.parse().ok());
    let mut series = Series {
        quantity: "latency".into(),
        heading: "Wake-up latency".into(),
        cpu: cpu.or(asked.cpus.first().copied()),
        unit: "ns",
        count: Some(count).filter(|_| (whole || told.is_some()) && sum <= count),
        min,
        max,
        mean,
        cut: !whole || max.is_none(),
        bins,
        width: Some(1000),
        doubts,
        ..Series::default()
    };
    table.describe(&mut series, &mut imported);
    imported.series.push(series);
    Ok(imported)
}
