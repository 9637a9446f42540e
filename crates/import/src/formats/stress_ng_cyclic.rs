//! `stress-ng-cyclic`: the output of `stress-ng --cyclic` for each instance, with its distribution with `--cyclic-dist`.

use crate::{
    doubt,
    format::{Asked, Format},
    imported::{Bin, Ending, Finding, Imported, Interval, Series, Severity},
    mean,
    samples::decimal,
    text::{self, lines, plain, shown},
};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// The list entry.
pub const FORMAT: Format = Format { name: "stress-ng-cyclic", about: "stress-ng --cyclic", recognise, read };

#[derive(Default)]
struct Instance {
    policy: Option<String>,
    mean: Option<[f64; 2]>,
    extremes: Option<(i64, i64)>,
    width: Option<i64>,
    buckets: Option<(u64, u64)>,
    rows: Vec<(i64, u64)>,
    short: bool,
}

fn told(line: &str) -> Option<(&str, &str)> {
    // Versions before 0.15 use both names.
    let (before, text) = line.split_once("] cyclic:").or_else(|| line.split_once("] stress-ng-cyclic:"))?;
    let (tool, pid) = before.rsplit_once('[')?;
    tool.contains("stress-ng").then_some((pid, text.trim()))
}

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| told(&String::from_utf8_lossy(&plain(line))).is_some())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let torn = text::torn(bytes);
    let mut all: BTreeMap<String, Instance> = BTreeMap::new();
    let (mut begun, mut finished, mut errors) = (false, false, None::<String>);
    for (at, raw) in lines(bytes).filter(|(at, _)| torn != Some(*at)) {
        let clean = plain(raw);
        let text = String::from_utf8_lossy(&clean);
        if text.contains("dispatching hogs:") {
            ensure!(!begun, "line {at}: a second run: keep one run per file");
            begun = true;
        }
        finished |= text.contains("run completed in") && !text.contains("unsuccessful");
        if let Some((_, what)) = text.split_once("stress-ng: error:").or_else(|| text.split_once("stress-ng: fail:")) {
            errors.get_or_insert_with(|| what.trim().to_owned());
        }
        let Some((pid, text)) = told(&text) else { continue };
        ensure!(all.len() < 8192 || all.contains_key(pid), "line {at}: more than 8192 instances");
        let own = all.entry(pid.to_owned()).or_default();
        own.line(text).with_context(|| format!("line {at}"))?;
    }
    let mut imported = Imported {
        tool: "stress-ng".into(),
        title: "stress-ng cyclic".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    for (thread, (_, own)) in (0..).zip(all) {
        if own.short {
            imported.findings.push(Finding {
                severity: Severity::Contaminated,
                name: "lost samples".into(),
                text: format!("instance {thread} had more samples than it kept (--cyclic-samples)"),
            });
        }
        imported.policy = imported.policy.or(own.policy.clone());
        if let Some(series) = own.series(thread).with_context(|| format!("instance {thread}"))? {
            imported.series.push(series);
        }
    }
    ensure!(!imported.series.is_empty(), "no line with its smallest and largest");
    imported.findings.extend(errors.map(|what| Finding {
        severity: Severity::Contaminated,
        name: "errors".into(),
        text: format!("stress-ng reports: {}", shown(what.as_bytes())),
    }));
    if !finished || torn.is_some() {
        imported.ending = Ending::Interrupted("the file ends before `run completed`".into());
        for series in &mut imported.series {
            series.cut |= !series.bins.is_empty();
        }
    }
    Ok(imported)
}

impl Instance {
    fn line(&mut self, text: &str) -> Result<()> {
        if let Some(text) = text.strip_prefix("sched ") {
            let (policy, _) = text.split_once(':').unwrap_or((text, ""));
            // For a real-time policy the tool does not print the priority.
            let other = policy.strip_prefix("SCHED_").filter(|name| !matches!(*name, "FIFO" | "RR" | "DEADLINE"));
            self.policy = other.map(str::to_ascii_lowercase);
        } else if let Some(text) = text.strip_prefix("mean:") {
            let (mean, _) = text.split_once(" ns").context("no mean")?;
            let hundredths = decimal(mean, 100).context("no mean")? as f64;
            self.mean = Some([hundredths / 100.0 - 0.005, hundredths / 100.0 + 0.005]);
        } else if let Some(text) = text.strip_prefix("min:") {
            let (min, rest) = text.split_once(" ns, max:").context("no largest")?;
            let (max, _) = rest.split_once(" ns").context("no largest")?;
            ensure!(self.extremes.is_none(), "extremes a second time: keep one run per file");
            self.extremes = Some((decimal(min, 1).context("no smallest")?, decimal(max, 1).context("no largest")?));
        } else if let Some(text) = text.strip_prefix("latency distribution (") {
            let width = text.split_once(" ns").and_then(|(width, _)| decimal(width, 1)).filter(|width| *width > 0);
            self.width = Some(width.context("no width")?);
        } else if let Some(text) = text.strip_prefix("(for the first ") {
            let text = text.trim_end_matches(')');
            let (first, of) = text.split_once(" buckets of ").context("no buckets")?;
            self.buckets = Some((first.trim().parse()?, of.trim().parse()?));
        } else if text.starts_with("Note: --cyclic-samples needed") {
            self.short = true;
        } else if let Some(width) =
            self.width.filter(|_| text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains('%'))
        {
            let mut words = text.split_ascii_whitespace();
            let low = words.next().and_then(|word| decimal(word, 1)).context("no row")?;
            let count = words.next().and_then(|word| word.parse().ok()).context("no count")?;
            ensure!(words.next().is_none() && low % width == 0, "no row of the distribution");
            ensure!(self.rows.last().is_none_or(|(last, _)| *last < low), "row {low} is out of order");
            ensure!(self.rows.len() < 10_000_000, "more than ten million rows");
            self.rows.push((low, count));
        }
        Ok(())
    }

    fn series(self, thread: u32) -> Result<Option<Series>> {
        let Some((min, max)) = self.extremes else { return Ok(None) };
        ensure!(min <= max, "its smallest is above its largest");
        let listed = u64::try_from(self.rows.len())?;
        let whole = self.buckets.is_some_and(|(first, of)| first == of && listed == of);
        let rows =
            self.rows.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count)).context("too many samples")?;
        let mut bins = Vec::new();
        for (low, count) in self.rows.iter().filter(|(_, count)| *count > 0) {
            let high = low.checked_add(self.width.unwrap_or(1) - 1).context("a value beyond 2^63 ns")?;
            bins.push(Bin { low: *low, high: Some(high), count: *count });
        }
        let (mut least, mut most) = (Some(Interval::exactly(min)), Some(Interval::exactly(max)));
        let (mut mean, mut doubts) = (self.mean, Vec::new());
        if let Some(last) = bins.last().filter(|last| whole && !self.short || last.low > max) {
            let all = if last.low > max { std::slice::from_ref(last) } else { &bins };
            let mut unused = Some(Interval { low: last.low, high: last.high });
            let first = if last.low > max { &mut unused } else { &mut least };
            doubt::ends(all, first, &mut most, &mut doubts);
        }
        if whole && !self.short && !bins.is_empty() {
            let rows = bins.iter().map(|bin| (bin.low, bin.high.unwrap_or(max), bin.count));
            mean = mean::settled(mean, mean::of(rows), &mut doubts);
        }
        // Of the samples beyond the printed rows only the largest is known.
        let cut = !bins.is_empty() && (!whole || most.is_none());
        let count = (whole && !bins.is_empty()).then_some(rows);
        Ok(Some(Series {
            quantity: "latency".into(),
            heading: "Wake-up latency".into(),
            thread,
            unit: "ns",
            count,
            min: least,
            max: most,
            mean,
            width: self
                .width
                .filter(|_| !bins.is_empty())
                .and_then(|width| u64::try_from(width).ok())
                .filter(|width| *width > 1),
            cut,
            bins,
            doubts,
            ..Series::default()
        }))
    }
}
